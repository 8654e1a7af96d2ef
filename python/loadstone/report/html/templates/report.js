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
