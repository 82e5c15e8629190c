// The text of an item and its offsets. Answers count code points, or tokens where the item has them; the page
// counts UTF-16 units.

const words = new Intl.Segmenter(undefined, { granularity: "word" });
const characters = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const sentences = new Intl.Segmenter(undefined, { granularity: "sentence" });
// Ends in a title or an initial.
const unended = /(?:^|[^\p{L}\p{N}])(?:\p{Lu}|Mr|Mrs|Ms|Dr|Prof|St|Mt|Capt|Col|Gen|Gov|Hon|Lt|Rep|Rev|Sen|Sgt) ?\.\s*$/u;

// The text with a place for each offset of an answer: `from` and `to` are its UTF-16 ends.
export function textOf(item) {
  const text = item.tokens ? item.tokens.join(" ") : item.text;
  const places = [];
  let at = 0;
  for (const piece of item.tokens ?? text) {
    places.push({ from: at, to: at + piece.length });
    at += piece.length + (item.tokens ? 1 : 0);
  }
  const offsets = new Map(places.map(({ from }, offset) => [from, offset]));
  const whole = places.map((_, offset) => [offset, offset + 1]);
  return {
    text,
    places,
    words: item.tokens ? whole : unitsOf(words, text, offsets, places),
    characters: item.tokens ? whole : unitsOf(characters, text, offsets, places),
    sentences: sentencesOf(text),
  };
}

// In UTF-16 units; a name stays with its title or initial.
function sentencesOf(text) {
  const cuts = [];
  let isOpen = false;
  for (const { index, segment } of sentences.segment(text)) {
    if (!segment.trim()) continue;
    const end = index + segment.trimEnd().length;
    if (isOpen) cuts.at(-1)[1] = end;
    else cuts.push([index, end]);
    isOpen = unended.test(segment) && !segment.includes("\n");
  }
  return cuts;
}

// Segments with anything but white space, as [start, end] in offsets of an answer.
function unitsOf(segmenter, text, offsets, places) {
  return [...segmenter.segment(text)]
    .filter(({ segment }) => segment.trim())
    .map(({ index, segment }) => [offsets.get(index), offsets.get(index + segment.length) ?? places.length]);
}

export const wordsOf = ({ text, places }, [start, end]) => text.slice(places[start].from, places[end - 1].to);

const MOST = 60; // characters of a span that messages and lists quote
export const runsLeft = (part) => /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(part);

// Words as a message quotes them: shortened, and isolated where they run from right to left.
export function quotable(part) {
  const points = [...part];
  const short = points.length > MOST ? `${points.slice(0, MOST - 1).join("")}…` : part;
  return runsLeft(short) ? `\u2068${short}\u2069` : short;
}

// Index of the unit at an offset; between two units the one before.
export function unitAt(units, offset) {
  const after = units.findIndex(([start]) => start > offset);
  return Math.max((after < 0 ? units.length : after) - 1, 0);
}

// Offset of the place that holds a UTF-16 index.
export function offsetAt({ places }, index) {
  const after = places.findIndex(({ from }) => from > index);
  return Math.max((after < 0 ? places.length : after) - 1, 0);
}

// Other places of the same words, whole words only.
export function samePlaces(text, units, span) {
  const wanted = wordsOf(text, span);
  const starts = new Set(units.map(([start]) => start));
  const ends = new Set(units.map(([, end]) => end));
  const length = span[1] - span[0];
  return [...starts]
    .map((start) => [start, start + length])
    .filter(([start, end]) => start !== span[0] && ends.has(end) && wordsOf(text, [start, end]) === wanted);
}
