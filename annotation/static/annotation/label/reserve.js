// The sentences ahead: handed out before they are needed, so that the next one is there at once and a
// while without network costs nothing. Beyond three they are a reserve, which the server may give to others.

import { $, api } from "./page.js";
import { away, clashes, line, outbox, showSaved, stop } from "./outbox.js";
import { call, isLoggedOut, Unreachable, whyStopped } from "./server.js";

const MOST = 55; // held ahead of the one on show
const AT_ONCE = 15;
const BEAT = 5 * 60_000;

export const round = { going: api.round === "yes" }; // the qualification round goes one by one
export let refusal = ""; // why the server hands out nothing

let ahead = []; // leased, not yet on show
let shown = null; // on show
const begun = new Set(); // leases that were on show in this page
let fetching = null;
const waiting = []; // called when a sentence has come

const again = new Map(); // leases under which a sentence came again whose answer is still on this device

// Answers that are still on their way or wait for a decision: their sentences count as held.
const unsettled = () => [...outbox.read(), ...clashes.read()];
const onTheWay = () => [shown, ...unsettled()].flatMap((work) => [work?.lease, again.get(work?.item)]).filter(Boolean);
const holding = () => [...onTheWay(), ...ahead.map((work) => work.lease).filter(Boolean)];

function told() {
  line.here = ahead.length;
  $("saved").title = `${ahead.length} more on this device`;
  showSaved();
}

export const any = () => ahead.length > 0;

export function takeNext() {
  const work = ahead.shift() ?? null;
  putOnShow(work);
  return work;
}

export function putOnShow(work) {
  shown = work;
  if (work?.lease) begun.add(work.lease);
  told();
}

export function putBack(work) {
  ahead.unshift(work);
  told();
}

export function fetchAhead() {
  fetching ??= fill().finally(() => (fetching = null));
  return fetching;
}

export const arrival = () => (ahead.length ? Promise.resolve() : new Promise((done) => waiting.push(done)));

// The first one alone, so that it is on show before the rest is there.
export async function fetchOne() {
  if (fetching) await Promise.race([fetching, arrival()]);
  if (!ahead.length || line.stopped) await ask(1);
}

async function fill() {
  if (!ahead.length && !(await ask(1))) return;
  while (!round.going && ahead.length < MOST - AT_ONCE / 3) {
    const wanted = ahead.length < 3 ? 2 : Math.min(AT_ONCE, MOST - ahead.length);
    if ((await ask(wanted)) < wanted) return;
  }
}

async function ask(n) {
  const answer = await call("POST", api.reserve, { holding: holding(), n });
  const { status, ok, data } = answer;
  line.loggedOut = isLoggedOut(answer);
  if (line.loggedOut) throw new Unreachable("logged out");
  const why = whyStopped(answer);
  if (why) stop(why);
  if (why) return 0;
  line.stopped = refusal = "";
  if (status === 409) {
    refusal = `${data?.detail ?? ""} ${data?.hint ?? ""}`;
    return 0;
  }
  if (!ok || !Array.isArray(data?.leases)) throw new Unreachable(data?.detail ?? `status ${status}`);
  ahead.push(...fresh(data.leases));
  if (ahead.length) for (const done of waiting.splice(0)) done();
  told();
  return data.leases.length;
}

// What was handed out and not on show yet; a lease may come twice when a request was repeated.
function fresh(leases) {
  const known = new Set([...begun, ...holding()]);
  const answered = new Set(unsettled().map(({ item }) => item));
  for (const { lease, item } of leases) if (answered.has(item.id)) again.set(item.id, lease);
  return leases.filter(({ lease, item }) => !known.has(lease) && !answered.has(item.id)).map(({ lease, item, base, suggestion }) => ({ lease, item, base, suggestion }));
}

// Held sentences are asked for once more: that prolongs them, and tells which have gone to somebody else.
async function beat() {
  try {
    if (shown?.lease) await call("POST", `leases/${shown.lease}/heartbeat`);
    const before = ahead.filter((work) => work.lease);
    if (!before.length) return;
    const answer = await call("POST", api.reserve, { holding: onTheWay(), n: before.length });
    const { ok, data } = answer;
    if (whyStopped(answer)) stop(whyStopped(answer));
    if (!ok || !Array.isArray(data?.leases)) return;
    const still = new Set(data.leases.map(({ lease }) => lease));
    ahead = ahead.filter((work) => !work.lease || still.has(work.lease) || !before.includes(work));
    ahead.push(...fresh(data.leases));
    told();
  } catch (error) {
    away(error);
  }
}

let onElsewhere = () => {};
export const whenAnsweredElsewhere = (act) => (onElsewhere = act); // the sentence on show, in another tab

// Another tab of the same person has the same sentences: what is answered there is not asked for here again.
function fromOtherTab(event) {
  if (!event.key?.startsWith(outbox.prefix) || !event.newValue) return;
  const answered = JSON.parse(event.newValue).item;
  ahead = ahead.filter(({ item }) => item.id !== answered);
  told();
  if (shown?.item.id === answered) onElsewhere();
}

setInterval(beat, BEAT);
addEventListener("storage", fromOtherTab);
addEventListener("online", () => fetchAhead().catch(away));
