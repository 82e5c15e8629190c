// Guideline of the relation in focus, and the relations that expect other entity types.

import { $, element, form, relations, titleOf } from "./page.js";

const guides = new Map([...form.querySelectorAll("[data-guide]")].map((part) => [part.dataset.guide, part]));

// Shown beside the sentence: the relation's own guideline, or the project's if it has none. On a narrow
// screen its first lines appear above the buttons.
export function showGuide(name) {
  const own = guides.get(name);
  for (const part of guides.values()) part.hidden = part !== own;
  if (own?.hasAttribute("data-general")) guides.get("").hidden = false;
  const definition = own?.querySelector("[data-definition]")?.textContent.trim();
  $("hint").hidden = !definition;
  $("hint").replaceChildren(element("b", titleOf(name)), ` – ${definition}`);
  form.querySelector(".guide__in").scrollTop = 0;
}

const differs = (mark, type) => Boolean(mark?.type && type && mark.type.toLowerCase() !== type.toLowerCase());

export function dimMismatches(item) {
  let any = false;
  for (const input of relations) {
    const mismatch = differs(item.head, input.dataset.head) || differs(item.tail, input.dataset.tail);
    input.closest(".rel").classList.toggle("rel--off", mismatch);
    any ||= mismatch;
  }
  $("mismatch-note").hidden = !any;
}
