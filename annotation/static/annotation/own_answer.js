// An answer of the adjudicator's own, marked with the span editor. Without scripts it is typed as JSON.

import { createEditor } from "./spans/editor.js";
import { createLists, wireUnits } from "./spans/lists.js";

const $ = (id) => document.getElementById(id);
const root = $("own");
const field = $("find");

// True if the key was meant for the text: the keys of the form rest meanwhile.
export let handlesKey = () => false;

function wire() {
  const { item, at, ...setup } = JSON.parse(root.dataset.setup);
  const editor = createEditor(root, {
    ...setup,
    onChange({ spans, relations }) {
      done.push(field.value);
      undone.length = 0;
      put({ spans, relations });
    },
    announce(text) {
      $("own-note").textContent = text;
      showUnits();
      for (const { dataset, classList } of document.querySelectorAll("[data-relate]"))
        classList.toggle("rel--off", !editor.fits(setup.relations.find((entry) => entry.name === dataset.relate)));
    },
  });
  const [done, undone] = [[], []];
  function put({ spans, relations }) {
    field.value = JSON.stringify({ spans, relations });
    lists.show(spans, relations);
  }
  function step(from, to) {
    if (!from.length) return;
    to.push(field.value);
    const answer = JSON.parse(from.pop());
    editor.show(answer);
    put(answer);
  }
  const act = (change) => {
    change();
    root.focus({ preventScroll: true });
  };
  const titleIn = (entries) => (name) => entries.find((entry) => entry.name === name)?.title ?? name;
  const [markTitle, relateTitle] = [setup.labels, setup.relations].map(titleIn);
  const lists = createLists({ editor, markTitle, relateTitle, act, spanList: $("own-spans"), linkList: $("own-links") });
  const showUnits = wireUnits(editor, act);
  editor.begin(item, at);
  showUnits();
  try {
    const typed = JSON.parse(field.value);
    editor.show(typed);
    lists.show(typed.spans, typed.relations);
  } catch {
    return; // what was typed is no answer: it is mended where it stands
  }
  for (const button of document.querySelectorAll("[data-mark]"))
    button.addEventListener("click", () => act(() => editor.mark(button.dataset.mark)));
  for (const button of document.querySelectorAll("[data-relate]"))
    button.addEventListener("click", () => act(() => editor.startLink(button.dataset.relate)));
  $("own-remove").addEventListener("click", () => act(() => editor.remove()));
  $("own-editor").hidden = false;
  $("own-field").hidden = true;
  handlesKey = (event) => {
    if (document.activeElement !== root) return false;
    editor.onKey(event);
    if (event.key.toLowerCase() === "z" && !event.defaultPrevented)
      step(...(event.shiftKey ? [undone, done] : [done, undone]));
    if (event.key === "Escape" && editor.selected < 0) root.blur();
    return event.defaultPrevented || event.key !== "Enter";
  };
}

if (root) wire();
