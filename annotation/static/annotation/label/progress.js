// Progress of the person: the bar, today's count and the usual time per sentence.

import { $, api } from "./page.js";

const LONGEST = 300; // seconds; a longer time was a break
const WIDTH = 176;
const progress = {
  done: Number(api.done), total: Number(api.total), today: Number(api.today), seconds: Number(api.seconds),
};
const grouped = (n) => n.toLocaleString("en-GB");

export function countDone(since, answered) {
  const seconds = Math.min((performance.now() - since) / 1000, LONGEST);
  progress.seconds = progress.seconds ? progress.seconds * 0.9 + seconds * 0.1 : seconds;
  progress.done += 1;
  if (answered) progress.today += 1; // as everywhere: a skip is not an answer
  showProgress();
}

export function showProgress() {
  const { done, total, today, seconds } = progress;
  $("progress-done").textContent = grouped(done);
  $("progress-total").textContent = grouped(Math.max(total, done));
  $("progress-fill").setAttribute("width", total ? Math.min((WIDTH * done) / total, WIDTH) : 0);
  $("progress-bar").setAttribute("aria-label", `${done} of ${total} done`);
  const each = seconds ? ` · ${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s each` : "";
  $("pace").textContent = `${grouped(today)} today${each}`;
}
