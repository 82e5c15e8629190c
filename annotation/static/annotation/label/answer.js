// The answer to the sentence on screen: choices, undo and redo. Every change is saved as a draft.

import { $, choiceOf, relations, showError } from "./page.js";
import { draftOf, isFromOtherTab, saveDraft } from "./drafts.js";
import { keyOf } from "./keys.js";
import { readback } from "./sentence.js";
import { keysOf } from "../spans/document.js";

const STEPS = 200; // undo steps per sentence
export let current = null; // the sentence on screen with its answer; null between sentences

export function begin(work) {
  current = {
    spans: [], chosen: [], guesses: [], na: false, comment: "", flagged: false, ...work, undone: [], done: [], since: performance.now(),
  };
  const initial = work.payload ?? work.suggestion;
  if (initial) Object.assign(current, choiceOf(initial));
  if (!work.payload && current.spans.length) current.guesses = keysOf({ spans: current.spans, relations: current.chosen });
  const draft = draftOf(work.item.id);
  Object.assign(current, draft, { drafted: Boolean(draft) && !isFromOtherTab(draft) });
  showError("");
  showComment();
  showAnswer();
}

export function end() {
  current = null;
}

let onShown = () => {};

// The callback gets the answer each time it is shown.
export function whenShown(callback) {
  onShown = callback;
}

// Nothing chosen, written or undone here, so that nothing is lost when it was answered elsewhere.
export const isUntouched = () =>
  current &&
  !current.former &&
  !current.drafted &&
  !current.done.length &&
  !current.undone.length &&
  !$("comment").value.trim();

export const snapshot = () => ({
  spans: current.spans, chosen: [...current.chosen], guesses: current.guesses,
  na: current.na, flagged: current.flagged, comment: current.comment,
});

function change(alter) {
  if (!current) return;
  const before = snapshot();
  alter();
  if (JSON.stringify(before) === JSON.stringify(snapshot())) return showAnswer();
  current.done = [...current.done, before].slice(-STEPS);
  current.undone = [];
  save();
}

function save() {
  showError("");
  saveDraft(current.item.id, snapshot());
  showAnswer();
}

export function toggle(name) {
  change(() => {
    const { chosen } = current;
    current.na = false;
    current.chosen = chosen.includes(name) ? chosen.filter((other) => other !== name) : [...chosen, name];
  });
}

export function mark({ spans, relations: links, guesses }) {
  change(() => Object.assign(current, { spans, chosen: links, guesses, na: false }));
}

export function toggleNa() {
  change(() => {
    Object.assign(current, { na: !current.na, spans: [], chosen: [], guesses: [] });
  });
}

export function toggleFlag() {
  change(() => {
    current.flagged = !current.flagged;
  });
}

function step(from, to, message) {
  if (!current[from].length) return showError(message);
  current[to].push(snapshot());
  Object.assign(current, current[from].pop());
  showComment();
  return save();
}

export const undo = () =>
  step("done", "undone", `Nothing to undo in this sentence. ${keyOf("history") || "Last 10"} opens your last 10 answers.`);
export const redo = () => step("undone", "done", "Nothing to redo.");

function showAnswer() {
  for (const input of relations) input.checked = current.chosen.includes(input.value);
  $("na").checked = current.na;
  $("flag").setAttribute("aria-pressed", current.flagged);
  $("flag").classList.toggle("btn--on", current.flagged);
  $("comment-button").classList.toggle("btn--on", Boolean(current.comment));
  $("undo").setAttribute("aria-disabled", !current.done.length);
  $("redo").setAttribute("aria-disabled", !current.undone.length);
  $("readback").replaceChildren(...readback(current));
  onShown(current);
}

// ---- comment ---------------------------------------------------------------------------------------

function showComment() {
  $("comment").value = current.comment;
  setCommentOpen(Boolean(current.comment));
}

function setCommentOpen(open) {
  $("comment-row").hidden = !open;
  $("comment-button").setAttribute("aria-expanded", open);
}

export function openComment() {
  setCommentOpen(true);
  $("comment").focus();
}

export function saveComment() {
  if (!current) return;
  const text = $("comment").value.trim();
  if (text !== current.comment)
    change(() => {
      current.comment = text;
    });
  setCommentOpen(Boolean(text));
}
