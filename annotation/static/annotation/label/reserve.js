// Reserve: sentences leased before they are needed, so that the next one appears at once and labelling goes
// on offline. The server may reassign all but three of them.

import { api } from "./page.js";
import { call, isLoggedOut, stopReasonOf, Unreachable } from "./server.js";
import * as status from "./status.js";
import { conflicts, unsent } from "./storage.js";

const LIMIT = 55; // sentences in reserve, besides the one on screen
const BATCH = 15;
const HEARTBEAT = 5 * 60_000;
const IDLE = 30 * 60_000; // without a key or click the reserve is no longer kept from others

let reserved = []; // leased, not yet shown
let current = null; // on screen
let qualifying = api.round === "yes"; // the qualification round leases one sentence at a time
let refusal = ""; // the server's reason for leasing nothing
let fetching = null; // promise of the current run
let lastActive = Date.now();
const shownLeases = new Set();
const arrivalCallbacks = [];
// Lease by item, for sentences that were leased again while their answer is still on this device
const renewedLeases = new Map();

export const isEmpty = () => reserved.length === 0;
export const refusalReason = () => refusal;
export const isQualifying = () => qualifying;

export function endQualification() {
  qualifying = false;
}

// Unsent and conflicting answers: their sentences count as held.
const unsettled = () => [...unsent.read(), ...conflicts.read()];
const inUse = () =>
  [current, ...unsettled()].flatMap((work) => [work?.lease, renewedLeases.get(work?.item)]).filter(Boolean);
const holding = () => [...inUse(), ...reserved.map((work) => work.lease).filter(Boolean)];
const showCount = () => status.setReserved(reserved.length);

export function takeNext() {
  const work = reserved.shift() ?? null;
  setCurrent(work);
  return work;
}

export function setCurrent(work) {
  current = work;
  if (work?.lease) shownLeases.add(work.lease);
  showCount();
}

export function putBack(work) {
  reserved.unshift(work);
  showCount();
}

export function fillReserve() {
  fetching ??= fill().finally(() => (fetching = null));
  return fetching;
}

// Resolves as soon as a sentence is in reserve.
export const arrival = () =>
  reserved.length ? Promise.resolve() : new Promise((resolve) => arrivalCallbacks.push(resolve));

// Lease one sentence by itself, so that it is shown before the others arrive.
export async function fetchOne() {
  if (fetching) await Promise.race([fetching, arrival()]);
  // a reply may bring only what another tab has answered meanwhile: then one more follows
  for (let tries = 0; tries < 2 && (!reserved.length || status.stopReason()); tries++)
    if (!(await lease(1))) return;
}

async function fill() {
  if (!reserved.length && !(await lease(1))) return;
  if (qualifying) return;
  while (reserved.length < LIMIT - BATCH / 3) {
    const n = reserved.length < 3 ? 2 : Math.min(BATCH, LIMIT - reserved.length);
    if ((await lease(n)) < n) return;
  }
}

async function lease(n) {
  const response = await call("POST", api.reserve, { holding: holding(), n });
  const { ok, data } = response;
  status.markLoggedOut(isLoggedOut(response));
  if (isLoggedOut(response)) throw new Unreachable("logged out");
  const reason = stopReasonOf(response);
  if (reason) {
    status.stop(reason, response);
    return 0;
  }
  status.clearStop(response);
  refusal = "";
  if (response.status === 202) {
    // nothing yet; the search goes on
    status.setSearch(data?.reason ?? "");
    if (data?.wait) await new Promise((resolve) => setTimeout(resolve, data.wait * 1000));
    return lease(n);
  }
  if (response.status === 409) {
    refusal = `${data?.detail ?? ""} ${data?.hint ?? ""}`;
    return 0;
  }
  if (!ok || !Array.isArray(data?.leases)) throw new Unreachable(data?.detail ?? `status ${response.status}`);
  reserved.push(...newWork(data.leases));
  if (reserved.length) for (const resolve of arrivalCallbacks.splice(0)) resolve();
  showCount();
  return data.leases.length;
}

// Leases not seen before; a repeated request may return a lease twice. Sentences whose lease had ended
// may be leased again while they are here.
function newWork(leases) {
  const known = new Set([...shownLeases, ...holding()]);
  const answered = new Set(unsettled().map(({ item }) => item));
  const here = new Map([...reserved, current].map((work) => [work?.item.id, work]));
  for (const { lease: id, item } of leases) {
    if (answered.has(item.id)) renewedLeases.set(item.id, id);
    if (here.has(item.id)) here.get(item.id).lease = id;
  }
  return leases
    .filter(({ lease: id, item }) => !known.has(id) && !answered.has(item.id) && !here.has(item.id))
    .map(({ lease: id, item, base, suggestion }) => ({ lease: id, item, base, suggestion }));
}

// Lease the reserve again: that extends it, and shows which sentences were reassigned.
async function heartbeat() {
  if (isIdle()) return;
  try {
    if (current?.lease) await call("POST", `leases/${current.lease}/heartbeat`);
    const before = reserved.filter((work) => work.lease);
    if (!before.length) return;
    const response = await call("POST", api.reserve, { holding: inUse(), n: before.length });
    const { ok, data } = response;
    const reason = stopReasonOf(response);
    if (reason) status.stop(reason, response);
    if (!ok || !Array.isArray(data?.leases)) return;
    const extended = new Set(data.leases.map((entry) => entry.lease));
    reserved = reserved.filter((work) => !work.lease || extended.has(work.lease) || !before.includes(work));
    reserved.push(...newWork(data.leases));
    showCount();
  } catch (error) {
    status.reportFailure(error);
  }
}

const isIdle = () => Date.now() - lastActive > IDLE;

function onActivity() {
  const wasIdle = isIdle();
  lastActive = Date.now();
  if (wasIdle) heartbeat();
}

let onAnsweredElsewhere = () => {};

// The callback runs when the sentence on screen was answered in another tab.
export function whenAnsweredElsewhere(callback) {
  onAnsweredElsewhere = callback;
}

// Another tab of the same person has the same sentences; its answers need not be given again.
function onOtherTab(event) {
  if (!event.key?.startsWith(unsent.prefix) || !event.newValue) return;
  const { item: answered, lease: held } = JSON.parse(event.newValue);
  shownLeases.add(held); // a reply on its way may still bring it
  reserved = reserved.filter(({ item }) => item.id !== answered);
  showCount();
  if (current?.item.id === answered) onAnsweredElsewhere();
}

setInterval(heartbeat, HEARTBEAT);
for (const activity of ["keydown", "pointerdown"]) addEventListener(activity, onActivity, true);
addEventListener("storage", onOtherTab);
addEventListener("online", () => fillReserve().catch(status.reportFailure));
