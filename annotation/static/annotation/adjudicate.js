// Keys for deciding a dispute. The form works without them: choices are radio buttons, and it has a submit button.

import { handlesKey } from "./own_answer.js";

const $ = (id) => document.getElementById(id);
const form = $("decide");
const others = $("others");
const parts = [...form.querySelectorAll(".part")];
const ofWhole = [...form.querySelectorAll("[data-key]")].filter((input) => !input.closest(".part"));
const byKey = new Map(ofWhole.map((input) => [input.dataset.key, input]));
const isTextField = (node) => node.matches?.("textarea, select, input:not([type=checkbox], [type=radio])");

const isOpen = (part) => !part.querySelector("input:checked");
const currentPart = () => document.activeElement.closest(".part") ?? parts.find(isOpen) ?? parts.at(-1);

// Answer the current part of a text, and go on to the next open one.
function choosePart(key) {
  const part = currentPart();
  const input = [...(part?.querySelectorAll("[data-key]") ?? [])].find((each) => each.dataset.key === key);
  if (!input) return false;
  input.checked = true;
  input.dispatchEvent(new Event("change", { bubbles: true }));
  (parts.slice(parts.indexOf(part)).find(isOpen) ?? parts.find(isOpen) ?? input).focus();
  return true;
}

function stepPart(by) {
  parts[Math.min(Math.max(parts.indexOf(currentPart()) + by, 0), parts.length - 1)]?.focus();
}

// Parts are required while they decide; a relation is offered once all its spans are chosen.
function showParts(changed) {
  const byPart = $("by-part");
  if (!byPart) return;
  if (changed?.closest(".part, #loose")) byPart.checked = true;
  const inputs = parts.flatMap((part) => [...part.querySelectorAll("input")]);
  for (const input of inputs) input.required = byPart.checked;
  const chosen = new Set(
    inputs.filter((input) => input.checked).flatMap((input) => JSON.parse(input.value).map((each) => JSON.stringify(each))),
  );
  for (const input of form.querySelectorAll("[data-ends]"))
    input.disabled = !JSON.parse(input.dataset.ends).every((end) => chosen.has(JSON.stringify(end)));
}

function choose(key) {
  if (choosePart(key)) return true;
  const input = byKey.get(key);
  if (!input) return false;
  input.checked = true;
  input.focus();
  input.dispatchEvent(new Event("change", { bubbles: true }));
  if (input.dataset.key === "/") ($("own-editor")?.hidden === false ? $("own") : $("find")).focus({ preventScroll: true });
  return true;
}

function showOthers() {
  if (others) others.hidden = byKey.get("/")?.checked !== true;
}

// Hide relations that don't match the search; Enter ticks the first that does.
function search() {
  const query = $("find").value.trim().toLowerCase();
  for (const row of others.querySelectorAll(".rel")) row.hidden = !row.textContent.toLowerCase().includes(query);
}

function handleSearchKey(event) {
  if (event.key === "Enter") {
    const first = $("find").value.trim() && others.querySelector(".rel:not([hidden]) input");
    if (first) first.checked = !first.checked;
    $("find").value = "";
    search();
  }
  if (event.key === "Enter" || event.key === "Escape") {
    event.preventDefault();
    (others.querySelector("input:checked") ?? byKey.get("/")).focus();
  }
}

const commands = {
  a: () => $("ask")?.click(),
  j: () => stepPart(1),
  k: () => stepPart(-1),
  s: () => location.assign(form.dataset.later),
  w: () => $("why").focus(),
  z: () => $("undo")?.click(),
};

const digitOf = (event) => /^(?:Digit|Numpad)(\d)$/.exec(event.code)?.[1];

function letterOf(event) {
  const key = event.key.toLowerCase();
  return /^[a-z/]$/.test(key) ? key : (/^Key([A-Z])$/.exec(event.code)?.[1].toLowerCase() ?? key);
}

function handleControlKey(event) {
  if (letterOf(event) !== "z" || event.shiftKey || isTextField(event.target) || !$("undo")) return;
  event.preventDefault();
  commands.z();
}

function onKey(event) {
  if (event.isComposing || event.altKey || handlesKey(event) || event.repeat) return;
  if (event.ctrlKey || event.metaKey) return handleControlKey(event);
  if (event.target === $("find") && event.target.type === "search") return handleSearchKey(event);
  if (event.key === "Escape" && isTextField(event.target)) return event.target.blur();
  if (isTextField(event.target)) return;
  const letter = letterOf(event);
  const digit = digitOf(event);
  if (event.key === "Enter" && !event.target.matches("a, button, summary")) form.requestSubmit($("submit"));
  else if (!choose(digit ? (event.shiftKey ? "⇧" : "") + digit : letter.toUpperCase())) {
    if (!(letter in commands)) return;
    commands[letter]();
  }
  event.preventDefault();
}

let submitted = false;
form.addEventListener("submit", (event) => {
  if (submitted) event.preventDefault(); // one decision, however often Enter is pressed
  submitted = true;
});
addEventListener("pageshow", () => (submitted = false));
form.addEventListener("change", (event) => {
  showOthers();
  if (event.target === byKey.get("/")) others.scrollIntoView({ block: $("own") ? "start" : "nearest" });
  showParts(event.target);
});
if ($("find")?.type === "search") $("find").addEventListener("input", search);
document.addEventListener("keydown", onKey);
showOthers();
showParts();
