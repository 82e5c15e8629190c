// The labelling page: its form, relations and messages, and helpers that make elements.

import { ordered } from "../spans/document.js";

export const $ = (id) => document.getElementById(id);
export const form = $("work");
export const api = form.dataset; // URLs and settings from the template
export const relations = [...form.querySelectorAll("input[name=relation]")];
export const byName = new Map(relations.map((input) => [input.value, input]));
export const marksSpans = ["entities", "joint"].includes(api.kind);
export const titleOf = (name) => byName.get(name)?.dataset.title ?? name;
const titles = (part) => new Map([...form.querySelectorAll(`[data-${part}]`)].map(({ dataset }) => [dataset[part], dataset.title]));
const [markTitles, relateTitles] = [titles("mark"), titles("relate")];
export const markTitle = (name) => markTitles.get(name) ?? name;
export const relateTitle = (name) => relateTitles.get(name) ?? name;
export const clip = (text) => ([...text].length > 90 ? `${[...text].slice(0, 90).join("")}…` : text);

export function element(tag, text = "", className = "") {
  return Object.assign(document.createElement(tag), { textContent: text, className });
}

export function button(text, action) {
  const node = Object.assign(element("button", text, "btn"), { type: "button" });
  node.addEventListener("click", action);
  return node;
}

export function open(id) {
  if (!$(id).open) $(id).showModal();
}

export function showError(text) {
  $("answer-error").hidden = !text;
  $("answer-error").textContent = text;
}

// Note above the answer: that the sentence was answered before, or why it is shown.
export function showNotice(text, ...nodes) {
  $("notice").hidden = !text;
  $("notice").replaceChildren(text, ...nodes);
}

// Choice in the form for a payload of the API.
export function choiceOf(payload) {
  if (marksSpans) {
    const { spans, relations: chosen } = ordered(payload?.spans ?? [], payload?.relations ?? []);
    return { spans, chosen, na: spans.length === 0 };
  }
  const names = (payload?.relations ?? []).map((relation) => (Array.isArray(relation) ? relation[1] : relation));
  return { chosen: names.filter((name) => byName.has(name)), na: names.length === 0 };
}

export function phraseOf(choice) {
  if (choice.na) return "N/A";
  if (!marksSpans) return choice.chosen.map(titleOf).join(", ");
  const links = choice.chosen.length ? `, ${plural(choice.chosen.length, "relation")}` : "";
  return plural(choice.spans.length, "span") + links;
}

export const plural = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;
export const digitOf = (event) => /^(?:Digit|Numpad)(\d)$/.exec(event.code)?.[1];
