// Outbox: answers wait on this device and are sent in order until the server has accepted them.

import { api } from "./page.js";
import { addConflict, showConflicts } from "./conflicts.js";
import { call, isLoggedOut, stopReasonOf, Unreachable } from "./server.js";
import * as status from "./status.js";
import { newId, unsent } from "./storage.js";

const FIRST_RETRY = 1000; // milliseconds, doubled up to the longest
const LONGEST_RETRY = 15_000;
let retryDelay = FIRST_RETRY;
let retryTimer = 0; // 0 unless a retry is due
let sending = null; // promise of the current run
let onAccepted = () => {};

// The callback gets each accepted entry and the server's response to it.
export function whenAccepted(callback) {
  onAccepted = callback;
}

// Two tabs of one person share the outbox, and only one of them may send at a time.
const exclusively = (work) => (navigator.locks ? navigator.locks.request(`send-${api.owner}`, work) : work());

export function send() {
  sending ??= sendAll().finally(() => (sending = null));
  return sending;
}

async function sendAll() {
  clearTimeout(retryTimer);
  retryTimer = 0;
  let sent = 0;
  try {
    const sendStored = async () => {
      for (let entry; (entry = unsent.read()[0]); sent++) await sendOne(entry);
    };
    // releasing the lock takes a moment, in which another answer may have been given
    do await exclusively(sendStored);
    while (unsent.read().length);
    status.markOnline();
    retryDelay = FIRST_RETRY;
    if (status.stopReason() && sent) status.resume();
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    status.markUnreachable();
    retryTimer = setTimeout(send, retryDelay);
    retryDelay = Math.min(retryDelay * 2, LONGEST_RETRY);
  } finally {
    status.showStatus();
  }
}

async function sendOne(entry) {
  status.showStatus();
  const response = await call("POST", `items/${entry.item}/${entry.act}`, entry.body);
  status.markLoggedOut(isLoggedOut(response));
  if (isLoggedOut(response)) throw new Unreachable("logged out");
  await stopIfRejectedByProject(response);
  // a page of a hotel's network may answer 200 as well
  if (response.ok && !Number.isInteger(response.data?.number)) throw new Unreachable("not the service");
  if (!response.ok) await addConflict(entry, response);
  unsent.remove(entry.id);
  status.markSaved();
  if (response.ok) onAccepted(entry, response.data);
  else showConflicts();
}

// One item may be gone; the work stops only when the whole project is out of reach.
async function stopIfRejectedByProject(response) {
  const relevant = response.status === 404 ? await call("GET", api.history) : response;
  const reason = stopReasonOf(relevant);
  status.markOnline();
  if (!reason) return;
  status.stop(reason, relevant);
  throw new Unreachable("stopped");
}

// One run sends what is added while it lasts, and tries again by itself when it fails.
export function queue(entry) {
  const id = newId();
  unsent.add({ ...entry, id, body: { ...entry.body, client_id: id } });
  return send();
}

addEventListener("online", () => send());
addEventListener("focus", () => unsent.read().length && send()); // for example after logging in again
addEventListener("storage", () => status.showStatus()); // another tab of the same person
addEventListener("beforeunload", (event) => unsent.read().length && status.isOffline() && event.preventDefault());
