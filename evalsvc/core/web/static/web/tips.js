// Shows the <title> of a chart's mark as a tip, on hover and on focus; and copies what has `data-copy`.
const tip = document.createElement("div");
tip.className = "tip";
tip.hidden = true;
tip.setAttribute("aria-hidden", "true"); // the mark's own title says it already

function marked(target) {
  for (let node = target; node instanceof SVGElement; node = node.parentElement) {
    const title = node.querySelector(":scope > title");
    if (title) return { node, title };
  }
  return null;
}

function show(found) {
  if (!tip.isConnected) document.body.append(tip);
  tip.textContent = found.title.dataset.text ?? found.title.textContent;
  tip.hidden = false;
  const box = found.node.getBoundingClientRect();
  const half = tip.offsetWidth / 2;
  const middle = Math.min(Math.max(box.left + box.width / 2, half + 8), innerWidth - half - 8);
  const above = box.top - tip.offsetHeight - 6;
  tip.style.left = `${middle - half + scrollX}px`;
  tip.style.top = `${(above > 4 ? above : box.bottom + 6) + scrollY}px`;
}

// The browser's own tooltip would come on top of ours: while ours is shown, the title is empty.
let shown = null;
function hide() {
  tip.hidden = true;
  if (shown) shown.title.textContent = shown.title.dataset.text;
  shown = null;
}

function over(event) {
  const found = event.target instanceof Element ? marked(event.target) : null;
  if (shown && found?.node === shown.node) return;
  hide();
  if (!found || found.node.matches("svg")) return;
  found.title.dataset.text = found.title.textContent;
  shown = found;
  show(found);
  found.title.textContent = "";
}

document.addEventListener("pointerover", over);
document.addEventListener("focusin", over);
document.addEventListener("focusout", hide);
document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
document.addEventListener("scroll", hide, { capture: true, passive: true });

// Without TLS browsers have no `navigator.clipboard`.
function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = Object.assign(document.createElement("textarea"), { value: text, className: "sr" });
  const before = document.activeElement;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
  before?.focus();
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-copy]");
  if (!button) return;
  await copy(button.dataset.copy);
  const text = (button.dataset.text ??= button.textContent); // a second click finds “Copied”
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = text), 1500);
});
