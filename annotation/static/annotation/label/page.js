// What the page brings: the form, its relations, and small makers of elements.

export const $ = (id) => document.getElementById(id);
export const form = $("work");
export const api = form.dataset;
export const relations = [...form.querySelectorAll("input[name=relation]")];
export const byName = new Map(relations.map((input) => [input.value, input]));
export const titleOf = (name) => byName.get(name)?.dataset.title ?? name;
export const clip = (text) => ([...text].length > 90 ? `${[...text].slice(0, 90).join("")}…` : text);

export function element(tag, text = "", className = "") {
  return Object.assign(document.createElement(tag), { textContent: text, className });
}

export function button(text, act) {
  const node = Object.assign(element("button", text, "btn"), { type: "button" });
  node.addEventListener("click", act);
  return node;
}

export function open(id) {
  if (!$(id).open) $(id).showModal();
}

export function say(text) {
  $("said").hidden = !text;
  $("said").textContent = text;
}

// A word about the sentence on show: that it was answered before, or why it came.
export function tell(text, ...more) {
  $("told").hidden = !text;
  $("told").replaceChildren(text, ...more);
}

// What a payload means in the form, and how an answer is told in a few words.
export function choiceOf(payload) {
  const names = (payload?.relations ?? []).map((relation) => (Array.isArray(relation) ? relation[1] : relation));
  return { chosen: names.filter((name) => byName.has(name)), na: names.length === 0 };
}

export const phraseOf = (work) => (work.na ? "N/A" : work.chosen.map(titleOf).join(", "));
