// Keys of commands and relations. Each person may change their own; changes are saved on this device.

import { $, api, byName, digitOf, titleOf } from "./page.js";
import { storedValue } from "./storage.js";

const changes = storedValue("keys", {}, api.person);
const relationCommand = (name) => `rel:${name}`;
const relationKeys = [...byName].filter(([, input]) => input.dataset.key);
const DEFAULTS = {
  na: "N", find: "/", undo: "Z", redo: "⇧Z", history: "H", skip: "S", comment: "C", flag: "F", keys: "?",
  ...Object.fromEntries(relationKeys.map(([name, input]) => [relationCommand(name), input.dataset.key])),
};
const TITLES = {
  na: "N/A", find: "Find a relation", undo: "Undo", redo: "Redo", history: "Your last 10 answers",
  skip: "Skip", comment: "Comment", flag: "Flag", keys: "Keys",
};
const FIXED = [
  "Enter", "Escape", "Tab", " ", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Backspace", "Delete",
];
const MODIFIERS = ["Shift", "Alt", "Control", "Meta", "AltGraph", "CapsLock"];
const commands = [...Object.keys(TITLES), ...[...byName.keys()].map(relationCommand)];
const nameOf = (command) => TITLES[command] ?? titleOf(command.slice(relationCommand("").length));
let byChord = new Map(); // command by key
let byCommand = new Map(); // key by command

// Digits by their place on the keyboard, letters by their character; in other scripts letters by place too.
export function chordOf(event) {
  const shift = event.shiftKey ? "⇧" : "";
  const alt = event.altKey ? "⌥" : "";
  const digit = digitOf(event);
  if (digit !== undefined) return shift && alt ? null : shift + alt + digit;
  const latin = /^[a-z]$/i.test(event.key) ? event.key : (/^Key([A-Z])$/.exec(event.code)?.[1] ?? "");
  const isSign = event.key.length === 1 && /[!-/:-@[-`{-~]/.test(event.key);
  if (latin && !isSign) return shift + alt + latin.toUpperCase();
  return event.key.length === 1 && event.key !== " " && !alt ? event.key : null;
}

// On some keyboards a sign is Shift and a digit: the sign acts when no relation has that key.
export const commandOf = (event) => byChord.get(chordOf(event)) ?? byChord.get(event.key);
export const keyOf = (command) => byCommand.get(command) ?? "";

// A key belongs to one command: to the one it was assigned to by hand, else to the first in the list.
export function assignKeys() {
  const own = changes.read();
  byChord = new Map();
  byCommand = new Map();
  for (const command of [...commands].sort((a, b) => (b in own) - (a in own))) {
    const chord = own[command] ?? DEFAULTS[command];
    if (!chord || byChord.has(chord)) continue;
    byChord.set(chord, command);
    byCommand.set(command, chord);
  }
  showKeys();
}

function showKeys() {
  for (const cap of document.querySelectorAll("[data-cap]")) {
    cap.textContent = keyOf(cap.dataset.cap);
    cap.hidden = !cap.textContent;
  }
  for (const [name, input] of byName) input.dataset.key = keyOf(relationCommand(name));
  $("keys-reset").hidden = !Object.keys(changes.read()).length;
}

// ---- changing a key --------------------------------------------------------------------------------

let changing = null; // the button whose key is being changed
const showMessage = (text) => ($("keys-message").textContent = text);

function startChange(button) {
  endChange();
  changing = button;
  button.textContent = "Press a key";
  button.setAttribute("aria-pressed", "true");
  showMessage(`Press the new key for ${nameOf(button.dataset.change)}. Esc cancels.`);
}

function endChange() {
  if (!changing) return;
  changing.textContent = "Change";
  changing.removeAttribute("aria-pressed");
  changing = null;
}

function onKey(event) {
  if (!changing || MODIFIERS.includes(event.key)) return;
  event.preventDefault();
  event.stopPropagation();
  const command = changing.dataset.change;
  if (event.key === "Escape") {
    endChange();
    return showMessage("The key was not changed.");
  }
  const problem = problemWith(command, event);
  if (problem) return showMessage(problem);
  const chord = chordOf(event);
  changes.write({ ...changes.read(), [command]: chord });
  assignKeys();
  endChange();
  showMessage(`The key for ${nameOf(command)} is now ${chord}.`);
}

function problemWith(command, event) {
  if (event.ctrlKey || event.metaKey) return "The browser uses keys with Ctrl or ⌘. Press another key.";
  if (FIXED.includes(event.key)) return "This key can’t be changed. Press another key.";
  const chord = chordOf(event);
  if (!chord) return "This key can’t be used. Press a letter, a digit or a sign, alone or with Shift or Alt.";
  const holder = byChord.get(chord);
  if (!holder || holder === command) return "";
  return `${chord} is already the key for ${nameOf(holder)}. Change that one first, or press another key.`;
}

export function wireKeys() {
  assignKeys();
  const dialog = $("keys-dialog");
  dialog.addEventListener("keydown", onKey);
  dialog.addEventListener("cancel", (event) => changing && event.preventDefault());
  const introduction = [...$("keys-message").childNodes];
  dialog.addEventListener("close", () => {
    endChange();
    $("keys-message").replaceChildren(...introduction);
  });
  for (const button of dialog.querySelectorAll("[data-change]"))
    button.addEventListener("click", () => startChange(button));
  $("keys-reset").addEventListener("click", () => {
    changes.write({});
    assignKeys();
    showMessage("All keys are reset.");
  });
  addEventListener("storage", assignKeys);
}
