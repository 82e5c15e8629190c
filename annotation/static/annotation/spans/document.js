// An answer of spans [start, end, label] and relations [head number, name, tail number], in the order of the text.
// `guesses` are the keys of predicted spans and relations, until they are accepted, refused or changed.
// Each change returns a new answer, or throws the reason why it is refused.

export const EMPTY = { spans: [], relations: [] };

export class Refused extends Error {
  constructor(message, other = null) {
    super(message);
    this.other = other; // the span that is in the way
  }
}

const overlap = (a, b) => a[0] < b[1] && b[0] < a[1];
const same = (a, b) => a.every((part, at) => part === b[at]);
export const numberOf = (answer, span) => answer.spans.findIndex((other) => same(other, span));

const linkKey = (head, name, tail) => JSON.stringify([head, name, tail]);

// Keys of all spans, then of all relations.
export const keysOf = ({ spans, relations }) => [
  ...spans.map((span) => span.join()),
  ...relations.map(([head, name, tail]) => linkKey(spans[head], name, spans[tail])),
];

// A relation is accepted with its spans.
export function withEnds(key) {
  if (!key.startsWith("[")) return [key];
  const [head, , tail] = JSON.parse(key);
  return [key, head.join(), tail.join()];
}

// A predicted relation stays one when its span is resized or relabelled.
function renamed(key, before, after) {
  if (!key.startsWith("[")) return key;
  const [head, name, tail] = JSON.parse(key);
  const now = (end) => (same(end, before) ? after : end);
  return linkKey(now(head), name, now(tail));
}

// The spans in order, the longer first, and the relations with the new numbers.
export function ordered(spans, relations) {
  const sorted = [...spans].sort((a, b) => a[0] - b[0] || b[1] - a[1] || (a[2] < b[2] ? -1 : 1));
  const links = relations.map(([head, name, tail]) => [sorted.indexOf(spans[head]), name, sorted.indexOf(spans[tail])]);
  const unique = new Map(links.map((link) => [JSON.stringify(link), link]));
  return { spans: sorted, relations: [...unique.values()] };
}

function requireFree(spans, span, mayOverlap) {
  if (spans.some((other) => same(other, span))) throw new Refused("This span is marked with this label already.");
  const other = spans.find((candidate) => overlap(candidate, span));
  if (other && !mayOverlap) throw new Refused("Spans of this project may not overlap.", other);
}

export function add(answer, span, mayOverlap) {
  const { spans, relations } = answer;
  const place = spans.findIndex((other) => other[0] === span[0] && other[1] === span[1]);
  if (place >= 0 && !mayOverlap) return replace(answer, place, span, mayOverlap);
  requireFree(spans, span, mayOverlap);
  return ordered([...spans, span], relations);
}

export function addAll({ spans, relations }, more, mayOverlap) {
  const all = [...spans];
  for (const span of more) {
    requireFree(all, span, mayOverlap);
    all.push(span);
  }
  return ordered(all, relations);
}

// Resized or relabelled; relations follow.
export function replace({ spans, relations, guesses = [] }, number, span, mayOverlap) {
  const before = spans[number];
  if (same(before, span)) return { spans, relations, guesses };
  requireFree(spans.filter((_, at) => at !== number), span, mayOverlap);
  return {
    ...ordered(spans.map((other, at) => (at === number ? span : other)), relations),
    guesses: guesses.map((key) => renamed(key, before, span)),
  };
}

// Relations from or to the span go with it.
export function remove({ spans, relations }, number) {
  const renumbered = (at) => (at > number ? at - 1 : at);
  return {
    spans: spans.filter((_, at) => at !== number),
    relations: relations
      .filter(([head, , tail]) => head !== number && tail !== number)
      .map(([head, name, tail]) => [renumbered(head), name, renumbered(tail)]),
  };
}

// Without a span, and the relations from or to it, or without a relation.
export function without(answer, key) {
  const at = keysOf(answer).indexOf(key);
  if (at < 0) return answer;
  return at < answer.spans.length ? remove(answer, at) : unrelate(answer, at - answer.spans.length);
}

// Overlapping spans of an answer that was not made here, such as a prediction.
export function overlapIn(spans) {
  const at = spans.findIndex((span, n) => n && overlap(spans[n - 1], span));
  return at < 0 ? null : [spans[at - 1], spans[at]];
}

export function relate({ spans, relations }, link) {
  if (link[0] === link[2]) throw new Refused("A relation joins two spans. Choose another span as its tail.");
  return ordered(spans, [...relations, link]);
}

export const unrelate = ({ spans, relations }, number) => ({
  spans,
  relations: relations.filter((_, at) => at !== number),
});

export const turn = ({ spans, relations }, number) =>
  ordered(spans, relations.map(([head, name, tail], at) => (at === number ? [tail, name, head] : [head, name, tail])));

// Lane of each span: the shortest at the words, those around it further down.
export function lanesOf(spans) {
  const lanes = Array.from(spans, () => 0);
  const rows = [];
  const byLength = spans.map((_, at) => at).sort((a, b) => spans[a][1] - spans[a][0] - (spans[b][1] - spans[b][0]));
  for (const at of byLength) {
    let lane = rows.findIndex((row) => row.every((other) => !overlap(spans[other], spans[at])));
    if (lane < 0) lane = rows.push([]) - 1;
    rows[lane].push(at);
    lanes[at] = lane;
  }
  return lanes;
}
