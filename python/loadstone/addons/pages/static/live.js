/* The live page's pictures over time: uPlot on what the server sends, one time axis for all of them. Texts of others only
   ever become text. */
(() => {
  "use strict";
  const WHOLE_MAX = 8;
  const HEIGHT = 170;
  /* In their order on the page; what is `more` stands behind the answers, and is drawn once it is opened. */
  const KINDS = {
    tps: {of: "condition", text: count, axis: "TPS"},
    p99: {of: "condition", text: duration, log: true, axis: "P99"},
    errors: {of: "condition", text: value => value < 10 ? three(value) : count(value), axis: "errors/s"},
    cpus: {of: "part", text: value => `${Math.round(100 * value)} %`, axis: "CPU"},
    users: {of: "condition", text: count, axis: "vUsers", steps: true},
    p50: {of: "condition", text: duration, log: true, axis: "P50", more: true},
    cost: {of: "cost", text: duration, log: true, dots: true, axis: "CPU", more: true},
    rss: {of: "part", text: bytes, axis: "B", more: true},
    connections: {of: "part", text: count, axis: "n", more: true},
  };
  let points = [];
  let order = {};
  let pictures = {};
  let waiting = false;

  function three(value) {
    return String(Number(value.toPrecision(3)));
  }
  function count(value) {
    if (value >= 1e6) return `${three(value / 1e6)}M`;
    return value >= 1e4 ? `${three(value / 1e3)}k` : String(Math.round(value));
  }
  function duration(ns) {
    if (ns >= 1e9) return `${three(ns / 1e9)} s`;
    if (ns >= 1e6) return `${three(ns / 1e6)} ms`;
    return ns >= 1e3 ? `${three(ns / 1e3)} µs` : `${three(ns)} ns`;
  }
  function bytes(value) {
    if (value >= 1e9) return `${three(value / 1e9)} GB`;
    return value >= 1e6 ? `${three(value / 1e6)} MB` : `${three(value / 1e3)} kB`;
  }
  function clock(seconds) {
    const whole = Math.round(seconds);
    const rest = String(whole % 60).padStart(2, "0");
    const minutes = Math.floor(whole / 60);
    return minutes < 60 ? `${minutes}:${rest}` : `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${rest}`;
  }
  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  /* The places of conditions and parts in the order in which they came: each keeps its colour in all pictures. */
  function place(added) {
    for (const [, figures] of added) {
      for (const kind of Object.keys(KINDS)) {
        const places = order[KINDS[kind].of] ??= new Map();
        for (const key of Object.keys(figures[kind] ?? {})) if (!places.has(key)) places.set(key, places.size);
      }
    }
  }

  /* The lines of a picture: each condition or part; of more than WHOLE_MAX that take turns the median and the range. */
  function lines(kind, texts) {
    const places = order[KINDS[kind].of] ?? new Map();
    const names = new Map();
    const found = [];
    let most = 0;
    for (const [at, figures] of points) {
      const here = figures[kind];
      if (!here) continue;
      const keys = Object.keys(here);
      found.push([at, here, keys]);
      if (keys.length > WHOLE_MAX) most = Math.max(most, keys.length);
      else keys.forEach(key => { names.delete(key); names.set(key, []); });
    }
    const shown = [...names.keys()].slice(-WHOLE_MAX).sort((a, b) => places.get(a) - places.get(b));
    const data = shown.map(() => []);
    const range = [[], [], []];
    const times = [];
    const begin = points.length ? points[0][0] : 0;
    for (const [at, here, keys] of found) {
      const many = keys.length > WHOLE_MAX;
      if (!many && !shown.some(key => key in here)) continue;
      times.push(at - begin);
      shown.forEach((key, place) => data[place].push(many ? null : here[key] ?? null));
      if (most) {
        const sorted = many ? Object.values(here).sort((a, b) => a - b) : [];
        range[0].push(many ? sorted[Math.floor(sorted.length / 2)] : null);
        range[1].push(many ? sorted[0] : null);
        range[2].push(many ? sorted[sorted.length - 1] : null);
      }
    }
    const sum = most ? [texts.median, texts.least, texts.greatest] : [];
    return {names: [...sum, ...shown], colours: [...sum.map(() => 6), ...shown.map(key => places.get(key) % 8)], sum: sum.length, most, data: [times, ...(most ? range : []), ...data]};
  }

  function options(kind, found, width, picture) {
    const root = document.getElementById("charts");
    const ink = colour("--soft"), grid = colour("--line");
    const spec = KINDS[kind];
    const axis = {stroke: ink, labelSize: 18, labelFont: "12px system-ui, sans-serif", labelGap: 0, grid: {stroke: grid, width: 1}, ticks: {stroke: grid, width: 1}, font: "12px system-ui, sans-serif"};
    const series = found.names.map((name, place) => {
      return {
        label: name, stroke: colour(`--s${found.colours[place]}`), paths: spec.steps ? uPlot.paths.stepped({align: 1}) : undefined, width: place > 0 && place < found.sum ? 1 : 2,
        dash: place > 0 && place < found.sum ? [4, 4] : undefined, spanGaps: Boolean(spec.dots) || found.sum === 0,
        points: {show: Boolean(spec.dots) || found.data[0].length < 3, size: 6}, value: (_, value) => value == null ? "" : spec.text(value),
      };
    });
    return {
      width, height: HEIGHT, ms: 1, cursor: {sync: {key: "time"}, y: false}, legend: {live: true},
      scales: {x: {time: false, range: () => [0, Math.max(10, picture.end)]}, y: spec.log ? {distr: 3} : {range: (_, low, high) => [0, (high || 1) * 1.06]}},
      series: [{label: root.dataset.time, value: (_, value) => value == null ? "" : clock(value)}, ...series],
      axes: [
        {...axis, label: root.dataset.axis, size: 34, values: (_, ticks) => ticks.map(clock), space: 60},
        {...axis, label: kind === "cpus" ? `${spec.axis}, ${root.dataset.cpu}` : spec.axis, size: 58, values: (_, ticks) => ticks.map(tick => tick == null ? "" : spec.text(tick))},
      ],
    };
  }

  function make(tag, parent, text) {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  }

  /* What the picture shows, as a table: of each line the newest, the smallest and the largest value. */
  function table(body, kind, found) {
    body.replaceChildren();
    found.names.forEach((name, place) => {
      const values = found.data[place + 1].filter(value => value != null);
      if (!values.length) return;
      const row = make("tr", body);
      make("th", row, name).scope = "row";
      for (const value of [values.at(-1), Math.min(...values), Math.max(...values)]) make("td", row, KINDS[kind].text(value));
    });
  }

  function picture(kind, root) {
    const box = KINDS[kind].more ? document.getElementById("more-charts") : root;
    const figure = document.createElement("figure");
    const place = Object.keys(KINDS).indexOf(kind);  // what came first stands where it will after a reload
    figure.dataset.place = place;
    box.insertBefore(figure, [...box.children].find(one => Number(one.dataset.place) > place) ?? null);
    const caption = make("figcaption", figure, root.dataset[kind]);
    caption.id = `chart-${kind}`;
    const note = make("p", figure);
    note.className = "soft note";
    const canvas = make("div", figure);
    canvas.className = "canvas";
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-labelledby", caption.id);
    const behind = make("details", figure);
    make("summary", behind, root.dataset.table);
    const grid = make("table", behind);
    const head = make("tr", make("thead", grid));
    for (const text of [root.dataset.line, root.dataset.newest, root.dataset.least, root.dataset.greatest]) make("th", head, text).scope = "col";
    return {figure, note, canvas, body: make("tbody", grid), plot: null, names: ""};
  }

  function draw() {
    waiting = false;
    const root = document.getElementById("charts");
    if (!root || document.hidden) return;
    const end = points.length ? points[points.length - 1][0] - points[0][0] : 0;
    const more = document.getElementById("more").open;
    for (const kind of Object.keys(KINDS)) {
      if (KINDS[kind].more && !more) continue;
      const found = lines(kind, root.dataset);
      if (!found.data[0].length) continue;
      const one = pictures[kind] ??= picture(kind, root);
      const names = JSON.stringify([found.names, found.colours]);
      const width = Math.max(200, Math.floor(one.canvas.clientWidth));
      one.note.textContent = found.most ? root.dataset.many.replace("{n}", found.most) : "";
      if (one.plot === null || one.names !== names) {
        one.plot?.destroy();
        one.names = names;
        one.end = end;
        one.plot = new uPlot(options(kind, found, width, one), found.data, one.canvas);
      } else {
        one.end = end;
        if (one.plot.width !== width) one.plot.setSize({width, height: HEIGHT});
        one.plot.setData(found.data);
      }
      table(one.body, kind, found);
    }
  }

  function soon() {
    if (!waiting) { waiting = true; requestAnimationFrame(draw); }
  }
  function again() {
    for (const one of Object.values(pictures)) { one.plot?.destroy(); one.figure.remove(); }
    pictures = {};
    soon();
  }

  /* What the reader opened stays open, and keeps the focus, when the piece it stands in is replaced. */
  function keep(answers) {
    const opened = new Set();
    let focused = null;
    answers.addEventListener("toggle", ({target}) => {
      if (target.isConnected) opened[target.open ? "add" : "delete"](target.dataset.kept);
    }, true);
    document.addEventListener("focusin", ({target}) => { focused = answers.contains(target) ? target.parentElement.dataset.kept : null; });
    new MutationObserver(() => {
      for (const one of answers.querySelectorAll("details[data-kept]")) {
        if (!one.open && opened.has(one.dataset.kept)) one.open = true;
        if (focused === one.dataset.kept && document.activeElement === document.body) one.firstElementChild.focus({preventScroll: true});
      }
    }).observe(answers, {childList: true});
  }

  const live = document.getElementById("live");
  keep(document.getElementById("live-answers"));
  live.addEventListener("series", event => { points = JSON.parse(event.detail.data); order = {}; place(points); soon(); });
  live.addEventListener("more", event => { const added = JSON.parse(event.detail.data); points.push(...added); place(added); soon(); });
  document.getElementById("more").addEventListener("toggle", soon);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  document.addEventListener("visibilitychange", soon);
  new ResizeObserver(soon).observe(document.getElementById("charts"));
})();
