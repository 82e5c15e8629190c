// The span editor: a text whose spans, and relations between them, are marked by keyboard, mouse or touch. It
// knows nothing of projects, leases or storage: `show` puts an answer on it, `onChange` gets each new one.

import * as model from "./document.js";
import { createDrawing } from "./drawing.js";
import { wirePointer } from "./pointer.js";
import { offsetAt, quotable, samePlaces, textOf, unitAt, wordsOf } from "./text.js";

const digitOf = (event) => /^(?:Digit|Numpad)(\d)$/.exec(event.code)?.[1];
const isTouchScreen = matchMedia("(hover: none) and (pointer: coarse)").matches;
const isField = (target) => target.matches?.("textarea, select, input, button, a, summary");

// Letters by their character, in other scripts by their place on the keyboard.
function chordOf(event) {
  const shift = event.shiftKey ? "⇧" : "";
  const digit = digitOf(event);
  if (digit !== undefined && !event.getModifierState("AltGraph")) return shift + (event.altKey ? "⌥" : "") + digit;
  if (event.key === " ") return " ";
  const isSign = event.key.length === 1 && /[!-/:-@[-`{-~]/.test(event.key);
  const letter = /^[a-z]$/i.test(event.key) ? event.key : (/^Key([A-Z])$/.exec(event.code)?.[1] ?? "");
  if (letter && !isSign) return shift + letter.toLowerCase();
  return event.key.length === 1 ? event.key : shift + event.key;
}

// labels: [{name, title, key}]; relations: the same with {phrase, head, tail}, the expected labels.
export function createEditor(root, { labels, relations = [], mayOverlap = false, bySentence = false, onChange, announce: tell }) {
  const drawing = createDrawing(root);
  const label = new Map(labels.map((entry, at) => [entry.name, { ...entry, at }]));
  const relation = new Map(relations.map((entry) => [entry.name, entry]));
  const titleOf = (name) => label.get(name)?.title ?? name;
  const relationTitle = (name) => relation.get(name)?.title ?? name;
  const phraseOf = (name) => relation.get(name)?.phrase || relationTitle(name);
  let text = null;
  let answer = model.EMPTY;
  let lanes = [];
  let guesses = []; // keys of predicted spans and relations that nobody has accepted, refused or changed
  let sentence = 0; // number of the sentence on show, where they are shown one at a time
  let turned = ""; // said with the next message: that another sentence is shown
  let seen = new Set(); // numbers of those that were shown
  let resting = null; // offset of the caret while nothing is selected; null before it was anywhere
  let clicked = -1; // unit of the last click
  let byCharacter = false;
  let range = null; // selected units as [anchor, focus], of words or characters
  let selected = -1; // number of the chosen span
  let sticky = null; // label of the last mark
  let preview = []; // other places of the same words, until they are taken
  let link = null; // relation being made: {head, name, tail}; the tail is the one that Enter would take

  const units = () => (byCharacter ? text.characters : text.words);
  const selection = () => {
    if (!range) return null;
    const [first, last] = [Math.min(...range), Math.max(...range)];
    return [units()[first][0], units()[last][1]];
  };
  function announce(message, refused) {
    tell(turned + message, refused);
    turned = "";
  }

  // True, as a key that only says something is handled too.
  const say = (message, refused) => {
    announce(message, refused);
    return true;
  };
  const quoted = (span) => `“${quotable(wordsOf(text, span))}”`;

  // ---- what is shown -------------------------------------------------------------------------------

  function draw() {
    if (!text) return;
    drawing.show({
      answer, lanes, selected, dashed: guesses, titleOf, relationTitle,
      preview: link ? answer.spans.filter((span, at) => at !== link.head && mayBeTail(span)) : preview,
      range: link ? (answer.spans[link.tail] ?? null) : selected < 0 ? selection() : null,
      colourOf: (name) => label.get(name)?.at ?? 0,
    });
  }

  function take(next, chosen, message) {
    const predicted = new Set(next.guesses ?? guesses);
    guesses = model.keysOf(next).filter((key) => predicted.has(key));
    answer = { ...next, guesses };
    lanes = model.lanesOf(answer.spans);
    selected = chosen ? model.numberOf(answer, chosen) : -1;
    [preview, link] = [[], null];
    if (selected >= 0) follow(answer.spans[selected][0]);
    draw();
    if (message) announce(message);
  }

  // What undo, redo or N/A changed, in words.
  function difference(next, back) {
    const gone = answer.spans.filter((span) => model.numberOf(next, span) < 0);
    const listed = (spans) =>
      spans.length > 3 ? `${spans.length} spans` : spans.map((span) => `${quoted(span)} ${titleOf(span[2])}`).join(", ");
    const [before, after] = [answer, next].map(({ relations: links, guesses: open = [] }) => [links.length, open.length]);
    return [
      back.length ? `Marked: ${listed(back)}.` : "",
      gone.length ? `No longer marked: ${listed(gone)}.` : "",
      before[0] === after[0] ? "" : `Relations: ${after[0]}.`,
      before[1] === after[1] ? "" : `Predictions left: ${after[1]}.`,
    ].filter(Boolean).join(" ") || (after[0] ? "A relation is turned back." : "");
  }

  // A refused change leaves everything as it is, and says why.
  function change(make, chosen, message) {
    try {
      take(make(), chosen, message);
      onChange(answer);
    } catch (error) {
      if (!(error instanceof model.Refused)) throw error;
      const { message: reason, other } = error;
      announce(other ? `${reason} ${quoted(other)}, ${titleOf(other[2])}, is here: select it to change it.` : reason, true);
    }
    return true;
  }

  // ---- selecting -----------------------------------------------------------------------------------

  // ---- one sentence at a time ----------------------------------------------------------------------

  const isPaged = () => bySentence && text.sentences.length > 1;

  function showSentence(number) {
    sentence = number;
    turned = `Sentence ${number + 1} of ${text.sentences.length}. `;
    seen.add(number);
    drawing.look(...text.sentences[number]);
  }

  const sentenceAt = (offset) => Math.max(text.sentences.findLastIndex(([start]) => start <= text.places[offset].from), 0);

  function follow(offset) {
    if (!isPaged()) return;
    const number = sentenceAt(offset);
    if (number !== sentence) showSentence(number);
  }

  function page(by) {
    const next = text.sentences[sentence + by];
    return next ? moveTo(unitAt(units(), offsetAt(text, next[0]))) : false;
  }

  const firstUnseen = () => (isPaged() ? text.sentences.findIndex((_, number) => !seen.has(number)) : -1);

  // True if a sentence that was not on screen yet is shown now.
  const advance = () => firstUnseen() >= 0 && page(firstUnseen() - sentence);

  // ---- carets and spans ----------------------------------------------------------------------------

  function moveTo(unit, extending = false) {
    if (!units().length) return say("This text has no words to mark.", true);
    const focus = Math.min(Math.max(unit, 0), units().length - 1);
    range = extending && range ? [range[0], focus] : [focus, focus];
    [selected, preview, link] = [-1, [], null];
    follow(resting = units()[focus][0]);
    draw();
    announce(`${quoted(selection())} is selected.`);
    return true;
  }

  function step(by, extending) {
    if (selected >= 0) {
      const [start, end] = answer.spans[selected];
      range = [unitAt(units(), start), unitAt(units(), end - 1)];
      if (!extending) return moveTo(by > 0 ? range[1] + 1 : range[0] - 1);
    }
    if (range) return moveTo(range[1] + by, extending);
    return moveTo(resting === null ? (by > 0 ? 0 : units().length - 1) : unitAt(units(), resting));
  }

  function stepSentence(by, extending) {
    const starts = [...new Set(text.sentences.map(([index]) => unitAt(units(), offsetAt(text, index))))];
    const here = range?.[1] ?? (resting === null ? -1 : unitAt(units(), resting));
    const to = by > 0 ? starts.find((start) => start > here) : starts.findLast((start) => start < here);
    return moveTo(to ?? (by > 0 ? units().length - 1 : 0), extending);
  }

  function choose(number) {
    if (link && number !== link.head) return finishLink(number);
    selected = number;
    preview = [];
    range = null;
    const [start, , name] = answer.spans[number];
    follow(resting = start);
    draw();
    const [guess] = chosenGuesses();
    const more = guess ? ` ${guess.startsWith("[") ? described(guess) : "It"} is a prediction: Y accepts it, X rejects it.` : "";
    announce(`${quoted(answer.spans[number])}, ${titleOf(name)}, from ${start} is chosen.${more}`);
    return true;
  }

  // At the end Tab leaves the text, as elsewhere on the page.
  function walk(by) {
    if (link) return aim(by);
    const here = selection()?.[0] ?? resting ?? -1;
    const after = answer.spans.findIndex(([start]) => start >= here);
    const next = selected >= 0 ? selected + by : by > 0 ? after : answer.spans.length - 1;
    if (next < 0 || next >= answer.spans.length) return false;
    return choose(next);
  }

  // A click takes the innermost span; again at the same place the one around it, and then the words.
  function chooseAt(at, byTouch) {
    const unit = unitAt(units(), at);
    if (!units().length) return moveTo(unit);
    const [from, to] = units()[unit];
    const under = answer.spans.map((_, n) => n).filter((n) => answer.spans[n][0] <= at && at < answer.spans[n][1]);
    under.sort((a, b) => answer.spans[a][1] - answer.spans[a][0] - (answer.spans[b][1] - answer.spans[b][0]));
    const place = under.indexOf(selected);
    const next = place > 0 && unit !== clicked ? under[0] : under[place + 1];
    clicked = unit;
    if (byTouch && range && selected < 0 && (from < selection()[0] || to > selection()[1]))
      return moveTo(unit, true);
    return next === undefined ? moveTo(unit) : choose(next);
  }

  // ---- marking -------------------------------------------------------------------------------------

  function mark(name, place = selection()) {
    sticky = name;
    if (selected >= 0) return relabel(name);
    if (!place) return say(`${titleOf(name)} is the label of the next mark: select words.`);
    const span = [...place, name];
    return change(() => model.add(answer, span, mayOverlap), span, `${quoted(span)} is marked as ${titleOf(name)}.`);
  }

  function relabel(name) {
    const [start, end] = answer.spans[selected];
    const span = [start, end, name];
    if (name === answer.spans[selected][2] && guesses.includes(span.join())) return accept();
    const message = `${quoted(span)} is now ${titleOf(name)}.`;
    return change(() => model.replace(answer, selected, span, mayOverlap), span, message);
  }

  const sayNoneChosen = () => say("Choose a span first: ⇥ goes through them, a click takes one.", true);

  function nextLabel() {
    if (selected < 0) return sayNoneChosen();
    const at = label.get(answer.spans[selected][2])?.at ?? -1;
    return relabel(labels[(at + 1) % labels.length].name);
  }

  function resize(edge, by) {
    if (selected < 0) return sayNoneChosen();
    const [start, end] = answer.spans[selected];
    const at = unitAt(units(), edge === "end" ? end - 1 : start) + by;
    return units()[at] ? resizeTo(edge, units()[at][0]) : true;
  }

  function resized(edge, offset) {
    const [start, end, name] = answer.spans[selected];
    const [from, to] = units()[unitAt(units(), offset)];
    const span = edge === "end" ? [start, to, name] : [from, end, name];
    return span[0] < span[1] ? span : answer.spans[selected];
  }

  function showResize(edge, offset) {
    preview = [resized(edge, offset)];
    draw();
  }

  function resizeTo(edge, offset) {
    const span = resized(edge, offset);
    return change(() => model.replace(answer, selected, span, mayOverlap), span, `${quoted(span)} is the span now.`);
  }

  function remove(number = selected) {
    if (number < 0) return sayNoneChosen();
    const span = answer.spans[number];
    const related = answer.relations.filter(([head, , tail]) => head === number || tail === number).length;
    const more = related ? ` Its relations are removed with it: ${related}.` : "";
    range = [unitAt(units(), span[0]), unitAt(units(), span[1] - 1)];
    return change(() => model.remove(answer, number), null, `${quoted(span)} is no longer marked.${more}`);
  }

  // ---- predictions ---------------------------------------------------------------------------------

  // A predicted relation in words, or the words of a predicted span.
  function described(key) {
    if (!key.startsWith("[")) return quoted(answer.spans[model.keysOf(answer).indexOf(key)]);
    const [head, name, tail] = JSON.parse(key);
    return `${quoted(head)} ${phraseOf(name)} ${quoted(tail)}`;
  }

  // Of the chosen span: itself, then its relations.
  function chosenGuesses() {
    const chosen = answer.spans[selected]?.join();
    return guesses.filter((key) => model.withEnds(key).includes(chosen));
  }

  // Each key goes on to the next prediction, so that one after the other settles them all: spans, then relations.
  function settle(keys, isAccepted) {
    if (!keys.length) return false;
    const settled = new Set(isAccepted ? keys.flatMap(model.withEnds) : keys);
    const next = isAccepted ? answer : keys.reduce(model.without, answer);
    const here = new Set(model.keysOf(next));
    const isOpen = (key) => here.has(key) && !settled.has(key);
    const left = guesses.filter(isOpen);
    const following = guesses.slice(guesses.indexOf(keys[0])).find(isOpen) ?? left[0];
    const what = keys.length === 1 ? described(keys[0]) : `${keys.length} predictions`;
    const more = following ? ` Next: ${described(following)}.` : "";
    const message = `${what} ${isAccepted ? "accepted" : "rejected"}; ${left.length} left.${more}`;
    return change(() => ({ ...next, guesses: left }), following && spanOf(following), message);
  }

  const spanOf = (key) => (key.startsWith("[") ? JSON.parse(key)[0] : answer.spans[model.keysOf(answer).indexOf(key)]);

  // The one of the chosen span, or else the first; a span without one gives way to the first.
  function settleNext(isAccepted) {
    const [key] = selected < 0 ? guesses : chosenGuesses();
    if (key || !guesses.length) return settle(key ? [key] : [], isAccepted);
    return choose(model.numberOf(answer, spanOf(guesses[0])));
  }

  const accept = () => settleNext(true);
  const refuse = () => settleNext(false);
  const acceptAll = () => settle(guesses, true);
  const refuseAll = () => settle(guesses, false);
  const acceptLink = (number) => settle(model.keysOf(answer).slice(answer.spans.length).slice(number, number + 1), true);

  // Show the same words elsewhere; pressed again, or Enter, marks them.
  function everywhere() {
    if (selected < 0) return say("Choose a span first: its words are then found elsewhere.", true);
    if (preview.length) return markPreview();
    const span = answer.spans[selected];
    const isFree = ([from, to]) => answer.spans.every((other) => to <= other[0] || other[1] <= from);
    preview = samePlaces(text, text.words, span).filter(isFree);
    draw();
    return say(preview.length ? `${quoted(span)} is found elsewhere: ${preview.length}. E or ↵ marks them, Esc leaves them.` : `${quoted(span)} is nowhere else.`);
  }

  function markPreview() {
    if (!preview.length) return false;
    const chosen = answer.spans[selected];
    const spans = preview.map((place) => [...place, chosen[2]]);
    return change(() => model.addAll(answer, spans, mayOverlap), chosen, `Marked as ${titleOf(chosen[2])}: ${spans.length} more.`);
  }

  // ---- relations -----------------------------------------------------------------------------------

  const isOf = (type, span) => !type || !span || type.toLowerCase() === span[2].toLowerCase();
  const fits = (entry, head, tail) => isOf(entry.head, head) && isOf(entry.tail, tail);
  const mayBeTail = (span) =>
    relations.some((entry) => (!link.name || entry.name === link.name) && fits(entry, answer.spans[link.head], span));

  // Stands behind the message about a relation whose ends are not of the types that the ontology expects.
  function expectation(name, head, tail) {
    const entry = relation.get(name);
    if (!entry || fits(entry, head, tail)) return "";
    const types = [entry.head, entry.tail].map((type) => (type ? titleOf(type) : "any span"));
    return ` Check it: ${entry.title} is expected from ${types[0]} to ${types[1]}.`;
  }

  function startLink(name) {
    if (!relations.length) return false;
    if (selected < 0) return say("Choose the span that is the head first.", true);
    if (answer.spans.length < 2) return say("Mark another span first: a relation joins two.", true);
    link = { head: selected, name, tail: selected };
    return aim(1);
  }

  // Take the next span that may be the tail, or any where none is of the expected type.
  function aim(by) {
    const others = answer.spans.map((_, at) => at).filter((at) => at !== link.head);
    const fitting = others.filter((at) => mayBeTail(answer.spans[at]));
    const tails = fitting.length ? fitting : others;
    const next = by > 0 ? tails.find((at) => at > link.tail) : tails.findLast((at) => at < link.tail);
    link.tail = next ?? tails.at(by > 0 ? 0 : -1);
    follow(answer.spans[link.tail][0]);
    draw();
    const [head, tail] = [link.head, link.tail].map((at) => quoted(answer.spans[at]));
    const name = link.name ? relationTitle(link.name) : "Relation";
    if (isTouchScreen) return say(`${name} from ${head}: tap the tail.`);
    return say(`${name} from ${head} to ${tail}: ↵ makes it, ⇥ goes to another tail, a click takes any.`);
  }

  function finishLink(tail) {
    const { head } = link;
    const ends = [answer.spans[head], answer.spans[tail]];
    const name = link.name ?? (relations.find((entry) => fits(entry, ...ends)) ?? relations[0]).name;
    link = null;
    const message = `${quoted(ends[0])} ${phraseOf(name)} ${quoted(ends[1])}.${expectation(name, ...ends)}`;
    const [key] = model.keysOf({ spans: answer.spans, relations: [[head, name, tail]] }).slice(answer.spans.length);
    const make = () => ({ ...model.relate(answer, [head, name, tail]), guesses: guesses.filter((guess) => guess !== key) });
    return change(make, ends[0], message);
  }

  const lastLink = () => answer.relations.findLastIndex(([head, , tail]) => head === selected || tail === selected);

  function turn(number = lastLink()) {
    if (!relations.length) return false;
    if (number < 0) return selected < 0 ? sayNoneChosen() : say("The chosen span has no relation.", true);
    const [head, name, tail] = answer.relations[number];
    const ends = [tail, head].map((at) => answer.spans[at]);
    const [from, to] = ends.map(quoted);
    const message = `Turned: ${from} ${relationTitle(name)} ${to}.${expectation(name, ...ends)}`;
    return change(() => model.turn(answer, number), answer.spans[selected], message);
  }

  const unrelate = (number) =>
    change(() => model.unrelate(answer, number), answer.spans[selected], "The relation is removed.");

  // ---- keys ----------------------------------------------------------------------------------------

  function escape() {
    if (link) announce("No relation is made.");
    else if (preview.length) announce("The other places are left.");
    else if (selected >= 0 || range) announce("Nothing is selected.");
    else if (sticky) {
      announce(`Space no longer marks ${titleOf(sticky)}.`);
      sticky = null;
    }
    [link, preview, selected, range] = [null, [], -1, link || preview.length ? range : null];
    draw();
    return true;
  }

  function toggleCharacters() {
    if (text.characters === text.words) return say("The spans of this text are counted in its tokens.", true);
    const place = selection();
    byCharacter = !byCharacter;
    range = place && [unitAt(units(), place[0]), unitAt(units(), place[1] - 1)];
    draw();
    return say(byCharacter ? "The caret moves by characters." : "The caret moves by words.");
  }

  const keys = {
    ArrowRight: () => step(isRightToLeft() ? -1 : 1), ArrowLeft: () => step(isRightToLeft() ? 1 : -1),
    "⇧ArrowRight": () => step(isRightToLeft() ? -1 : 1, true), "⇧ArrowLeft": () => step(isRightToLeft() ? 1 : -1, true),
    ArrowDown: () => stepSentence(1), ArrowUp: () => stepSentence(-1),
    "⇧ArrowDown": () => stepSentence(1, true), "⇧ArrowUp": () => stepSentence(-1, true),
    y: accept, x: refuse, "⇧y": acceptAll, "⇧x": refuseAll,
    "]": () => resize("end", 1), "[": () => resize("end", -1), "{": () => resize("start", -1), "}": () => resize("start", 1),
    Delete: () => remove(), Backspace: () => remove(), Escape: escape, " ": () => Boolean(sticky) && mark(sticky),
    k: toggleCharacters, l: nextLabel, e: everywhere, r: () => startLink(), t: () => turn(), Enter: () => (link ? finishLink(link.tail) : markPreview()),
  };
  const labelKeys = new Map([
    ...relations.map((entry) => [entry.key, () => startLink(entry.name)]),
    ...labels.map((entry) => [entry.key, () => mark(entry.name)]),
  ]);
  const isRightToLeft = () => getComputedStyle(root).direction === "rtl";

  function onKey(event) {
    // [ and ] are typed with AltGr on some keyboards, which Windows reports as Ctrl and Alt
    const isControl = event.metaKey || (event.ctrlKey && !event.getModifierState("AltGraph"));
    if (!text || event.isComposing || isControl || isField(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    const chord = chordOf(event);
    if (event.repeat && labelKeys.has(chord)) return;
    let handled;
    if (event.key === "Tab") handled = event.target === root && walk(event.shiftKey ? -1 : 1);
    else handled = (labelKeys.get(chord) ?? keys[chord] ?? (/[[\]{}]/.test(event.key) ? keys[event.key] : null))?.();
    if (!handled) return;
    event.preventDefault();
    drawing.reveal();
  }

  wirePointer(root, {
    offsetAt(x, y) {
      const index = text && drawing.indexAt(x, y);
      return index === null ? null : offsetAt(text, index);
    },
    select: (at) => moveTo(unitAt(units(), at)),
    extend: (at) => moveTo(unitAt(units(), at), true),
    mark(at, byTouch) {
      if (unitAt(units(), at) !== clicked) return chooseAt(at, byTouch); // two quick taps on two words
      moveTo(unitAt(units(), at));
      if (sticky) mark(sticky);
    },
    chooseAt, choose, showResize, resizeTo,
    focus: () => root.focus({ preventScroll: true }),
  });
  new ResizeObserver(() => {
    drawing.forget();
    draw();
  }).observe(root);
  document.fonts?.ready.then(() => {
    drawing.forget();
    draw();
  });

  return {
    // `item` with text and tokens; `at` is the offset of the sentence to show first
    begin(item, at = 0) {
      text = textOf(item);
      [byCharacter, range, selected, preview, link, guesses] = [false, null, -1, [], null, []];
      [clicked, seen] = [-1, new Set()];
      answer = model.EMPTY;
      drawing.begin(text);
      resting = isPaged() ? at : null;
      if (isPaged()) showSentence(sentenceAt(at));
      draw();
    },
    show(next) {
      const { spans, relations: links, guesses: standing = guesses } = answer;
      if (next.spans === spans && next.relations === links && (next.guesses ?? guesses) === standing) return;
      const chosen = answer.spans[selected];
      if (answer === model.EMPTY) return take(next, null);
      const back = next.spans.filter((span) => model.numberOf(answer, span) < 0);
      const message = difference(next, back);
      take(next, chosen && model.numberOf(next, chosen) >= 0 ? chosen : back.length === 1 ? back[0] : null, message);
    },
    onKey, mark, choose, remove, startLink, turn, unrelate, accept, refuse, acceptAll, refuseAll, acceptLink, page,
    advance, toggleCharacters,
    words: (span) => quotable(wordsOf(text, span)),
    // True if the chosen span may be the head, and another one the tail.
    fits(entry) {
      const head = answer.spans[selected];
      return !head || answer.spans.some((tail) => tail !== head && fits(entry, head, tail));
    },
    get overlap() { return mayOverlap ? null : model.overlapIn(answer.spans); },
    get byCharacter() { return byCharacter; },
    get guesses() { return guesses; },
    get paging() {
      return isPaged() ? { at: sentence + 1, of: text.sentences.length, isRead: firstUnseen() < 0 } : null;
    },
    get selected() { return selected; },
    get sticky() { return sticky; },
    get stickyTitle() { return sticky && titleOf(sticky); },
  };
}
