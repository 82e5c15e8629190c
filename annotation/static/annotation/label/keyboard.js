// The hand on the keys: which key press does what, and when it is only typing.

import { $, relations } from "./page.js";
import { keepComment } from "./answer.js";
import { keyInFind } from "./search.js";
import { commandOf } from "./keys.js";

const REPEATS = ["undo", "redo"]; // a held key goes on undoing; anything else happens once
let act = () => false; // does a command by its name; false when it can't be done now

export function wireHand(doing) {
  act = doing;
  document.addEventListener("keydown", onKey);
}

const typing = (target) => target.matches?.("textarea, select, [contenteditable], input:not([type=checkbox])");

function onKey(event) {
  if (event.isComposing || event.defaultPrevented || document.querySelector("dialog[open]")) return;
  if (event.target === $("find")) return keyInFind(event);
  if (event.target === $("comment")) return keyInComment(event);
  if (typing(event.target)) return;
  const handled = event.ctrlKey || event.metaKey ? withControl(event) : byPlainKey(event);
  if (handled) event.preventDefault();
}

function withControl(event) {
  const letter = event.key.toLowerCase();
  if (letter === "y" || (letter === "z" && event.shiftKey)) return act("redo");
  return letter === "z" && act("undo");
}

function byPlainKey(event) {
  if (event.key === "Enter") return byEnter(event);
  if (event.key === "ArrowDown" || event.key === "ArrowUp") return move(event.key === "ArrowDown" ? 1 : -1);
  const command = commandOf(event);
  if (!command) return false;
  return event.repeat && !REPEATS.includes(command) ? true : act(command);
}

// On a button or a link Enter is that button's; held down it submits nothing twice.
function byEnter(event) {
  if (event.repeat || event.target.matches("button, a, summary")) return event.repeat;
  return act("submit");
}

function keyInComment(event) {
  if (event.key !== "Enter" && event.key !== "Escape") return;
  event.preventDefault();
  keepComment();
  $("sentence").focus({ preventScroll: true });
}

function move(by) {
  const at = relations.indexOf(document.activeElement);
  const to = at < 0 ? (by > 0 ? 0 : relations.length - 1) : (at + by + relations.length) % relations.length;
  relations[to]?.focus();
  return true;
}
