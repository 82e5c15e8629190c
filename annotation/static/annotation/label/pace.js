// How far the person is: the bar, the count of today, the usual time for a sentence.

import { $, api } from "./page.js";

const pace = { done: Number(api.done), total: Number(api.total), today: Number(api.today), seconds: Number(api.seconds) };
const grouped = (n) => n.toLocaleString("en-GB");

export function count(since) {
  const seconds = Math.min((performance.now() - since) / 1000, 300);
  pace.seconds = pace.seconds ? pace.seconds * 0.9 + seconds * 0.1 : seconds;
  pace.done += 1;
  pace.today += 1;
  showPace();
}

export function showPace() {
  $("progress-done").textContent = grouped(pace.done);
  $("progress-total").textContent = grouped(Math.max(pace.total, pace.done));
  $("progress-fill").setAttribute("width", pace.total ? Math.min((176 * pace.done) / pace.total, 176) : 0);
  $("progress-bar").setAttribute("aria-label", `${pace.done} of ${pace.total} done`);
  const each = pace.seconds ? ` · ${pace.seconds < 10 ? pace.seconds.toFixed(1) : Math.round(pace.seconds)} s each` : "";
  $("pace").textContent = `${grouped(pace.today)} today${each}`;
}
