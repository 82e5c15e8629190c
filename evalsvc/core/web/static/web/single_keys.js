// Single-key shortcuts of a page. Its reader can switch them off; the choice is saved on this device.

const STORE = "evalsvc-single-keys";
const box = document.getElementById("single-keys");

function isOn() {
  try {
    return localStorage.getItem(STORE) !== "off";
  } catch {
    return box?.checked ?? true;
  }
}

function save() {
  try {
    localStorage.setItem(STORE, box.checked ? "on" : "off");
  } catch {
    return; // storage is switched off: the choice lasts as long as the page
  }
}

const isTyping = (target) => target.matches?.("input:not([type=checkbox]), select, textarea");

function nameOf(event) {
  if (event.key.length > 1) return event.key;
  const key = event.key.toLowerCase();
  return event.shiftKey && /[a-z]/.test(key) ? `⇧${key}` : key;
}

// Commands by key, letters in lower case, with ⇧ before them if Shift is pressed. A command that returns false
// leaves the key to the browser.
export function listen(commands) {
  if (box) {
    box.checked = isOn();
    box.closest("label").hidden = false;
    box.addEventListener("change", save);
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && isTyping(event.target)) event.target.blur();
    if (isTyping(event.target) || (event.key.length === 1 && !isOn())) return;
    if (event.key === " " && event.target.matches?.("input, button, summary")) return; // these have it themselves
    const command = commands[nameOf(event)];
    if (command && command() !== false) event.preventDefault();
  });
}
