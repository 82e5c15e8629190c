// The last 10 answers, to open again. Unsent ones come from this device, the others from the server.

import { onlyIn } from "./conflicts.js";
import { $, api, button, choiceOf, clip, digitOf, element, marksSpans, open, phraseOf } from "./page.js";
import { pairOf } from "./sentence.js";
import { call, Unreachable } from "./server.js";
import { removeStored, storedValue, unsent } from "./storage.js";
import { ordered } from "../spans/document.js";

const LIMIT = 10;

// Votes in the form of the API, the latest first. Only unsent ones are stored: others may use this device.
const stored = storedValue("unsent-votes", []);
let recent = stored.read();
removeStored("recent"); // of earlier builds, which stored sent ones, too

const isUnsent = () => {
  const waiting = new Set(unsent.read().map((entry) => entry.item));
  return (vote) => waiting.has(vote.item.id);
};
const isOther = (item) => (vote) => vote.item.id !== item.id;

export function remember(item, act, { base, ...body }) {
  const vote = { item, act, payload: null, reason: "", ...body, number: base + 1 };
  recent = [vote, ...recent.filter(isOther(item))].slice(0, LIMIT);
  stored.write([vote, ...stored.read().filter(isUnsent()).filter(isOther(item))].slice(0, LIMIT));
}

// Keep no vote on the device that the server has.
export function forgetSent() {
  stored.write(stored.read().filter(isUnsent()));
}

// An answer sent again after a conflict follows the votes of elsewhere.
export function renumber({ item, body }) {
  const renumbered = (vote) => (vote.item.id === item ? { ...vote, number: body.base + 1 } : vote);
  recent = recent.map(renumbered);
  stored.write(stored.read().map(renumbered));
}

export async function openHistory(reopen) {
  $("history-list").replaceChildren(element("li", "Loading …", "quiet"));
  open("history-dialog");
  const rows = (await latest()).map((vote, index) => rowOf(vote, index, reopen));
  const empty = element("li", "You have not answered any sentence here yet.", "quiet");
  $("history-list").replaceChildren(...(rows.length ? rows : [empty]));
  $("history-list").querySelector("button")?.focus();
}

// Digits open an answer: 1 the first, 0 the tenth. Arrows move between them.
export function wireHistory() {
  $("history-dialog").addEventListener("keydown", (event) => {
    const digit = digitOf(event);
    const buttons = [...$("history-list").querySelectorAll("button")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const index = buttons.indexOf(document.activeElement);
    if (digit) buttons[(Number(digit) + 9) % 10]?.click();
    else if (step && buttons.length) buttons[(index + step + buttons.length) % buttons.length].focus();
    else return;
    event.preventDefault();
  });
}

async function latest() {
  const here = new Set(recent.map((vote) => vote.item.id));
  const own = [...recent, ...stored.read().filter((vote) => !here.has(vote.item.id))].slice(0, LIMIT);
  try {
    const { data } = await call("GET", api.history);
    const first = own.filter(isUnsent());
    const ids = new Set(first.map((vote) => vote.item.id));
    return [...first, ...(data?.results ?? []).filter((vote) => !ids.has(vote.item.id))].slice(0, LIMIT);
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    return own;
  }
}

// The answer, and what tells it apart: its spans, or the sentence beside the pair.
function summaryOf({ act, item, payload }) {
  const answer = act === "skip" ? "skipped" : phraseOf(choiceOf(payload));
  if (!marksSpans) return `${answer} – ${clip(item.text)}`;
  const own = ordered(payload?.spans ?? [], payload?.relations ?? []);
  return own.spans.length ? `${answer}: ${onlyIn(own, { spans: [], relations: [] }, item)}` : answer;
}

function rowOf(vote, index, reopen) {
  const row = element("li");
  const text = element("div");
  text.append(element("b", pairOf(vote.item)), element("p", summaryOf(vote)));
  const opener = button("Open again ", () => reopen(vote));
  opener.append(element("kbd", String((index + 1) % 10), "key wide-only"));
  row.append(text, opener);
  return row;
}
