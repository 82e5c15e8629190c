// Answers go into an outbox kept on this device and leave it in order, once the server has them.
// The line at the top always says where they are.

import { $, api, button, choiceOf, element, phraseOf } from "./page.js";
import { call, isLoggedOut, session, Unreachable, whyStopped } from "./server.js";
import { newId, rows } from "./storage.js";

export const outbox = rows("outbox"); // not yet taken by the server, oldest first
export const clashes = rows("clashes"); // what the server would not take, until the person has decided
const ELSEWHERE = "answered_elsewhere";

// ---- the line that says where the work is --------------------------------------------------------

export const line = { offSince: null, lastSaved: null, loggedOut: false, stopped: "", here: 0 };
const clock = (time) => time.toTimeString().slice(0, 5);
const many = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;

function ago(time) {
  const seconds = Math.round((Date.now() - time) / 1000);
  if (seconds < 5) return "just now";
  return seconds < 90 ? `${seconds} s ago` : `${Math.round(seconds / 60)} min ago`;
}

function offText(waiting) {
  const ways = waiting === 1 ? "is kept on this device and goes out by itself" : "are kept on this device and go out in order";
  const kept = waiting ? ` ${many(waiting, "answer")} ${ways}.` : "";
  const left = line.here ? ` ${many(line.here, "sentence")} more on this device. Keep labelling.` : " No more sentences on this device.";
  return `No network since ${clock(line.offSince)}.${kept}${left}`;
}

function stoppedText(waiting) {
  const go = waiting === 1 ? "is kept on this device and goes out by itself" : "are kept on this device and go out in order";
  return `${many(waiting, "answer")} ${go} when you can go on.`;
}

function savedText() {
  const waiting = outbox.read().length;
  if (line.loggedOut && session.other) return ["saved--off", `Somebody else is logged in here now. ${many(waiting, "answer")} of yours ${waiting === 1 ? "is" : "are"} kept on this device.`];
  if (line.loggedOut) return ["saved--off", `You are logged out. ${many(waiting, "answer")} kept on this device.`];
  if (line.offSince) return ["saved--off", offText(waiting)];
  if (line.stopped && waiting) return ["saved--off", stoppedText(waiting)];
  if (clashes.read().length) return ["saved--clash", "An answer waits for your decision: see above the sentence."];
  if (waiting) return ["saved--busy", `Sending ${many(waiting, "answer")} …`];
  return ["", line.lastSaved ? `Saved ${ago(line.lastSaved)}` : "Nothing sent yet"];
}

export function showSaved() {
  const [kind, text] = savedText();
  const box = $("saved");
  box.className = `saved push ${kind}`;
  if (box.dataset.kind !== kind || !kind) box.setAttribute("aria-live", kind ? "polite" : "off");
  box.dataset.kind = kind;
  if (box.textContent !== text) box.textContent = text;
  if (line.loggedOut) {
    const link = Object.assign(document.createElement("a"), { href: api.login, textContent: "Log in again" });
    box.append(" ", link);
  }
}

export function away(error) {
  if (!(error instanceof Unreachable)) throw error;
  line.offSince ??= new Date();
  showSaved();
}

// ---- sending, in order ---------------------------------------------------------------------------

let retryIn = 1000;
let retryTimer = 0;
let going = null;
let onTaken = () => {};
let onStop = () => {};
let onResume = () => {};

// Called with each entry that the server took and what it said of it.
export const whenTaken = (act) => (onTaken = act);

// Called when the project takes and gives nothing for now, and when it does again.
export const whenStopped = (stopped, resumed) => ([onStop, onResume] = [stopped, resumed]);

export function stop(why) {
  line.stopped = why;
  onStop();
}

function resume() {
  line.stopped = "";
  onResume();
}

// Two tabs of one person share the outbox: only one may send at a time.
const alone = (work) => (navigator.locks ? navigator.locks.request(`send-${api.outbox}`, work) : work());

export function send() {
  going ??= sendAll().finally(() => (going = null));
  return going;
}

async function sendAll() {
  clearTimeout(retryTimer);
  let sent = 0;
  try {
    await alone(async () => {
      for (let entry; (entry = outbox.read()[0]); sent++) await sendOne(entry);
    });
    line.offSince = null;
    retryIn = 1000;
    if (line.stopped && sent) resume();
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    if (!line.loggedOut && !line.stopped) line.offSince ??= new Date();
    retryTimer = setTimeout(send, retryIn);
    retryIn = Math.min(retryIn * 2, 15_000);
  } finally {
    showSaved();
  }
}

async function sendOne(entry) {
  showSaved();
  const answer = await call("POST", `items/${entry.item}/${entry.act}`, entry.body);
  const { ok, status, data } = answer;
  line.loggedOut = isLoggedOut(answer);
  if (line.loggedOut) throw new Unreachable("logged out");
  await heedStop(answer);
  if (ok && !Number.isInteger(data?.number)) throw new Unreachable("somebody else answered");
  if (!ok) clashes.put({ ...entry, problem: data?.detail ?? `The server answered ${status}.`, code: data?.code, last: data?.number, other: await said(entry, data) });
  outbox.drop(entry.id);
  line.lastSaved = Date.now();
  line.offSince = null;
  if (ok) onTaken(entry, data);
  else showClashes();
}

// A sentence may be gone by itself; only when the whole project is out of reach does the work stop.
async function heedStop(answer) {
  const asked = answer.status === 404 ? await call("GET", api.history) : answer;
  const why = whyStopped(asked);
  line.offSince = null;
  if (!why) return;
  stop(why);
  throw new Unreachable("stopped");
}

export function queue(entry) {
  const id = newId();
  outbox.put({ ...entry, id, body: { ...entry.body, client_id: id } });
  // an entry put in while the last one was leaving is seen by the loop, or by the next round
  return send().then(() => (outbox.read().length && !line.offSince && !line.loggedOut && !line.stopped ? send() : null));
}

addEventListener("online", () => send());
addEventListener("focus", () => outbox.read().length && send()); // back from where one logged in again
addEventListener("storage", () => (showClashes(), showSaved())); // another tab of the same person
addEventListener("beforeunload", (event) => outbox.read().length && line.offSince && event.preventDefault());

// ---- answers that the server would not take --------------------------------------------------------

export function showClashes() {
  $("clashes").replaceChildren(...clashes.read().map(clashNote));
}

// What the person said elsewhere, so that both answers are on show.
async function said(entry, refused) {
  if (refused?.code !== ELSEWHERE) return "";
  const { data } = await call("GET", `${api.history}?n=50`).catch(() => ({}));
  const act = data?.results?.find(({ item }) => item.id === entry.item);
  if (!act) return "";
  return act.act === "skip" ? "skip" : phraseOf(choiceOf(act.payload));
}

function clashNote(entry) {
  const elsewhere = entry.code === ELSEWHERE;
  const note = element("div", "", "note note--bad clash");
  const kept = element("p");
  kept.append(element("b", elsewhere ? "You answered this sentence elsewhere too. " : "This answer was not taken. "));
  kept.append(`${entry.name}: here you said “${entry.answer}”${entry.other ? `, elsewhere “${entry.other}”` : ""}. ${entry.problem}`);
  const row = element("p", "", "row");
  row.append(button(elsewhere ? "This one counts" : "Send it again", () => resend(entry)));
  row.append(button(elsewhere ? "The other one counts" : "Let it go", () => settleClash(entry)));
  note.append(kept, row);
  return note;
}

function settleClash(entry) {
  clashes.drop(entry.id);
  showClashes();
  showSaved();
}

function resend(entry) {
  if (!clashes.read().some(({ id }) => id === entry.id)) return showClashes(); // settled in another tab
  const { problem, code, last, other, ...answer } = entry;
  queue({ ...answer, body: { ...entry.body, base: last ?? entry.body.base } });
  settleClash(entry);
}
