// The last 10 answers, to be opened again; those still on their way are on this device.

import { $, api, button, choiceOf, clip, element, open, phraseOf } from "./page.js";
import { outbox } from "./outbox.js";
import { pairOf } from "./sentence.js";
import { call, Unreachable } from "./server.js";
import { shelf } from "./storage.js";

const KEPT = 10;
const recent = shelf("recent", []); // latest first, as the server would tell them

export function remember(item, act, { base, ...body }) {
  const entry = { item, act, payload: null, reason: "", ...body, number: base + 1 };
  recent.write([entry, ...recent.read().filter((other) => other.item.id !== item.id)].slice(0, KEPT));
}

export async function openHistory(reopen) {
  $("history-list").replaceChildren(element("li", "Loading …", "quiet"));
  open("history-dialog");
  const lines = (await latest()).map((act, at) => historyLine(act, at, reopen));
  $("history-list").replaceChildren(...(lines.length ? lines : [element("li", "You have answered nothing here yet.", "quiet")]));
  $("history-list").querySelector("button")?.focus();
}

// The first is 1, the tenth 0, as on the keyboard; the arrows move between them.
export function wireHistory() {
  $("history-dialog").addEventListener("keydown", (event) => {
    const digit = /^(?:Digit|Numpad)(\d)$/.exec(event.code)?.[1];
    const buttons = [...$("history-list").querySelectorAll("button")];
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (digit) buttons[(Number(digit) + 9) % 10]?.click();
    else if (by && buttons.length) buttons[(buttons.indexOf(document.activeElement) + by + buttons.length) % buttons.length].focus();
    else return;
    event.preventDefault();
  });
}

async function latest() {
  const unsent = new Set(outbox.read().map((entry) => entry.item));
  const own = recent.read();
  try {
    const { data } = await call("GET", api.history);
    const front = own.filter((act) => unsent.has(act.item.id));
    const names = new Set(front.map((act) => act.item.id));
    return [...front, ...(data?.results ?? []).filter((act) => !names.has(act.item.id))].slice(0, KEPT);
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    return own;
  }
}

function historyLine(act, at, reopen) {
  const node = element("li");
  const what = element("div");
  const names = act.act === "skip" ? "skipped" : phraseOf(choiceOf(act.payload));
  what.append(element("b", pairOf(act.item)), element("p", `${names} – ${clip(act.item.text)}`));
  const opener = button("Open again ", () => reopen(act));
  opener.append(element("kbd", String((at + 1) % 10), "key wide-only"));
  node.append(what, opener);
  return node;
}
