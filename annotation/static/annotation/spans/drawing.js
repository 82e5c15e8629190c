// Draws an answer over its text: spans on lanes beneath the words, the selection, handles, and the arcs of the
// selected span. The text stays one node, so that marking never breaks a line differently.

import { keysOf } from "./document.js";
import { runsLeft, wordsOf } from "./text.js";

const LANE = 18; // pixels
const LETTER = 7; // pixels, about
const RISE = 8; // pixels from the words to the arcs above them
const GUTTER = 8; // pixels from the edge to the arcs beside the text
const COLOURS = ["marks--person", "marks--org", "marks--place", "marks--date", "marks--head", "marks--tail"];
const SVG = "http://www.w3.org/2000/svg";

export function createDrawing(root) {
  const layer = Object.assign(document.createElement("div"), { className: "marks" });
  layer.setAttribute("aria-hidden", "true");
  const arcs = document.createElementNS(SVG, "svg");
  arcs.classList.add("marks__arcs");
  const node = document.createTextNode("");
  root.replaceChildren(node, layer);
  const ruler = document.createRange(); // one for all: each live range makes each change of the page slower
  let text = null;
  let view = [0, 0]; // the part on show, in UTF-16 units
  let boxes = new Map(); // boxes on the lines, by start and end
  let drawn = new Map(); // elements by kind and place

  function boxesOf([start, end]) {
    const key = `${start},${end}`;
    if (!boxes.has(key)) {
      const from = Math.max(text.places[start].from, view[0]);
      const to = Math.min(text.places[end - 1].to, view[1]);
      const { left, top } = layer.getBoundingClientRect();
      const rects = from < to ? [...rangeOf(from, to).getClientRects()].filter(({ width }) => width) : [];
      boxes.set(key, rects.map((r) => ({ x: r.left - left, y: r.top - top, width: r.width, height: r.height })));
    }
    return boxes.get(key);
  }

  function rangeOf(from, to) {
    ruler.setStart(node, from - view[0]);
    ruler.setEnd(node, to - view[0]);
    return ruler;
  }

  // Parts as [class, x, y, width, height or null, text, number of the span or null]; what stays is not touched.
  function put(parts) {
    const kept = new Map();
    for (const part of parts) {
      const [className, x, y, width, height, label, number] = part;
      const key = [className.split(" ", 1), x, y, width, height, label].join();
      const element = drawn.get(key) ?? partOf(part);
      if (element.className !== className) element.className = className;
      if (number !== null && element.dataset.span !== String(number)) element.dataset.span = number;
      kept.set(key, element);
    }
    for (const [key, element] of drawn) if (!kept.has(key)) element.remove();
    layer.append(...[...kept].filter(([key]) => !drawn.has(key)).map(([, element]) => element));
    drawn = kept;
  }

  function partOf([className, x, y, width, height, label]) {
    const element = Object.assign(document.createElement("span"), { className, textContent: label });
    element.style.setProperty("left", `${x}px`);
    element.style.setProperty("top", `${y}px`);
    element.style.setProperty(className.startsWith("marks__tag") ? "max-width" : "width", `${width}px`);
    if (height !== null) element.style.setProperty("height", `${height}px`);
    return element;
  }

  function spanParts(span, at, lane, { selected, dashed, colourOf, titleOf }) {
    const colour = COLOURS[colourOf(span[2]) % COLOURS.length];
    const state = `${at === selected ? " marks--on" : ""}${dashed.includes(span.join()) ? " marks--guess" : ""}`;
    const lines = boxesOf(span);
    const below = ({ y, height }) => y + height + lane * LANE;
    return [
      ...lines.map((box) => [`marks__bar ${colour}${state}`, box.x, below(box), box.width, null, "", null]),
      ...lines.slice(0, 1).map((box) => [`marks__tag ${colour}${state}`, box.x, below(box) + 4, 0, null, titleOf(span[2]), at]),
    ];
  }

  // A label ends where the next one on its line begins.
  function fitTags(parts) {
    const tags = parts.filter(([name]) => name.startsWith("marks__tag")).sort((a, b) => a[2] - b[2] || a[1] - b[1]);
    tags.forEach((tag, at) => {
      const next = tags[at + 1];
      tag[3] = Math.max((next && next[2] === tag[2] ? next[1] : layer.clientWidth) - tag[1] - 4, 8);
    });
  }

  function selectionParts(range, style) {
    return range ? boxesOf(range).map((box) => [style, box.x, box.y, box.width, box.height, "", null]) : [];
  }

  function handleParts(span) {
    const lines = span ? boxesOf(span) : [];
    if (!lines.length) return [];
    return [
      handleOf("start", [span[0], span[0] + 1], lines[0]),
      handleOf("end", [span[1] - 1, span[1]], lines.at(-1)),
    ];
  }

  // On the side of the character where the span begins or ends, which its script decides.
  function handleOf(edge, place, line) {
    const { x, y, width, height } = boxesOf(place)[0] ?? line;
    const isRight = (edge === "end") !== runsLeft(wordsOf(text, place));
    const className = `marks__handle marks__handle--${edge}${isRight ? " marks__handle--right" : ""}`;
    return [className, x + (isRight ? width : 0) - 6, y, 12, height, "", null];
  }

  // Relations of the chosen span: one line each way to another span, with the names of all beside that span.
  function drawArcs({ spans, relations }, { selected, dashed, relationTitle }) {
    const links = relations.filter(([head, , tail]) => head === selected || tail === selected);
    const keys = keysOf({ spans, relations: links }).slice(spans.length);
    const pairs = new Map();
    links.forEach(([head, name, tail], at) => {
      const pair = pairs.get(`${head},${tail}`) ?? { head, tail, names: [], isGuess: true };
      pair.names.push(relationTitle(name));
      pair.isGuess &&= dashed.includes(keys[at]);
      pairs.set(`${head},${tail}`, pair);
    });
    const placed = [...pairs.values()].map((pair) => endsOf(pair, spans, selected)).filter(Boolean);
    placed.sort((a, b) => Math.abs(a.far - a.near) - Math.abs(b.far - b.near));
    placed.forEach((arc, at) => placeName(arc, placed.slice(0, at), placed.length === 1));
    arcs.replaceChildren(...placed.map(lineOf), ...placed.map(nameOf)); // names interrupt the lines
    if (links.length) layer.append(arcs);
    else arcs.remove();
  }

  // An arc runs above the line of each end, and from one line to the other beside the text.
  function endsOf({ head, tail, names, isGuess }, spans, selected) {
    const [from, to] = [head, tail].map((at) => boxesOf(spans[at])[0]);
    if (!from || !to) return null;
    const [x1, x2] = [from, to].map((box) => box.x + box.width / 2);
    const [near, far, base] = head === selected ? [x1, x2, to.y] : [x2, x1, from.y];
    const name = names.join(" · ");
    const isLevel = Math.abs(from.y - to.y) < from.height / 2;
    const side = isLevel ? null : x1 + x2 < layer.clientWidth ? GUTTER : layer.clientWidth - GUTTER;
    return { from: from.y, to: to.y, x1, x2, near: side ?? near, far, side, name, isGuess, base, top: base - RISE, width: name.length * LETTER };
  }

  // Beside the other span, above all names and arrows that it would cover.
  function placeName(arc, others, isAlone) {
    const { near, far, width, side } = arc;
    const isRight = far > near ? far - width - 8 < GUTTER : far + width + 8 < layer.clientWidth;
    arc.left = isAlone && side === null ? (near + far - width) / 2 : isRight ? far + 8 : far - width - 8;
    const covers = ({ base, top, left, width: length, far: end }) =>
      base === arc.base &&
      ((top === arc.top && left < arc.left + width && arc.left < left + length) ||
        (top <= arc.top && arc.left - 4 < end && end < arc.left + width + 4));
    while (others.some(covers)) arc.top -= 15;
  }

  function lineOf({ x1, x2, from, to, top, base, side, isGuess }) {
    const path = document.createElementNS(SVG, "path");
    const above = (y) => (Math.abs(y - base) < 1 ? top : y - RISE);
    const way = side === null ? "" : `H${side}V${above(to)}`;
    path.setAttribute("d", `M${x1} ${from}V${side === null ? top : above(from)}${way}H${x2}V${to - 1}m-4 -5l4 5l4 -5`);
    path.classList.toggle("marks__guess", isGuess);
    return path;
  }

  function nameOf({ left, width, top, name }) {
    const label = document.createElementNS(SVG, "text");
    label.setAttribute("x", left + width / 2);
    label.setAttribute("y", top + 4);
    label.setAttribute("text-anchor", "middle");
    label.textContent = name;
    return label;
  }

  return {
    node,
    begin(shown) {
      text = shown;
      this.look(0, text.text.length);
    },
    // Show only a part of the text; what lies elsewhere is not drawn.
    look(from, to) {
      view = [from, to];
      root.scrollTop = 0;
      node.data = text.text.slice(from, to);
      this.forget();
    },
    forget() {
      boxes = new Map();
    },
    // `state`: answer, lanes, selected, range, preview, dashed, colourOf, titleOf, relationTitle
    show(state) {
      const { answer, lanes, selected, range, preview } = state;
      const most = String(Math.max(0, ...lanes) + 1);
      if (root.style.getPropertyValue("--lanes") !== most) {
        root.style.setProperty("--lanes", most);
        this.forget();
      }
      const parts = answer.spans.flatMap((span, at) => spanParts(span, at, lanes[at], state));
      fitTags(parts);
      put([
        ...selectionParts(range, "marks__range"),
        ...preview.flatMap((span) => selectionParts(span, "marks__preview")),
        ...selectionParts(answer.spans[selected], "marks__chosen"),
        ...parts,
        ...handleParts(answer.spans[selected]),
      ]);
      drawArcs(answer, state);
    },
    // Scroll to the selection when the window doesn't show it.
    reveal() {
      layer.querySelector(".marks__range, .marks__chosen")?.scrollIntoView({ block: "nearest" });
    },
    // UTF-16 index of the character at a point of the window, or null beside the text.
    indexAt(x, y) {
      const found = document.caretPositionFromPoint?.(x, y);
      const range = found ? null : document.caretRangeFromPoint?.(x, y);
      const [at, offset] = found ? [found.offsetNode, found.offset] : [range?.startContainer, range?.startOffset];
      if (at !== node) return null;
      const index = offset + view[0];
      const before = [...rangeOf(Math.max(index - 1, view[0]), index).getClientRects()];
      const inside = before.some((r) => r.left <= x && x < r.right && r.top <= y && y <= r.bottom);
      return inside ? index - 1 : index;
    },
  };
}
