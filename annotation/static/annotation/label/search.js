// Finding a relation by typing a part of its name.

import { $, element, relations } from "./page.js";

const SHOWN = 12;
let hits = [];
let hit = 0;
let take = () => {};
let look = () => {};

// `taken` gets the chosen input, `looked` the name whose guideline is wanted.
export function whenFound({ taken, looked }) {
  take = (input) => {
    leave();
    taken(input);
  };
  look = looked;
  $("find").addEventListener("input", find);
  $("find").addEventListener("blur", () => setTimeout(hideWhenLeft, 100));
}

// Whoever comes back at once is looking again, and what they find stays on show.
function hideWhenLeft() {
  if (document.activeElement !== $("find")) $("hits").hidden = true;
}

function find() {
  const wanted = $("find").value.trim().toLowerCase();
  const place = (input) => input.dataset.title.toLowerCase().indexOf(wanted);
  hits = wanted ? relations.filter((input) => place(input) >= 0) : [];
  const early = (input) => (place(input) === 0 || input.dataset.title[place(input) - 1] === " " ? 0 : 1);
  hits.sort((a, b) => early(a) - early(b));
  hit = 0;
  showHits(wanted);
}

function showHits(wanted = $("find").value.trim().toLowerCase()) {
  $("hits").replaceChildren(...hits.slice(0, SHOWN).map((input, i) => hitLine(input, i, wanted)));
  $("hits").hidden = !wanted;
  if (wanted && !hits.length) {
    const none = element("li", "No relation has this in its name", "quiet");
    none.setAttribute("role", "option");
    none.setAttribute("aria-disabled", "true");
    $("hits").append(none);
  }
  $("find").setAttribute("aria-expanded", Boolean(wanted));
  if (hits.length) $("find").setAttribute("aria-activedescendant", `hit-${hit}`);
  else $("find").removeAttribute("aria-activedescendant");
  if (hits.length) look(hits[hit].value);
}

function hitLine(input, i, wanted) {
  const title = input.dataset.title;
  const at = title.toLowerCase().indexOf(wanted);
  const node = element("li");
  node.id = `hit-${i}`;
  node.setAttribute("role", "option");
  node.setAttribute("aria-selected", i === hit);
  const name = element("span");
  name.append(title.slice(0, at), element("mark", title.slice(at, at + wanted.length)), title.slice(at + wanted.length));
  const kinds = [input.dataset.head, input.dataset.tail].filter(Boolean).join(", ");
  node.append(element("kbd", i === hit ? "↵" : (input.dataset.key ?? " "), "key"), name, element("span", kinds, "quiet push"));
  node.addEventListener("pointerdown", (event) => (event.preventDefault(), take(input)));
  return node;
}

function leave() {
  $("find").value = "";
  find();
  $("find").blur();
}

export function keyInFind(event) {
  const moves = { ArrowDown: 1, ArrowUp: -1 };
  const shown = Math.min(hits.length, SHOWN);
  if (event.key in moves && shown) {
    hit = (hit + moves[event.key] + shown) % shown;
    showHits();
  } else if (event.key === "Enter") {
    if (hits.length) take(hits[hit]);
  } else if (event.key === "Escape") leave();
  else return;
  event.preventDefault();
}
