// The sentence with its head and tail. Offsets count code points, not JavaScript's UTF-16 units.

import { api, byName, clip, element, marksSpans, plural, relateTitle, titleOf } from "./page.js";
import { quotable } from "../spans/text.js";

// The text cut at the ends of the marks; spreading a string gives code points.
function pieces(text, marks) {
  const points = [...text];
  const cuts = new Set([0, points.length]);
  for (const mark of marks) cuts.add(mark.start).add(mark.end);
  const sorted = [...cuts].filter((cut) => cut <= points.length).sort((a, b) => a - b);
  return sorted.slice(0, -1).map((start, i) => ({
    text: points.slice(start, sorted[i + 1]).join(""),
    marks: marks.filter((mark) => mark.start <= start && sorted[i + 1] <= mark.end),
    end: sorted[i + 1],
  }));
}

// Brackets as corpora write them, and underscores within a name, are shown readable; offsets are those of the raw text.
const BRACKETS = { lrb: "(", rrb: ")", lsb: "[", rsb: "]", lcb: "{", rcb: "}" };
const withBrackets = (text) => text.replace(/-([lr][rsc]b)-/gi, (_, name) => BRACKETS[name.toLowerCase()]);
const JOINED = /(?<=[\p{L}\p{N}.,])_+(?=[\p{L}\p{N}])/gu;
const readable = (name) => withBrackets(name).replace(JOINED, (run) => " ".repeat(run.length));

export function sentenceOf(item) {
  const marks = ["head", "tail"].filter((role) => item[role]).map((role) => ({ role, ...item[role] }));
  return pieces(item.text, marks).map((piece) => {
    let node = document.createTextNode(piece.marks.length ? readable(piece.text) : withBrackets(piece.text));
    for (const mark of piece.marks) {
      const box = element("mark", "", `ent ent--${mark.role}`);
      box.append(node);
      const role = mark.type ? `${mark.role}, ${mark.type}` : mark.role;
      if (piece.end === mark.end) box.append(element("span", ", ", "sr"), element("span", role, "role"));
      node = box;
    }
    return node;
  });
}

function nameOf(item, role) {
  const mark = item[role];
  return mark ? readable([...item.text].slice(mark.start, mark.end).join("") || mark.name) : role;
}

// Each name is isolated: in a right-to-left script the arrow would point the wrong way.
export const pairOf = (item) => (marksSpans ? clip(item.text) : pairIn(item));
const pairIn = (item) => ["head", "tail"].map((role) => `\u2068${nameOf(item, role)}\u2069`).join(" → ");

export function readback({ item, spans, chosen, guesses = [], na }) {
  if (marksSpans) return [spansReadback(item, spans, chosen, guesses, na)];
  const [head, tail] = ["head", "tail"].map((role) => nameOf(item, role));
  if (na) return ["Your answer: ", element("u", api.na), "."];
  if (!chosen.length) return ["Nothing chosen yet."];
  return chosen.flatMap((name, i) => [
    i ? "; " : "Your answer: ",
    element("b", head), " ",
    element("u", byName.get(name)?.dataset.phrase || titleOf(name)), " ",
    element("b", tail),
    i === chosen.length - 1 ? "." : "",
  ]);
}

function spansReadback(item, spans, chosen, guesses, na) {
  if (na) return "Your answer: nothing to mark here.";
  if (!spans.length) return "Nothing marked yet.";
  const units = item.tokens ?? [...item.text];
  const words = ([start, end]) => quotable(units.slice(start, end).join(item.tokens ? " " : ""));
  const phrase = (name) => document.querySelector(`[data-relate="${CSS.escape(name)}"]`)?.dataset.phrase || relateTitle(name);
  const links = chosen.map(([head, name, tail]) => `${words(spans[head])} ${phrase(name)} ${words(spans[tail])}`);
  const left = guesses.length ? ` Not accepted yet: ${plural(guesses.length, "prediction")}.` : "";
  return `Your answer: ${[plural(spans.length, "span"), ...links].join("; ")}.${left}`;
}
