// Feedback in the qualification round: the gold answer, relation by relation, after each sentence.

import { $, element, titleOf } from "./page.js";

const VERDICTS = {
  "true true": ["✓", "you chose it, and it applies"],
  "false true": ["✗", "it applies, and you did not choose it"],
  "true false": ["✗", "you chose it, and it does not apply"],
};
const RESULTS = {
  true: "You passed the qualification round. The next sentence counts.",
  false: "You did not pass the qualification round. A curator can resume your work.",
};

export function showFeedback(feedback) {
  $("feedback-title").textContent = feedback.right ? "Correct" : "Not correct";
  $("feedback-count").textContent = `Sentence ${feedback.done} of ${feedback.of} in the qualification round`;
  const rows = feedback.choices.map(rowOf);
  $("feedback-list").replaceChildren(...(rows.length ? rows : [element("li", "N/A: no relation applies.")]));
  $("feedback-explanation").textContent = feedback.explains;
  $("feedback-explanation").hidden = !feedback.explains;
  $("feedback-result").textContent = RESULTS[feedback.passed] ?? "";
  $("feedback-dialog").showModal();
  return new Promise((resolve) => $("feedback-dialog").addEventListener("close", resolve, { once: true }));
}

function rowOf({ choice, chosen, right }) {
  const [sign, verdict] = VERDICTS[`${chosen} ${right}`];
  const row = element("li", "", right && chosen ? "yes" : "no");
  const text = row.appendChild(element("div"));
  text.append(element("b", `${sign} ${titleOf(choice)}`), ` – ${verdict}`);
  const definition = document.querySelector(`[data-guide="${CSS.escape(choice)}"] [data-definition]`)?.textContent;
  if (definition && chosen !== right) text.append(element("p", definition, "quiet"));
  return row;
}
