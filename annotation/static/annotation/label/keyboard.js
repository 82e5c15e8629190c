// Keyboard: which key press runs which command, and when it is only typing.

import { $, relations } from "./page.js";
import { saveComment } from "./answer.js";
import { handleSearchKey } from "./search.js";
import { commandOf } from "./keys.js";

const REPEATABLE = ["undo", "redo"]; // a held key repeats these; all others run once
let run = () => false; // runs a command by name; false when it isn't available now

export function wireKeyboard(runCommand) {
  run = runCommand;
  document.addEventListener("keydown", onKey);
}

const isTextField = (target) => target.matches?.("textarea, select, [contenteditable], input:not([type=checkbox])");

function onKey(event) {
  if (event.isComposing || event.defaultPrevented || document.querySelector("dialog[open]")) return;
  if (event.target === $("find")) return handleSearchKey(event);
  if (event.target === $("comment")) return handleCommentKey(event);
  if (isTextField(event.target)) return;
  const handled = event.ctrlKey || event.metaKey ? handleControlKey(event) : handlePlainKey(event);
  if (handled) event.preventDefault();
}

function handleControlKey(event) {
  const letter = event.key.toLowerCase();
  if (letter === "y" || (letter === "z" && event.shiftKey)) return run("redo");
  return letter === "z" && run("undo");
}

function handlePlainKey(event) {
  if (event.key === "Enter") return handleEnter(event);
  if (event.key === "ArrowDown" || event.key === "ArrowUp") return moveFocus(event.key === "ArrowDown" ? 1 : -1);
  const command = commandOf(event);
  if (!command) return false;
  return event.repeat && !REPEATABLE.includes(command) ? true : run(command);
}

// On a button or a link, Enter activates it. A held Enter submits only once.
function handleEnter(event) {
  if (event.repeat || event.target.matches("button, a, summary")) return event.repeat;
  return run("submit");
}

function handleCommentKey(event) {
  if (event.key !== "Enter" && event.key !== "Escape") return;
  event.preventDefault();
  saveComment();
  $("sentence").focus({ preventScroll: true });
}

function moveFocus(step) {
  const index = relations.indexOf(document.activeElement);
  const first = step > 0 ? 0 : relations.length - 1;
  relations[index < 0 ? first : (index + step + relations.length) % relations.length]?.focus();
  return true;
}
