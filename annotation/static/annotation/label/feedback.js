// Feedback in the qualification round: the gold answer, relation by relation, after each sentence.

import { $, element, marksSpans, markTitle, relateTitle, titleOf } from "./page.js";
import { wordsOfSpan } from "./spans.js";

const VERDICTS = marksSpans
  ? {
      "true true": ["✓", "you marked it, and it is right"],
      "false true": ["✗", "it belongs here, and you did not mark it"],
      "true false": ["✗", "you marked it, and it does not belong here"],
    }
  : {
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
  $("feedback-list").replaceChildren(...(rows.length ? rows : [element("li", marksSpans ? "N/A: nothing to mark." : "N/A: no relation applies.")]));
  $("feedback-explanation").textContent = feedback.explains;
  $("feedback-explanation").hidden = !feedback.explains;
  $("feedback-result").textContent = RESULTS[feedback.passed] ?? "";
  $("feedback-dialog").showModal();
  return new Promise((resolve) => $("feedback-dialog").addEventListener("close", resolve, { once: true }));
}

// A relation's name, a span [start, end, label], or a relation between two spans.
function choiceText(choice) {
  if (!Array.isArray(choice)) return titleOf(choice);
  if (!Array.isArray(choice[0])) return `“${wordsOfSpan(choice)}” ${markTitle(choice[2])}`;
  return `“${wordsOfSpan(choice[0])}” ${relateTitle(choice[1])} “${wordsOfSpan(choice[2])}”`;
}

function rowOf({ choice, chosen, right }) {
  const [sign, verdict] = VERDICTS[`${chosen} ${right}`];
  const row = element("li", "", right && chosen ? "yes" : "no");
  const text = row.appendChild(element("div"));
  text.append(element("b", `${sign} ${choiceText(choice)}`), ` – ${verdict}`);
  const definition = document.querySelector(`[data-guide="${CSS.escape(choice)}"] [data-definition]`)?.textContent;
  if (definition && chosen !== right) text.append(element("p", definition, "quiet"));
  return row;
}
