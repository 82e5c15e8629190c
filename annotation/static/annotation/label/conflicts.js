// Conflicts: answers the server rejected. The person decides whether to send or discard each of them.

import { $, api, button, choiceOf, element, phraseOf } from "./page.js";
import { call } from "./server.js";
import { showStatus } from "./status.js";
import { conflicts, unsent } from "./storage.js";

const ELSEWHERE = "answered_elsewhere";
let resend = () => {};

// The callback queues an answer again.
export function whenResent(callback) {
  resend = callback;
}

export async function addConflict(entry, { status, data }) {
  const problem = data?.detail ?? `The server answered ${status}.`;
  const other = data?.code === ELSEWHERE ? await otherAnswer(entry.item) : "";
  if (!unsent.read().some(({ id }) => id === entry.id)) return; // another tab sent it too and added it first
  conflicts.add({ ...entry, problem, code: data?.code, last: data?.number, other });
}

// The answer given elsewhere, so that the person can compare both.
async function otherAnswer(item) {
  const { data } = await call("GET", `${api.history}?n=50`).catch(() => ({}));
  const vote = data?.results?.find((result) => result.item.id === item);
  if (!vote) return "";
  return vote.act === "skip" ? "skip" : phraseOf(choiceOf(vote.payload));
}

export function showConflicts() {
  $("conflicts").replaceChildren(...conflicts.read().map(conflictNote));
}

function conflictNote(entry) {
  const elsewhere = entry.code === ELSEWHERE;
  const note = element("div", "", "note note--bad conflict");
  note.dataset.code = entry.code ?? "";
  const text = element("p");
  text.append(element("b", elsewhere ? "You also answered this sentence elsewhere. " : "This answer was not accepted. "));
  const other = entry.other ? `, elsewhere “${entry.other}”` : "";
  text.append(`${entry.name}: here “${entry.answer}”${other}. ${entry.problem}`);
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
  const { problem: _problem, code: _code, last, other: _other, ...answer } = entry;
  resend({ ...answer, body: { ...entry.body, base: last ?? entry.body.base } });
  settle(entry);
}

addEventListener("storage", showConflicts); // another tab of the same person
