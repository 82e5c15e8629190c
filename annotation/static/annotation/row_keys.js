// Keys of a list: J and K move between the links of its rows, Enter opens one, / searches.

const links = [...document.querySelectorAll("#rows tbody th a")];
const search = document.querySelector("input[name=q]");

function move(step) {
  const at = links.indexOf(document.activeElement);
  const next = at < 0 ? (step > 0 ? 0 : links.length - 1) : at + step;
  links[Math.min(Math.max(next, 0), links.length - 1)]?.focus();
}

const commands = { j: () => move(1), k: () => move(-1), "/": () => search?.focus() };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && event.target === search) search.blur();
  if (event.target.matches?.("input, select, textarea")) return;
  const command = commands[event.key.toLowerCase()];
  if (!command) return;
  event.preventDefault();
  command();
});
