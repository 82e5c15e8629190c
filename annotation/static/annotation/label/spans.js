// The span editor on the form: its palettes and lists, and the way between its answer and the form's.

import { $, element, form, showError } from "./page.js";
import * as answer from "./answer.js";
import { createEditor } from "../spans/editor.js";

const entries = (selector) =>
  [...form.querySelectorAll(selector)].map(({ dataset }) => ({ ...dataset }));
let editor = null;

export function wireSpans() {
  editor = createEditor($("sentence"), {
    labels: entries("[data-mark]").map((entry) => ({ ...entry, name: entry.mark })),
    relations: entries("[data-relate]").map((entry) => ({ ...entry, name: entry.relate })),
    mayOverlap: form.dataset.overlap === "yes",
    onChange: answer.mark,
    announce,
  });
  document.addEventListener("keydown", editor.onKey);
  for (const button of form.querySelectorAll("[data-mark]"))
    button.addEventListener("click", () => act(() => editor.mark(button.dataset.mark)));
  for (const button of form.querySelectorAll("[data-relate]"))
    button.addEventListener("click", () => act(() => editor.startLink(button.dataset.relate)));
  $("remove-span").addEventListener("click", () => act(() => editor.remove()));
  answer.whenShown(showSpans);
}

function act(change) {
  change();
  $("sentence").focus({ preventScroll: true });
}

export const beginSpans = ({ item, suggestion }) => editor.begin(item, suggestion?.spans);

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
    button.classList.toggle("rel--off", !editor.fits({ head: button.dataset.head, tail: "" }));
}

function showSpans({ spans, chosen }) {
  editor.show({ spans, relations: chosen });
  for (const button of form.querySelectorAll("[data-mark]"))
    button.querySelector("small").textContent = spans.filter(([, , name]) => name === button.dataset.mark).length;
  $("span-list").replaceChildren(...spans.map(spanRow));
  if ($("link-list")) $("link-list").replaceChildren(...chosen.map((link, at) => linkRow(link, at, spans)));
  showState();
}

const titleIn = (selector, name) =>
  [...form.querySelectorAll(selector)].find(({ dataset }) => Object.values(dataset).includes(name))?.dataset.title ?? name;

function cell(...nodes) {
  const node = element("td");
  node.append(...nodes);
  return node;
}

function small(text, name, action) {
  const node = Object.assign(element("button", text, "btn btn--bare"), { type: "button" });
  node.setAttribute("aria-label", name);
  node.addEventListener("click", () => act(action));
  return node;
}

function spanRow(span, at) {
  const row = element("tr");
  const words = editor.words(span);
  const name = titleIn("[data-mark]", span[2]);
  row.append(
    cell(small(words, `Choose ${words}, ${name}`, () => editor.choose(at))),
    element("td", name),
    element("td", `${span[0]}, ${span[1]}`, "fig"),
  );
  row.firstChild.className = "clip";
  return row;
}

function linkRow([head, name, tail], at, spans) {
  const row = element("tr");
  const title = titleIn("[data-relate]", name);
  const text = `${editor.words(spans[head])} – ${title} – ${editor.words(spans[tail])}`;
  row.append(
    element("td", text),
    cell(small("⇄", `Turn ${text}`, () => editor.turn(at)), small("×", `Remove ${text}`, () => editor.unrelate(at))),
  );
  return row;
}
