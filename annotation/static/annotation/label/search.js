// Search for a relation by part of its name.

import { $, element, relations } from "./page.js";

const SHOWN = 12;
let hits = [];
let active = 0; // index of the highlighted hit
let onChoose = () => {};
let onHighlight = () => {};

// `choose` gets the chosen input, `highlight` the name of the relation whose guideline to show.
export function wireSearch({ choose, highlight }) {
  if (!$("find")) return;
  onChoose = (input) => {
    leave();
    choose(input);
  };
  onHighlight = highlight;
  $("find").addEventListener("input", search);
  $("find").addEventListener("blur", () => setTimeout(hideWhenLeft, 100));
}

// The focus may be back in the field by now; then the hits stay.
function hideWhenLeft() {
  if (document.activeElement !== $("find")) $("hits").hidden = true;
}

function search() {
  const query = $("find").value.trim().toLowerCase();
  const place = (input) => input.dataset.title.toLowerCase().indexOf(query);
  const startsWord = (input) => place(input) === 0 || input.dataset.title[place(input) - 1] === " ";
  hits = query ? relations.filter((input) => place(input) >= 0) : [];
  hits.sort((a, b) => startsWord(b) - startsWord(a));
  active = 0;
  showHits(query);
}

function showHits(query = $("find").value.trim().toLowerCase()) {
  $("hits").replaceChildren(...hits.slice(0, SHOWN).map((input, index) => hitRow(input, index, query)));
  $("hits").hidden = !query;
  if (query && !hits.length) {
    const none = element("li", "No relation matches", "quiet");
    none.setAttribute("role", "option");
    none.setAttribute("aria-disabled", "true");
    $("hits").append(none);
  }
  $("find").setAttribute("aria-expanded", Boolean(query));
  if (hits.length) $("find").setAttribute("aria-activedescendant", `hit-${active}`);
  else $("find").removeAttribute("aria-activedescendant");
  if (hits.length) onHighlight(hits[active].value);
}

function hitRow(input, index, query) {
  const title = input.dataset.title;
  const start = title.toLowerCase().indexOf(query);
  const end = start + query.length;
  const row = element("li");
  row.id = `hit-${index}`;
  row.setAttribute("role", "option");
  row.setAttribute("aria-selected", index === active);
  const name = element("span");
  name.append(title.slice(0, start), element("mark", title.slice(start, end)), title.slice(end));
  const types = [input.dataset.head, input.dataset.tail].filter(Boolean).join(", ");
  const key = element("kbd", index === active ? "↵" : (input.dataset.key ?? " "), "key");
  row.append(key, name, element("span", types, "quiet push"));
  row.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    onChoose(input);
  });
  return row;
}

function leave() {
  $("find").value = "";
  search();
  $("find").blur();
}

export function handleSearchKey(event) {
  const steps = { ArrowDown: 1, ArrowUp: -1 };
  const shown = Math.min(hits.length, SHOWN);
  if (event.key in steps && shown) {
    active = (active + steps[event.key] + shown) % shown;
    showHits();
  } else if (event.key === "Enter") {
    if (hits.length) onChoose(hits[active]);
  } else if (event.key === "Escape") leave();
  else return;
  event.preventDefault();
}
