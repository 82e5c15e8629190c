// Keys for deciding a dispute. The form works without them: choices are radio buttons, and it has a submit button.

const $ = (id) => document.getElementById(id);
const form = $("decide");
const others = $("others");
const byKey = new Map([...form.querySelectorAll("[data-key]")].map((input) => [input.dataset.key, input]));
const isTextField = (node) => node.matches?.("textarea, select, input:not([type=checkbox], [type=radio])");

function choose(key) {
  const input = byKey.get(key);
  if (!input) return false;
  input.checked = true;
  input.focus();
  input.dispatchEvent(new Event("change", { bubbles: true }));
  if (input.value === "other") $("find").focus();
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
  if (event.isComposing || event.altKey || event.repeat) return;
  if (event.ctrlKey || event.metaKey) return handleControlKey(event);
  if (event.target === $("find")) return handleSearchKey(event);
  if (event.key === "Escape" && isTextField(event.target)) return event.target.blur();
  if (isTextField(event.target)) return;
  const letter = letterOf(event);
  const digit = digitOf(event);
  if (event.key === "Enter" && !event.target.matches("a, button, summary")) form.requestSubmit($("submit"));
  else if (!choose(digit && !event.shiftKey ? digit : letter.toUpperCase())) {
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
form.addEventListener("change", showOthers);
$("find")?.addEventListener("input", search);
document.addEventListener("keydown", onKey);
showOthers();
