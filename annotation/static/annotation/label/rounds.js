// The qualification round: after each answer, what is known of the sentence, relation by relation.

import { $, element, titleOf } from "./page.js";

const VERDICTS = {
  "true true": ["✓", "you chose it, and it holds"],
  "false true": ["✗", "it holds, and you did not choose it"],
  "true false": ["✗", "you chose it, and it does not hold"],
};

export function showFeedback(feedback) {
  $("round-title").textContent = feedback.right ? "As it is known" : "Known otherwise";
  $("round-count").textContent = `${feedback.done} of ${feedback.of} in the qualification round`;
  const lines = feedback.choices.map(lineOf);
  $("round-list").replaceChildren(...(lines.length ? lines : [element("li", "N/A: no relation holds, and you said so.")]));
  $("round-explains").textContent = feedback.explains;
  $("round-explains").hidden = !feedback.explains;
  $("round-passed").textContent = { true: "The round is passed. The work begins with the next sentence.", false: "The round is not passed. A curator can let you go on." }[feedback.passed] ?? "";
  $("round-dialog").showModal();
  return new Promise((done) => $("round-dialog").addEventListener("close", () => done(feedback), { once: true }));
}

function lineOf({ choice, chosen, right }) {
  const [sign, words] = VERDICTS[`${chosen} ${right}`];
  const node = element("li", "", right && chosen ? "yes" : "no");
  const what = node.appendChild(element("div"));
  what.append(element("b", `${sign} ${titleOf(choice)}`), ` – ${words}`);
  const definition = document.querySelector(`[data-guide="${CSS.escape(choice)}"] [data-definition]`)?.textContent;
  if (definition && chosen !== right) what.append(element("p", definition, "quiet"));
  return node;
}
