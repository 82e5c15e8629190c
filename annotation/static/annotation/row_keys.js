// Keys of a list: J and K or arrows move between the links of its rows, Enter opens or closes one, X or space selects it,
// D decides it; O and E reopen and exclude the selected rows, or the one in focus. / searches.

import { listen } from "../web/single_keys.js";

const links = [...document.querySelectorAll("#rows > tbody > tr > th a")];
const boxes = [...document.querySelectorAll("#rows tbody input[name=item]")];
const search = document.querySelector("input[name=q]");
const all = document.getElementById("all");
const matching = document.getElementById("matching");
const number = document.getElementById("n-selected");

// The row in focus; of what stands below an open one, that row.
function row() {
  const line = document.activeElement?.closest("#rows > tbody > tr");
  return line?.classList.contains("opened") ? line.previousElementSibling : line;
}

const boxOf = (line) => line?.querySelector("input[name=item]");

function move(step) {
  const at = links.findIndex((link) => link.closest("tr") === row());
  const next = at < 0 ? (step > 0 ? 0 : links.length - 1) : at + step;
  links[Math.min(Math.max(next, 0), links.length - 1)]?.focus();
}

function showNumber() {
  const n = boxes.filter((box) => box.checked).length;
  all.checked = n > 0 && n === boxes.length;
  all.indeterminate = n > 0 && n < boxes.length;
  number.textContent = matching?.checked ? "All selected" : `${n} selected`;
  for (const box of [...boxes, all]) box.disabled = Boolean(matching?.checked);
}

function select() {
  const box = boxOf(row());
  if (!box) return false;
  box.checked = !box.checked;
  showNumber();
}

function press(action) {
  const button = document.querySelector(`#selection button[value=${action}]`);
  const box = boxOf(row());
  const isAnySelected = () => Boolean(matching?.checked) || boxes.some((each) => each.checked);
  if (box && !isAnySelected()) box.checked = true;
  if (!button || !isAnySelected()) return false;
  showNumber();
  button.click();
}

function decide() {
  const address = row()?.dataset.decide;
  if (!address) return false;
  location.assign(address);
}

const walk = (step) => (row() ? move(step) : false); // elsewhere the arrows scroll the page

listen({
  j: () => move(1), k: () => move(-1), ArrowDown: () => walk(1), ArrowUp: () => walk(-1),
  x: select, " ": select, d: decide, o: () => press("reopen"), e: () => press("exclude"), "/": () => search?.focus(),
});

if (all) {
  all.closest("label").hidden = false;
  all.addEventListener("change", () => {
    for (const box of boxes) box.checked = all.checked;
    showNumber();
  });
  for (const box of [...boxes, ...(matching ? [matching] : [])]) box.addEventListener("change", showNumber);
  addEventListener("pageshow", showNumber); // a browser ticks boxes again on the way back
}
