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

  /* A link to a trial opens the condition that holds it. */
  const reveal = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const holder = target && target.closest("details");
    if (holder) {
      holder.open = true;
      target.scrollIntoView();
    }
  };
  window.addEventListener("hashchange", reveal);
  reveal();

  /* Pictures: the live one takes the place of the still one, in the colours of the reader's screen. */
  const { specs, themes, onDark } = JSON.parse(document.getElementById("pictures").textContent);
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");

  const coloured = (spec, theme) => {
    if (theme === "light") return spec;
    const change = (key, value) => (typeof value === "string" && onDark[value]) || value;
    return JSON.parse(JSON.stringify(spec), change);
  };

  const draw = async () => {
    const theme = prefersDark.matches ? "dark" : "light";
    for (const place of document.querySelectorAll("[data-picture]")) {
      const name = place.dataset.picture;
      await vegaEmbed(place, coloured(specs[name], theme), {
        mode: "vega-lite",
        renderer: "svg",
        config: themes[theme],
        tooltip: { theme },
        downloadFileName: name,
        actions: { export: true, source: false, compiled: false, editor: false },
      });
      const drawing = place.querySelector("svg.marks");
      drawing.style.minWidth = `${Math.min(700, drawing.width.baseVal.value)}px`;
      place.closest("figure").classList.add("drawn");
      await new Promise((done) => setTimeout(done));
    }
    document.documentElement.dataset.pictures = theme;
  };
  prefersDark.addEventListener("change", draw);
  draw();
})();
