// The span editor on the form: its palettes and lists, and the way between its answer and the form's.

import { $, api, form, markTitle, plural, relateTitle, showError } from "./page.js";
import * as answer from "./answer.js";
import { createEditor } from "../spans/editor.js";
import { createLists, wireUnits } from "../spans/lists.js";

const entries = (selector) =>
  [...form.querySelectorAll(selector)].map(({ dataset }) => ({ ...dataset }));
let [editor, lists, showUnits] = [null, null, null];

const BUTTONS = {
  "remove-span": () => editor.remove(),
  "accept-guess": () => editor.accept(),
  "refuse-guess": () => editor.refuse(),
  "accept-guesses": () => editor.acceptAll(),
  "refuse-guesses": () => editor.refuseAll(),
};

export function wireSpans() {
  editor = createEditor($("sentence"), {
    labels: entries("[data-mark]").map((entry) => ({ ...entry, name: entry.mark })),
    relations: entries("[data-relate]").map((entry) => ({ ...entry, name: entry.relate })),
    mayOverlap: api.overlap === "yes",
    bySentence: api.bySentence === "yes",
    onChange: answer.mark,
    announce,
  });
  lists = createLists({
    editor, markTitle, relateTitle, act, spanList: $("span-list"), linkList: $("link-list"),
  });
  showUnits = wireUnits(editor, act);
  document.addEventListener("keydown", editor.onKey);
  for (const button of form.querySelectorAll("[data-mark]"))
    button.addEventListener("click", () => act(() => editor.mark(button.dataset.mark)));
  for (const button of form.querySelectorAll("[data-relate]"))
    button.addEventListener("click", () => act(() => editor.startLink(button.dataset.relate)));
  for (const [id, change] of Object.entries(BUTTONS)) $(id).addEventListener("click", () => act(change));
  answer.whenShown(showSpans);
}

function act(change) {
  change();
  $("sentence").focus({ preventScroll: true });
}

const introduction = [...($("span-note")?.childNodes ?? [])];

export function beginSpans({ item }) {
  editor.begin(item);
  $("span-note").replaceChildren(...introduction);
}

export const wordsOfSpan = (span) => editor.words(span);

// True if the text has a sentence that was not on screen yet: it is now.
export const showUnseen = () => editor.advance();

export function problemWithSpans() {
  if (editor.guesses.length)
    return `${plural(editor.guesses.length, "prediction")} left. Accept or reject each: Y and X for one, ⇧Y and ⇧X for all.`;
  const [first, second] = (editor.overlap ?? []).map((span) => `“${editor.words(span)}” ${markTitle(span[2])}`);
  return second ? `${first} and ${second} overlap, which this project does not allow. Remove or resize one.` : "";
}

// What changed, read out and shown under the text; a refusal stands where errors do.
function announce(text, refused = false) {
  if (refused) return showError(text);
  showError("");
  $("span-note").textContent = text;
  showState();
}

function showState() {
  for (const button of form.querySelectorAll("[data-mark]"))
    button.setAttribute("aria-pressed", button.dataset.mark === editor.sticky);
  for (const button of form.querySelectorAll("[data-relate]"))
    button.classList.toggle("rel--off", !editor.fits({ head: button.dataset.head, tail: button.dataset.tail }));
  $("guesses").hidden = !editor.guesses.length;
  $("guess-count").textContent = plural(editor.guesses.length, "prediction");
  $("submit").firstChild.data = showUnits().isRead ? "Submit and next " : "Next sentence ";
}

function showSpans({ spans, chosen, guesses }) {
  editor.show({ spans, relations: chosen, guesses });
  for (const button of form.querySelectorAll("[data-mark]"))
    button.querySelector("small").textContent = spans.filter(([, , name]) => name === button.dataset.mark).length;
  lists.show(spans, chosen);
  showState();
}
