// The span editor on the form: its palettes and lists, and the way between its answer and the form's.

import { $, api, element, form, markTitle, plural, relateTitle, showError } from "./page.js";
import * as answer from "./answer.js";
import { createEditor } from "../spans/editor.js";

const entries = (selector) =>
  [...form.querySelectorAll(selector)].map(({ dataset }) => ({ ...dataset }));
let editor = null;

const BUTTONS = {
  "remove-span": () => editor.remove(),
  characters: () => editor.toggleCharacters(),
  "sentence-back": () => editor.page(-1),
  "sentence-on": () => editor.page(1),
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

export const beginSpans = ({ item }) => editor.begin(item);
export const wordsOfSpan = (span) => editor.words(span);

// True if the text has a sentence that was not on screen yet: it is now.
export const showUnseen = () => editor.advance();

export function problemWithSpans() {
  if (editor.guesses)
    return `${plural(editor.guesses, "prediction")} left. Accept or refuse each: Y and X for one, ⇧Y and ⇧X for all.`;
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
  $("characters").setAttribute("aria-pressed", editor.byCharacter);
  $("guesses").hidden = !editor.guesses;
  $("guess-count").textContent = plural(editor.guesses, "prediction");
  $("pager").hidden = !editor.paging;
  if (!editor.paging) return;
  const { at, of } = editor.paging;
  $("sentence-at").textContent = `Sentence ${at} of ${of}`;
  $("sentence-back").disabled = at === 1;
  $("sentence-on").disabled = at === of;
}

function showSpans({ spans, chosen, guesses }) {
  editor.show({ spans, relations: chosen, guesses });
  for (const button of form.querySelectorAll("[data-mark]"))
    button.querySelector("small").textContent = spans.filter(([, , name]) => name === button.dataset.mark).length;
  showRows($("span-list"), spans, spanRow);
  const links = chosen.map(([head, name, tail]) => [spans[head], name, spans[tail]]);
  if ($("link-list")) showRows($("link-list"), links, linkRow);
  showState();
}

// Rows of what stayed are kept, with the focus that one of them may have.
function showRows(list, values, rowOf) {
  const former = new Map([...list.children].map((row) => [row.dataset.value, row]));
  const rows = values.map((value) => {
    const key = JSON.stringify(value);
    const row = former.get(key) ?? rowOf(value);
    former.delete(key);
    row.dataset.value = key;
    return row;
  });
  for (const row of former.values()) row.remove();
  rows.forEach((row, at) => list.children[at] === row || list.insertBefore(row, list.children[at] ?? null));
}

const numberOf = (row) => [...row.parentElement.children].indexOf(row);

function cell(...nodes) {
  const node = element("td");
  node.append(...nodes);
  return node;
}

// A button that acts on the row it stands in, whatever its number is by then.
function small(row, text, name, action) {
  const node = Object.assign(element("button", text, "btn btn--bare"), { type: "button" });
  node.setAttribute("aria-label", name);
  node.addEventListener("click", () => act(() => action(numberOf(row))));
  return node;
}

function spanRow(span) {
  const row = element("tr");
  const words = editor.words(span);
  const name = markTitle(span[2]);
  row.append(
    cell(small(row, words, `Choose ${words}, ${name}`, editor.choose)),
    element("td", name),
    element("td", `${span[0]}, ${span[1]}`, "fig"),
  );
  row.firstChild.className = "clip";
  return row;
}

function linkRow([head, name, tail]) {
  const row = element("tr");
  const text = `${editor.words(head)} – ${relateTitle(name)} – ${editor.words(tail)}`;
  row.append(
    element("td", text),
    cell(small(row, "⇄", `Turn ${text}`, editor.turn), small(row, "×", `Remove ${text}`, editor.unrelate)),
  );
  return row;
}
