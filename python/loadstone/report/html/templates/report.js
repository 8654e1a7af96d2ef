"use strict";
(() => {
  /* Tables: a click on a heading sorts, a second one turns the order. Missing figures stay last. */
  const valueOf = (row, column) => row.cells[column].dataset.v ?? row.cells[column].textContent.trim();

  const compare = (a, b) => {
    const [x, y] = [Number(a), Number(b)];
    return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b, undefined, { numeric: true }) : x - y;
  };

  /* A row and the line below it that says what is wrong with it move together. */
  const sort = (table, column, direction) => {
    const body = table.tBodies[0];
    const pairs = [];
    for (const row of body.rows) {
      if (row.classList.contains("why")) pairs.at(-1).push(row);
      else pairs.push([row]);
    }
    const known = ([row]) => valueOf(row, column) !== "—";
    const sorted = pairs
      .filter(known)
      .sort(([a], [b]) => direction * compare(valueOf(a, column), valueOf(b, column)));
    body.append(...sorted.flat(), ...pairs.filter((pair) => !known(pair)).flat());
  };

  for (const table of document.querySelectorAll("table.sortable")) {
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, column) => {
      const button = document.createElement("button");
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => {
        const upwards = heading.getAttribute("aria-sort") !== "ascending";
        headings.forEach((other) => other.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", upwards ? "ascending" : "descending");
        sort(table, column, upwards ? 1 : -1);
      });
    });
  }

  /* A link into a folded part opens it, and all that it lies in. */
  const reveal = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    target.scrollIntoView();
  };
  window.addEventListener("hashchange", reveal);
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link && link.hash === location.hash) reveal();
  });
  reveal();

  /* Pictures: each is saved as PNG, on white, as it is shown. */
  const said = document.body.dataset;
  const tool = (tools, text, act) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.addEventListener("click", act);
    tools.append(made);
    return made;
  };

  const save = (frame) => {
    const svg = [...frame.querySelectorAll("svg.marks")].find((one) => one.checkVisibility());
    const { width, height } = svg.viewBox.baseVal;
    const copy = svg.cloneNode(true);
    copy.setAttribute("width", 2 * width);
    copy.setAttribute("height", 2 * height);
    const image = new Image();
    image.onload = () => {
      const sheet = document.createElement("canvas");
      const title = frame.getAttribute("aria-label");
      const pen = sheet.getContext("2d");
      const font = `600 25px ${getComputedStyle(document.body).fontFamily}`;
      pen.font = font;
      sheet.width = Math.max(2 * width, pen.measureText(title).width + 84);
      sheet.height = 2 * height + 60;
      pen.fillStyle = "#fff";
      pen.fillRect(0, 0, sheet.width, sheet.height);
      pen.fillStyle = "#1d2530";
      pen.font = font;
      pen.fillText(title, 56, 44);
      pen.drawImage(image, 0, 60);
      const link = document.createElement("a");
      link.download = `${frame.dataset.name}.png`;
      link.href = sheet.toDataURL("image/png");
      link.click();
    };
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
  };

  /* Pictures over time: a stretch is enlarged. What lies within the panels is drawn wider, the rest moves with it. */
  const CLOCK = /^\d+:\d\d$/;
  const placeOf = (element) => element.transform.baseVal.consolidate()?.matrix ?? { e: 0, f: 0 };
  const secondsOf = (text) => text.textContent.split(":").reduce((sum, part) => 60 * sum + Number(part), 0);

  const enlargeable = (frame, tools) => {
    const svg = frame.querySelector("svg.marks");
    const width = Number(frame.dataset.width);
    const alike = [...svg.querySelectorAll("text")].filter((text) => CLOCK.test(text.textContent));
    const axis = alike.find((text, at) => at > 0 && alike[at - 1].parentNode === text.parentNode)?.parentNode;  // a name has none beside it
    if (!axis) return;
    const labels = alike.filter((text) => text.parentNode === axis);
    const ends = [labels[0], labels.at(-1)].map((text) => [placeOf(text).e, secondsOf(text)]);
    const perSecond = (ends[1][0] - ends[0][0]) / (ends[1][1] - ends[0][1]);
    if (!(perSecond > 1e-3 && perSecond < 1e6)) return;
    /* A rule across the whole panel, an axis and what stands beside it stay; a mark's own x is in its path. */
    const drawn = [...svg.querySelectorAll("path")].filter((path) => !path.closest("defs") && inPanel(path));
    function inPanel(path) {
      const box = path.getBBox();
      return box.x >= -1 && box.x + box.width <= width + 8 && path.getCTM().e - axis.getCTM().e < 8 && axis.getCTM().e - path.getCTM().e < 8;
    }
    const moved = [...svg.querySelectorAll("line")].filter((line) => line.getAttribute("x2") === "0").map((line) => [line, placeOf(line).e, placeOf(line).f]);
    const NS = "http://www.w3.org/2000/svg";
    const clip = document.createElementNS(NS, "clipPath");
    clip.id = `over-time-${frame.dataset.name}`;
    const room = clip.appendChild(document.createElementNS(NS, "rect"));
    const panelled = new Set(drawn.map((path) => path.parentNode));
    svg.prepend(clip);
    let [first, last] = [0, width];

    const show = () => {
      const scale = width / (last - first);
      const isWhole = scale === 1;
      for (const [name, value] of Object.entries({ x: 0, y: -20, width, height: svg.viewBox.baseVal.height })) room.setAttribute(name, value);
      for (const group of panelled) {
        if (isWhole) group.removeAttribute("clip-path");
        else group.setAttribute("clip-path", `url(#${clip.id})`);
      }
      for (const path of drawn) {
        path.setAttribute("transform", `translate(${-first * scale},0) scale(${scale},1)`);
        path.setAttribute("vector-effect", "non-scaling-stroke");
      }
      for (const [line, x, y] of moved) {
        const now = (x - first) * scale;
        line.setAttribute("transform", `translate(${now},${y})`);
        line.setAttribute("visibility", now < -0.5 || now > width + 0.5 ? "hidden" : "visible");
      }
      for (const text of axis.querySelectorAll("text")) text.remove();
      const from = ends[0][1] + (first - ends[0][0]) / perSecond;
      const lasting = (last - first) / perSecond;
      const step = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400].find((one) => lasting / one <= 12) ?? 14400;
      const earliest = Math.ceil(from / step - 1e-9) * step;
      for (let at = earliest; at <= from + lasting + 1e-9 && at < earliest + 20 * step; at += step) {
        const text = labels[0].cloneNode(true);
        text.setAttribute("text-anchor", "middle");
        text.setAttribute("transform", `translate(${((at - from) / lasting) * width},${placeOf(labels[0]).f})`);
        text.textContent = `${Math.floor(at / 60)}:${String(Math.round(at % 60)).padStart(2, "0")}`;
        axis.append(text);
      }
      whole.hidden = isWhole;
    };
    const choose = (from, to) => {
      const least = perSecond;  // one second
      const size = Math.min(width, Math.max(least, to - from));
      first = Math.min(Math.max(0, from), width - size);
      last = first + size;
      show();
    };
    const whole = tool(tools, said.whole, () => choose(0, width));
    whole.hidden = true;
    tools.append(said.zoom);

    const placed = (event) => {
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(axis.getScreenCTM().inverse());
      return Math.min(width, Math.max(0, at.x));
    };
    let begun = null;
    const band = document.createElementNS(NS, "rect");
    band.setAttribute("fill", "#8A9099");
    band.setAttribute("fill-opacity", ".25");
    svg.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch" || event.button) return;
      begun = placed(event);
      svg.setPointerCapture(event.pointerId);
      event.preventDefault();
    });
    svg.addEventListener("pointermove", (event) => {
      if (begun === null) return;
      const to = placed(event);
      const height = svg.viewBox.baseVal.height;
      for (const [name, value] of Object.entries({ x: Math.min(begun, to), y: -height, width: Math.abs(to - begun), height })) band.setAttribute(name, value);
      axis.append(band);
    });
    svg.addEventListener("pointerup", (event) => {
      if (begun === null) return;
      const ends = [begun, placed(event)].sort((a, b) => a - b).map((x) => first + (x / width) * (last - first));
      begun = null;
      band.remove();
      if (ends[1] - ends[0] > (last - first) / 100) choose(...ends);
    });
    svg.addEventListener("dblclick", () => choose(0, width));
    frame.addEventListener("keydown", (event) => {
      const [size, middle] = [last - first, (first + last) / 2];
      const wanted = { "+": [middle - size / 4, middle + size / 4], "-": [middle - size, middle + size], ArrowLeft: [first - size / 4, last - size / 4], ArrowRight: [first + size / 4, last + size / 4], Escape: [0, width] }[event.key];
      if (!wanted || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      choose(...wanted);
    });
  };

  /* What a folded part holds is measured once it is opened. */
  for (const frame of document.querySelectorAll(".frame:has(svg)")) {
    const tools = document.createElement("p");
    tools.className = "tools";
    tool(tools, said.png, () => save(frame));
    frame.after(tools);
    if (!frame.dataset.width) continue;
    new IntersectionObserver((seen, watching) => {
      if (!seen.some((one) => one.isIntersecting)) return;
      watching.disconnect();
      enlargeable(frame, tools);
    }).observe(frame);
  }

  /* On paper the folded parts are open, but for the trials one by one. */
  const opened = [];
  window.addEventListener("beforeprint", () => {
    opened.push(...document.querySelectorAll("details.fold:not(#trials, [open]), details.observed:not([open])"));
    for (const fold of opened) fold.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const fold of opened.splice(0)) fold.open = false;
  });
})();
