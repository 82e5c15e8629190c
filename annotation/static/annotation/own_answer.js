// An answer of the adjudicator's own, marked with the span editor. Without scripts it is typed as JSON.

import { createEditor } from "./spans/editor.js";

const $ = (id) => document.getElementById(id);
const root = $("own");
const field = $("find");

// True if the key was meant for the text: the keys of the form rest meanwhile.
export let handlesKey = () => false;

function wire() {
  const { item, ...setup } = JSON.parse(root.dataset.setup);
  const editor = createEditor(root, {
    ...setup,
    onChange: ({ spans, relations }) => (field.value = JSON.stringify({ spans, relations })),
    announce: (text) => ($("own-note").textContent = text),
  });
  editor.begin(item);
  try {
    editor.show(JSON.parse(field.value));
  } catch {
    return; // what was typed is no answer: it is mended where it stands
  }
  const then = (act) => () => {
    act();
    root.focus({ preventScroll: true });
  };
  for (const button of document.querySelectorAll("[data-mark]"))
    button.addEventListener("click", then(() => editor.mark(button.dataset.mark)));
  for (const button of document.querySelectorAll("[data-relate]"))
    button.addEventListener("click", then(() => editor.startLink(button.dataset.relate)));
  $("own-remove").addEventListener("click", then(() => editor.remove()));
  $("own-editor").hidden = false;
  $("own-field").hidden = true;
  handlesKey = (event) => {
    if (document.activeElement !== root) return false;
    editor.onKey(event);
    if (event.key === "Escape" && editor.selected < 0) root.blur();
    return event.defaultPrevented || event.key !== "Enter";
  };
}

if (root) wire();
