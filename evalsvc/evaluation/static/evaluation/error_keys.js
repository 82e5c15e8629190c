// Keys of the error browser: J and K move between items, and at their ends between pages; letters and digits
// follow the links that show them.

import { listen } from "../web/single_keys.js";

const items = [...document.querySelectorAll("article.report")];
const search = document.querySelector("input[name=text]");
const follow = (link) => (link ? link.click() : false);

function move(step) {
  const at = items.indexOf(document.activeElement?.closest("article.report"));
  const next = at < 0 && step < 0 ? items.length - 1 : at + step;
  if (!items[next]) return follow(document.querySelector(step < 0 ? "a[rel=prev]" : "a[rel=next]"));
  items[next].focus();
  items[next].scrollIntoView({ block: "nearest" });
}

const linked = [...document.querySelectorAll("a[data-key]")].map((link) => [link.dataset.key, () => follow(link)]);

listen({ j: () => move(1), k: () => move(-1), "/": () => search?.focus(), ...Object.fromEntries(linked) });
