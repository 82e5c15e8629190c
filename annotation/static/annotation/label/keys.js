// Which key does what. Everybody may change the keys for themselves; they are kept on this device.

import { $, api, byName, titleOf } from "./page.js";
import { shelf } from "./storage.js";

const kept = shelf("keys", {}, api.person);
const DEFAULTS = {
  na: "N", find: "/", undo: "Z", redo: "⇧Z", history: "H", skip: "S", comment: "C", flag: "F", keys: "?",
  ...Object.fromEntries([...byName].filter(([, input]) => input.dataset.key).map(([name, input]) => [`rel:${name}`, input.dataset.key])),
};
const TITLES = {
  na: "N/A", find: "Find a relation", undo: "Undo", redo: "Redo", history: "Your last 10",
  skip: "Skip", comment: "Comment", flag: "Flag", keys: "Keys",
};
const FIXED = ["Enter", "Escape", "Tab", " ", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Backspace", "Delete"];
const commands = [...Object.keys(TITLES), ...[...byName.keys()].map((name) => `rel:${name}`)];
const told = (command) => TITLES[command] ?? titleOf(command.slice(4));
let byChord = new Map();
let byCommand = new Map();

// Digits by their place on the keyboard, letters by what they write; other scripts by place as well.
export function chordOf(event) {
  const shift = event.shiftKey ? "⇧" : "";
  const alt = event.altKey ? "⌥" : "";
  const digit = /^(?:Digit|Numpad)(\d)$/.exec(event.code)?.[1];
  if (digit !== undefined) return shift && alt ? null : shift + alt + digit;
  const latin = /^[a-z]$/i.test(event.key) ? event.key : (/^Key([A-Z])$/.exec(event.code)?.[1] ?? "");
  if (latin && !(event.key.length === 1 && /[!-/:-@[-`{-~]/.test(event.key))) return shift + alt + latin.toUpperCase();
  return event.key.length === 1 && event.key !== " " && !alt ? event.key : null;
}

// On some keyboards a sign is Shift and a digit: the sign acts when no relation has that key.
export const commandOf = (event) => byChord.get(chordOf(event)) ?? byChord.get(event.key);
export const keyOf = (command) => byCommand.get(command) ?? "";

// A key belongs to one thing: what was changed by hand comes first, then what comes first in the list.
function read() {
  const own = kept.read();
  byChord = new Map();
  byCommand = new Map();
  for (const command of [...commands].sort((a, b) => (b in own) - (a in own))) {
    const chord = own[command] ?? DEFAULTS[command];
    if (!chord || byChord.has(chord)) continue;
    byChord.set(chord, command);
    byCommand.set(command, chord);
  }
  show();
}

function show() {
  for (const cap of document.querySelectorAll("[data-cap]")) {
    cap.textContent = keyOf(cap.dataset.cap);
    cap.hidden = !cap.textContent;
  }
  for (const [name, input] of byName) input.dataset.key = keyOf(`rel:${name}`);
  $("keys-reset").hidden = !Object.keys(kept.read()).length;
}

let asking = null; // the button whose key is being changed

function ask(changer) {
  settle();
  asking = changer;
  changer.textContent = "Press a key";
  changer.setAttribute("aria-pressed", "true");
  tell(`Press the new key for ${told(changer.dataset.change)}. Esc leaves it as it is.`);
}

function settle() {
  if (!asking) return;
  asking.textContent = "Change";
  asking.removeAttribute("aria-pressed");
  asking = null;
}

const tell = (text) => ($("keys-said").textContent = text);

function onKey(event) {
  if (!asking) return;
  if (["Shift", "Alt", "Control", "Meta", "AltGraph", "CapsLock"].includes(event.key)) return;
  event.preventDefault();
  event.stopPropagation();
  const command = asking.dataset.change;
  if (event.key === "Escape") return settle(), tell("Nothing changed.");
  const refusal = refusalOf(command, event);
  if (refusal) return tell(refusal);
  const chord = chordOf(event);
  kept.write({ ...kept.read(), [command]: chord });
  read();
  settle();
  tell(`${told(command)} is on ${chord} now.`);
}

function refusalOf(command, event) {
  if (event.ctrlKey || event.metaKey) return "Keys with Ctrl or ⌘ belong to the browser. Press another one.";
  if (FIXED.includes(event.key)) return "This key submits, moves or leaves, and stays as it is. Press another one.";
  const chord = chordOf(event);
  if (!chord) return "This key can’t be used. Press a letter, a digit or a sign, alone or with Shift or Alt.";
  const holder = byChord.get(chord);
  return holder && holder !== command ? `${chord} is the key of ${told(holder)}. Change that one first, or press another.` : "";
}

export function wireKeys() {
  read();
  const dialog = $("keys-dialog");
  dialog.addEventListener("keydown", onKey);
  dialog.addEventListener("cancel", (event) => asking && event.preventDefault());
  const opening = [...$("keys-said").childNodes];
  dialog.addEventListener("close", () => (settle(), $("keys-said").replaceChildren(...opening)));
  for (const changer of dialog.querySelectorAll("[data-change]")) changer.addEventListener("click", () => ask(changer));
  $("keys-reset").addEventListener("click", () => {
    kept.write({});
    read();
    tell("All keys are as they were at first.");
  });
  addEventListener("storage", read);
}
