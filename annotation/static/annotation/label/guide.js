// What helps to choose: the guideline of the relation in question, and which relations expect other entities.

import { $, element, form, relations, titleOf } from "./page.js";

const guides = new Map([...form.querySelectorAll("[data-guide]")].map((part) => [part.dataset.guide, part]));

// Beside the sentence the relation's words, or the whole guideline where it has none; where there is no room
// beside it, their first words over the buttons.
export function showGuide(name) {
  const own = guides.get(name);
  for (const part of guides.values()) part.hidden = part !== own;
  if (own?.hasAttribute("data-general")) guides.get("").hidden = false;
  const definition = own?.querySelector("[data-definition]")?.textContent.trim();
  $("hint").hidden = !definition;
  $("hint").replaceChildren(element("b", titleOf(name)), ` – ${definition}`);
  form.querySelector(".guide__in").scrollTop = 0;
}

export function markOff(item) {
  let paler = false;
  for (const input of relations) {
    const { head, tail } = input.dataset;
    const other = (mark, type) => Boolean(mark?.type && type && mark.type.toLowerCase() !== type.toLowerCase());
    const off = other(item.head, head) || other(item.tail, tail);
    input.closest(".rel").classList.toggle("rel--off", off);
    paler ||= off;
  }
  $("paler").hidden = !paler;
}
