// Conflicts: answers the server rejected. The person decides whether to send or discard each of them.

import { $, api, button, choiceOf, element, marksSpans, markTitle, phraseOf, relateTitle } from "./page.js";
import { call } from "./server.js";
import { showStatus } from "./status.js";
import { conflicts, unsent } from "./storage.js";
import { keysOf, ordered } from "../spans/document.js";
import { quotable, textOf, wordsOf } from "../spans/text.js";

const ELSEWHERE = "answered_elsewhere";
const MOST = 5; // spans and relations that a conflict names
let resend = () => {};

// The callback queues an answer again.
export function whenResent(callback) {
  resend = callback;
}

export async function addConflict(entry, { status, data }) {
  const problem = data?.detail ?? `The server answered ${status}.`;
  const other = data?.code === ELSEWHERE ? await otherAnswer(entry) : {};
  if (!unsent.read().some(({ id }) => id === entry.id)) return; // another tab sent it too and added it first
  conflicts.add({ ...entry, problem, code: data?.code, last: data?.number, ...other });
}

// The answer given elsewhere, so that the person can compare both.
async function otherAnswer({ item, body }) {
  const { data } = await call("GET", `${api.history}?n=50`).catch(() => ({}));
  const vote = data?.results?.find((result) => result.item.id === item);
  if (!vote) return {};
  if (vote.act === "skip") return { other: "skip" };
  const other = phraseOf(choiceOf(vote.payload));
  if (!marksSpans || !body.payload) return { other };
  const [here, there] = [body, vote].map(({ payload }) => ordered(payload.spans, payload.relations));
  return { other, onlyHere: onlyIn(here, there, vote.item), onlyThere: onlyIn(there, here, vote.item) };
}

// Spans and relations of an answer that another one lacks, in words.
export function onlyIn(one, other, item) {
  const text = textOf(item);
  const words = (span) => `“${quotable(wordsOf(text, span))}” ${markTitle(span[2])}`;
  const linked = ([head, name, tail]) => `${words(one.spans[head])} – ${relateTitle(name)} – ${words(one.spans[tail])}`;
  const [keys, others] = [keysOf(one), new Set(keysOf(other))];
  const only = [...one.spans.map(words), ...one.relations.map(linked)].filter((_, at) => !others.has(keys[at]));
  return only.slice(0, MOST).join(", ") + (only.length > MOST ? ` and ${only.length - MOST} more` : "");
}

// Notes of the same conflicts stay, as another tab stores something at any time, also while a button is pressed.
export function showConflicts() {
  const entries = conflicts.read();
  const ids = entries.map(({ id }) => id).join();
  if (ids === $("conflicts").dataset.ids) return;
  $("conflicts").dataset.ids = ids;
  $("conflicts").replaceChildren(...entries.map(conflictNote));
}

function conflictNote(entry) {
  const elsewhere = entry.code === ELSEWHERE;
  const note = element("div", "", "note note--bad conflict");
  note.dataset.code = entry.code ?? "";
  const text = element("p");
  text.append(element("b", elsewhere ? "You also answered this sentence elsewhere. " : "This answer was not accepted. "));
  const other = entry.other ? `, elsewhere “${entry.other}”` : "";
  const [here, there] = [["here", entry.onlyHere], ["elsewhere", entry.onlyThere]].map(([where, only]) => (only ? `Only ${where}: ${only}. ` : ""));
  text.append(`${entry.name}: here “${entry.answer}”${other}. ${here}${there}${entry.problem}`);
  const buttons = element("p", "", "row");
  buttons.append(button(elsewhere ? "Use this answer" : "Send answer again", () => resendConflict(entry)));
  buttons.append(button(elsewhere ? "Use the other answer" : "Discard answer", () => settle(entry)));
  note.append(text, buttons);
  return note;
}

function settle(entry) {
  conflicts.remove(entry.id);
  showConflicts();
  showStatus();
}

function resendConflict(entry) {
  if (!conflicts.read().some(({ id }) => id === entry.id)) return showConflicts(); // settled in another tab
  const { problem: _problem, code: _code, last, other: _other, onlyHere: _here, onlyThere: _there, ...answer } = entry;
  resend({ ...answer, body: { ...entry.body, base: last ?? entry.body.base } });
  settle(entry);
}

addEventListener("storage", showConflicts); // another tab of the same person
