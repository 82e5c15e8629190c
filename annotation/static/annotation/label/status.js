// State of the connection, and the status line that shows it. Other modules report events; only this one
// holds the state.

import { $, api } from "./page.js";
import { isOtherUser, Unreachable } from "./server.js";
import { conflicts, unsent } from "./storage.js";

const state = { offlineSince: null, lastSaved: null, loggedOut: false, stopReason: "", newest: 0, reserved: 0 };
let onStop = () => {};
let onResume = () => {};

export const isOffline = () => state.offlineSince !== null;
export const stopReason = () => state.stopReason; // empty while the project hands out and accepts work

// ---- events ----------------------------------------------------------------------------------------

export function markOnline() {
  state.offlineSince = null;
}

// A logged-out or stopped form has its own status; it isn't offline.
export function markUnreachable() {
  if (!state.loggedOut && !state.stopReason) state.offlineSince ??= new Date();
}

// Report a failed request; any other error is a fault of this program.
export function reportFailure(error) {
  if (!(error instanceof Unreachable)) throw error;
  state.offlineSince ??= new Date();
  showStatus();
}

export function markLoggedOut(loggedOut) {
  state.loggedOut = loggedOut;
}

export function markSaved() {
  state.lastSaved = Date.now();
  state.offlineSince = null;
}

export function setReserved(n) {
  state.reserved = n;
  $("saved").title = `${plural(n, "more sentence")} on this device`;
  showStatus();
}

// Say what a request for sentences waits for: without a reason, for the search.
export function setSearch(reason) {
  $("searching-text").hidden = Boolean(reason);
  $("searching-reason").textContent = reason && `${reason} The next sentence appears when that is done.`;
}

// The callbacks run when the project hands out and accepts nothing for now, and when it does again.
export function whenStopped(stopped, resumed) {
  onStop = stopped;
  onResume = resumed;
}

// Replies may overtake each other: the latest request decides whether the work is stopped. Only a request
// for sentences ends a stop: a paused person's answers are accepted, and no sentence.
function isLatest({ number }) {
  if (number < state.newest) return false;
  state.newest = number;
  return true;
}

export function stop(reason, response) {
  if (!isLatest(response)) return;
  state.stopReason = reason;
  onStop();
}

export function clearStop(response) {
  if (isLatest(response)) state.stopReason = "";
}

// Answers were sent while the work was stopped: time to ask for sentences again.
export const resume = () => onResume();

// ---- status line -----------------------------------------------------------------------------------

const clock = (time) => time.toTimeString().slice(0, 5);
const plural = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;

function ago(time) {
  const seconds = Math.round((Date.now() - time) / 1000);
  if (seconds < 5) return "just now";
  return seconds < 90 ? `${seconds} s ago` : `${Math.round(seconds / 60)} min ago`;
}

function onDevice(n) {
  const place = unsent.isStored()
    ? "saved on this device"
    : "kept in this open tab alone (the storage of the browser is full or off)";
  return `${plural(n, "answer")} ${n === 1 ? "is" : "are"} ${place}`;
}

function offlineText(n) {
  const answers = n ? ` ${onDevice(n)} and will be sent ${n === 1 ? "automatically" : "in order"}.` : "";
  const left = state.reserved
    ? `You can label ${plural(state.reserved, "more sentence")} offline.`
    : "No more sentences are available offline.";
  return `Offline since ${clock(state.offlineSince)}.${answers} ${left}`;
}

// Name, CSS class and text of the current status; the most urgent one first.
function currentStatus() {
  const n = unsent.read().length;
  if (state.loggedOut && isOtherUser())
    return ["other-user", "saved--off", `Another person is logged in on this browser. ${onDevice(n)}.`];
  if (state.loggedOut) return ["logged-out", "saved--off", `You are logged out. ${onDevice(n)}.`];
  if (isOffline()) return ["offline", "saved--off", offlineText(n)];
  if (state.stopReason && n)
    return ["stopped", "saved--off", `${onDevice(n)} and will be sent in order when you can continue.`];
  if (conflicts.read().length)
    return ["conflict", "saved--clash", "An answer was not accepted. Send it again or discard it above the sentence."];
  if (n) return ["sending", "saved--busy", `Sending ${plural(n, "answer")} …`];
  if (state.lastSaved) return ["saved", "", `Saved ${ago(state.lastSaved)}`];
  return ["saved", "", Number(api.done) ? "All answers are sent" : "No answers sent yet"];
}

export function showStatus() {
  const [name, className, text] = currentStatus();
  const line = $("saved");
  line.className = `saved push ${className}`;
  // “Saved 5 s ago” changes all the time and is not read out
  if (line.dataset.state !== name) line.setAttribute("aria-live", name === "saved" ? "off" : "polite");
  Object.assign(line.dataset, { state: name, unsent: unsent.read().length, reserved: state.reserved });
  const link = state.loggedOut && Object.assign(document.createElement("a"), { href: api.login, textContent: "Log in again" });
  // the same link stays, as it may be pressed just now
  if (line.textContent !== text + (link ? ` ${link.textContent}` : "")) line.replaceChildren(text, ...(link ? [" ", link] : []));
}
