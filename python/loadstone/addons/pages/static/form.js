// A form that starts a run: a message stands at its field too, an old estimate is faint until there is a new one, and
// the levels that the run leaves out are dimmed.
(() => {
  "use strict";
  const form = document.querySelector("form.checked"), told = document.getElementById("told");

  let typed = 0, asked = 0;

  function show() {
    if (asked === typed) told.removeAttribute("aria-busy");
    form.querySelectorAll(".at-field").forEach(one => one.remove());
    form.querySelectorAll("[aria-invalid]").forEach(one => ["aria-invalid", "aria-errormessage"].forEach(name => one.removeAttribute(name)));
    const wrong = told.querySelector("[data-field]");
    const field = wrong?.dataset.field && form.querySelector(`[name="${CSS.escape(wrong.dataset.field)}"]`);
    if (field) {
      const message = wrong.cloneNode(true);
      message.className = "error at-field";
      message.id = "at-field";
      message.removeAttribute("role");
      message.removeAttribute("data-field");
      if (field.type === "checkbox") field.closest("fieldset").append(message);
      else field.after(message);
      field.setAttribute("aria-invalid", "true");
      field.setAttribute("aria-errormessage", "at-field");
      for (let one = field.closest("details"); one; one = one.parentElement.closest("details")) one.open = true;
    }
    const measured = JSON.parse(told.querySelector("[data-measured]")?.dataset.measured ?? "null");
    for (const box of form.querySelectorAll('input[name^="level."]')) {
      const levels = measured?.[box.name.slice(6)];
      box.parentElement.classList.toggle("left-out", Boolean(measured) && box.checked && !levels?.includes(box.value));
    }
  }

  form.addEventListener("input", () => { typed += 1; told.setAttribute("aria-busy", "true"); });
  form.addEventListener("htmx:before:request", () => { asked = typed; });
  new MutationObserver(show).observe(told, {childList: true});
  show();
})();
