// The editor of an experiment: a message leads to its line.
document.addEventListener("click", (event) => {
  const button = event.target.closest(".to-line");
  if (!button) return;
  const area = document.getElementById("text");
  const lines = area.value.split("\n");
  const line = Math.min(Number(button.dataset.line), lines.length);
  const from = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  area.focus();
  area.setSelectionRange(from, from + lines[line - 1].length);
  area.scrollTop = (area.scrollHeight / lines.length) * Math.max(0, line - 5);
});
