// The answer to the sentence on show: what is chosen, every step back and forth, kept as a draft at each change.

import { $, choiceOf, relations, say } from "./page.js";
import { draftOf, keepDraft } from "./drafts.js";
import { keyOf } from "./keys.js";
import { readback } from "./sentence.js";

const STEPS = 200; // undo steps kept for a sentence
export let now = null; // on show

export function begin(work) {
  now = { chosen: [], na: false, comment: "", flagged: false, ...work, undone: [], done: [], since: performance.now() };
  const first = work.payload ?? work.suggestion;
  if (first) Object.assign(now, choiceOf(first));
  const draft = draftOf(work.item.id);
  Object.assign(now, draft, { drafted: Boolean(draft) });
  say("");
  showComment();
  showAnswer();
}

export function end() {
  now = null;
}

// Nothing chosen, written or undone here: whoever answered it elsewhere leaves nothing behind.
export const isUntouched = () => now && !now.former && !now.drafted && !now.done.length && !now.undone.length && !$("comment").value.trim();

export const snapshot = () => ({ chosen: [...now.chosen], na: now.na, flagged: now.flagged, comment: now.comment });

function change(alter) {
  if (!now) return;
  const before = snapshot();
  alter();
  if (JSON.stringify(before) === JSON.stringify(snapshot())) return showAnswer();
  now.done = [...now.done, before].slice(-STEPS);
  now.undone = [];
  kept();
}

function kept() {
  say("");
  keepDraft(now.item.id, snapshot());
  showAnswer();
}

export function toggle(name) {
  change(() => {
    now.na = false;
    now.chosen = now.chosen.includes(name) ? now.chosen.filter((other) => other !== name) : [...now.chosen, name];
  });
}

export const toggleNa = () => change(() => ([now.na, now.chosen] = [!now.na, []]));
export const toggleFlag = () => change(() => (now.flagged = !now.flagged));

function step(from, to, none) {
  if (!now[from].length) return say(none);
  now[to].push(snapshot());
  Object.assign(now, now[from].pop());
  showComment();
  return kept();
}

export const undo = () => step("done", "undone", `Nothing to undo in this sentence. ${keyOf("history") || "Last 10"} opens your last 10.`);
export const redo = () => step("undone", "done", "Nothing to redo.");

function showAnswer() {
  for (const input of relations) input.checked = now.chosen.includes(input.value);
  $("na").checked = now.na;
  $("flag").setAttribute("aria-pressed", now.flagged);
  $("flag").classList.toggle("btn--on", now.flagged);
  $("comment-button").classList.toggle("btn--on", Boolean(now.comment));
  $("undo").setAttribute("aria-disabled", !now.done.length);
  $("redo").setAttribute("aria-disabled", !now.undone.length);
  $("readback").replaceChildren(...readback(now));
}

// ---- the comment -----------------------------------------------------------------------------------

function showComment() {
  $("comment").value = now.comment;
  openRow(Boolean(now.comment));
}

function openRow(there) {
  $("comment-row").hidden = !there;
  $("comment-button").setAttribute("aria-expanded", there);
}

export function openComment() {
  openRow(true);
  $("comment").focus();
}

export function keepComment() {
  if (!now) return;
  const text = $("comment").value.trim();
  if (text !== now.comment) change(() => (now.comment = text));
  openRow(Boolean(text));
}
