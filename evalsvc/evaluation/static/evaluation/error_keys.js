// Keys of the error browser: J and K move between items, N to the next error, and at their ends between pages;
// letters and digits follow the links that show them.

import { listen } from "../web/single_keys.js";

const items = [...document.querySelectorAll("article.report")];
const errors = [...document.querySelectorAll("article.report :is(.no-mark, .lane--wrong, .lane--miss)")];
const search = document.querySelector("input[name=text]");
const follow = (link) => (link ? link.click() : false);

function move(step) {
  const at = items.indexOf(document.activeElement?.closest("article.report"));
  const next = at < 0 && step < 0 ? items.length - 1 : at + step;
  if (!items[next]) return follow(document.querySelector(step < 0 ? "a[rel=prev]" : "a[rel=next]"));
  show(items[next]);
}

function show(element) {
  element.focus();
  element.scrollIntoView({ block: "nearest" });
}

function nextError() {
  const here = document.activeElement?.closest("article.report") ? document.activeElement : null;
  const next = errors.find((each) => !here || here.compareDocumentPosition(each) & Node.DOCUMENT_POSITION_FOLLOWING);
  if (!next) return follow(document.querySelector("a[rel=next]"));
  next.tabIndex = -1;
  show(next);
}

const linked = [...document.querySelectorAll("a[data-key]")].map((link) => [link.dataset.key, () => follow(link)]);

listen({ j: () => move(1), k: () => move(-1), n: nextError, "/": () => search?.focus(), ...Object.fromEntries(linked) });
