// What stands around the text: tables of the spans and relations of an answer, with buttons that choose, turn and
// remove; the sentence on show; the label of the next mark; and the switch between words and characters.

import { keysOf } from "./document.js";

function element(tag, text = "", className = "") {
  return Object.assign(document.createElement(tag), { textContent: text, className });
}

function cell(...nodes) {
  const node = element("td");
  node.append(...nodes);
  return node;
}

// Rows of what stayed are kept, with the focus that one of them may have.
function showRows(list, values, rowOf) {
  const former = new Map([...list.children].map((row) => [row.dataset.value, row]));
  const rows = values.map((value) => {
    const key = JSON.stringify(value);
    const row = former.get(key) ?? rowOf(value);
    former.delete(key);
    row.dataset.value = key;
    return row;
  });
  for (const row of former.values()) row.remove();
  rows.forEach((row, at) => list.children[at] === row || list.insertBefore(row, list.children[at] ?? null));
}

// `editor` marks the text; `act` runs a change and returns the focus to it; either list may be missing.
// Predicted relations can be accepted there.
export function createLists({ editor, spanList, linkList, markTitle, relateTitle, act }) {
  const numberOf = (row) => [...row.parentElement.children].indexOf(row);

  // A button acts on the row it stands in, whatever its number is by then.
  function small(row, text, name, action) {
    const node = Object.assign(element("button", text, "btn btn--bare"), { type: "button" });
    node.setAttribute("aria-label", name);
    node.addEventListener("click", () => act(() => action(numberOf(row))));
    return node;
  }

  function spanRow(span) {
    const row = element("tr");
    const words = editor.words(span);
    const name = markTitle(span[2]);
    row.append(
      cell(small(row, words, `Choose ${words}, ${name}`, editor.choose)),
      element("td", name),
      element("td", `${span[0]}, ${span[1]}`, "fig"),
    );
    row.firstChild.className = "clip";
    return row;
  }

  function linkRow([head, name, tail, isGuess]) {
    const row = element("tr");
    const text = `${editor.words(head)} – ${relateTitle(name)} – ${editor.words(tail)}`;
    const buttons = [small(row, "⇄", `Turn ${text}`, editor.turn), small(row, "×", `Remove ${text}`, editor.unrelate)];
    if (isGuess) buttons.unshift(small(row, "✓", `Accept the prediction ${text}`, editor.acceptLink));
    row.append(element("td", text, isGuess ? "predicted" : ""), cell(...buttons));
    return row;
  }

  return {
    show(spans, relations) {
      if (spanList) showRows(spanList, spans, spanRow);
      const keys = keysOf({ spans, relations }).slice(spans.length);
      const isGuess = (at) => editor.guesses.includes(keys[at]);
      const links = relations.map(([head, name, tail], at) => [spans[head], name, spans[tail], isGuess(at)]);
      if (linkList) showRows(linkList, links, linkRow);
    },
  };
}

// Wires the buttons above the text; the returned function shows their state, and gives the place in the text.
export function wireUnits(editor, act) {
  const $ = (id) => document.getElementById(id);
  const changes = {
    characters: editor.toggleCharacters, "sentence-back": () => editor.page(-1), "sentence-on": () => editor.page(1),
  };
  for (const [id, change] of Object.entries(changes)) $(id).addEventListener("click", () => act(change));
  return () => {
    const place = editor.paging ?? { at: 1, of: 1, isRead: true };
    $("characters").setAttribute("aria-pressed", editor.byCharacter);
    $("sticky").hidden = !editor.sticky;
    $("sticky-label").textContent = editor.stickyTitle;
    $("pager").hidden = place.of === 1;
    $("sentence-at").textContent = `Sentence ${place.at} of ${place.of}`;
    $("sentence-back").disabled = place.at === 1;
    $("sentence-on").disabled = place.at === place.of;
    return place;
  };
}
