// Keys for deciding a dispute. The form works without them: choices are radio buttons, deciding is its submit.

const $ = (id) => document.getElementById(id);
const form = $("decide");
const others = $("others");
const byKey = new Map([...form.querySelectorAll("[data-key]")].map((input) => [input.dataset.key, input]));
const typing = (node) => node.matches?.("textarea, select, input:not([type=checkbox], [type=radio])");

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

// By name: what does not match is put away, Enter ticks the first that is left.
function find() {
  const wanted = $("find").value.trim().toLowerCase();
  for (const row of others.querySelectorAll(".rel")) row.hidden = !row.textContent.toLowerCase().includes(wanted);
}

function keyInFind(event) {
  if (event.key === "Enter") {
    const first = $("find").value.trim() && others.querySelector(".rel:not([hidden]) input");
    if (first) first.checked = !first.checked;
    $("find").value = "";
    find();
  }
  if (event.key === "Enter" || event.key === "Escape") {
    event.preventDefault();
    (others.querySelector("input:checked") ?? byKey.get("/")).focus();
  }
}

const acts = {
  a: () => $("ask")?.click(),
  s: () => location.assign(form.dataset.later),
  w: () => $("why").focus(),
  z: () => $("undo")?.click(),
};

function digitOf(event) {
  return /^(?:Digit|Numpad)(\d)$/.exec(event.code)?.[1];
}

function letterOf(event) {
  const key = event.key.toLowerCase();
  return /^[a-z/]$/.test(key) ? key : (/^Key([A-Z])$/.exec(event.code)?.[1].toLowerCase() ?? key);
}

function undoByChord(event) {
  if (letterOf(event) !== "z" || event.shiftKey || typing(event.target) || !$("undo")) return;
  event.preventDefault();
  acts.z();
}

function onKey(event) {
  if (event.isComposing || event.altKey || event.repeat) return;
  if (event.ctrlKey || event.metaKey) return undoByChord(event);
  if (event.target === $("find")) return keyInFind(event);
  if (event.key === "Escape" && typing(event.target)) return event.target.blur();
  if (typing(event.target)) return;
  const letter = letterOf(event);
  const digit = digitOf(event);
  if (event.key === "Enter" && !event.target.matches("a, button, summary")) form.requestSubmit($("submit"));
  else if (digit && !event.shiftKey ? !choose(digit) : !choose(letter.toUpperCase())) {
    if (!(letter in acts)) return;
    acts[letter]();
  }
  event.preventDefault();
}

let sent = false;
form.addEventListener("submit", (event) => {
  if (sent) event.preventDefault(); // one decision, however often Enter is pressed
  sent = true;
});
addEventListener("pageshow", () => (sent = false));
form.addEventListener("change", showOthers);
$("find")?.addEventListener("input", find);
document.addEventListener("keydown", onKey);
showOthers();
