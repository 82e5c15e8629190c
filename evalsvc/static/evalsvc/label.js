// The relation form: shows a leased sentence, takes the answer by keys, puts it into the outbox, shows the next.

import { $, byName, choiceOf, form, open, phraseOf, relations, say } from "./label/page.js";
import { keyInFind, whenFound } from "./label/finding.js";
import { markOff, showGuide } from "./label/guide.js";
import { commandOf, keyOf, wireKeys } from "./label/keys.js";
import { away, line, outbox, queue, send, showClashes, showSaved, whenTaken } from "./label/outbox.js";
import { count, showPace } from "./label/pace.js";
import { openHistory, remember } from "./label/past.js";
import * as reserve from "./label/reserve.js";
import { showFeedback } from "./label/rounds.js";
import { pairOf, readback, sentenceOf } from "./label/sentence.js";
import { draftOf, dropDraft, keepDraft } from "./label/drafts.js";

const STEPS = 200; // undo steps kept for a sentence
let now = null; // on show

// ---- from sentence to sentence ---------------------------------------------------------------------

async function next() {
  let work = reserve.takeNext();
  if (!work) {
    await waitForOne();
    work = reserve.takeNext();
  }
  if (work) show(work);
  else finish();
  if (now && !reserve.round.going) reserve.fetchAhead().catch(away);
}

// What is on its way may bring something back: it is sent before anybody hears that nothing is left.
async function waitForOne() {
  form.setAttribute("aria-busy", "true");
  for (let pause = 500; ; pause = Math.min(pause * 2, 8000)) {
    try {
      if (outbox.read().length && !line.offSince) await Promise.race([send(), reserve.arrival()]);
      await reserve.fetchOne();
      break;
    } catch (error) {
      away(error);
      form.hidden = true;
      $("waiting").hidden = false;
      await new Promise((done) => setTimeout(done, pause));
    }
  }
  $("waiting").hidden = true;
  if (line.offSince && !outbox.read().length) line.offSince = null;
  showSaved();
}

function finish() {
  now = null;
  form.hidden = true;
  $("keys-line").hidden = true;
  $("finished").hidden = false;
  if (reserve.refusal) $("finished-text").textContent = reserve.refusal;
  $("finished").focus();
}

function show(work) {
  now = { chosen: [], na: false, comment: "", flagged: false, ...work, undone: [], done: [], since: performance.now() };
  const first = work.payload ?? work.suggestion;
  if (first) Object.assign(now, choiceOf(first));
  Object.assign(now, draftOf(work.item.id));
  form.hidden = false;
  $("finished").hidden = true;
  $("keys-line").hidden = false;
  form.removeAttribute("aria-busy");
  $("sentence").replaceChildren(...sentenceOf(work.item));
  $("suggested").hidden = !work.suggestion;
  $("comment").value = now.comment;
  $("comment-row").hidden = !now.comment;
  say("");
  markOff(work.item);
  showGuide("");
  showAnswer();
  if (!document.querySelector("dialog[open]")) $("sentence").focus({ preventScroll: true });
  scrollTo({ top: 0 });
}

// ---- the answer --------------------------------------------------------------------------------------

const snapshot = () => ({ chosen: [...now.chosen], na: now.na, flagged: now.flagged, comment: now.comment });

function change(alter) {
  const before = snapshot();
  alter();
  if (JSON.stringify(before) === JSON.stringify(snapshot())) return showAnswer();
  now.done = [...now.done, before].slice(-STEPS);
  now.undone = [];
  say("");
  keepDraft(now.item.id, snapshot());
  return showAnswer();
}

function toggle(name) {
  change(() => {
    now.na = false;
    now.chosen = now.chosen.includes(name) ? now.chosen.filter((other) => other !== name) : [...now.chosen, name];
  });
}

const toggleNa = () => change(() => ([now.na, now.chosen] = [!now.na, []]));
const toggleFlag = () => change(() => (now.flagged = !now.flagged));

function step(from, to) {
  if (!now[from].length) return say(from === "done" ? `Nothing to undo in this sentence. ${keyOf("history")} opens your last 10.` : "Nothing to redo.");
  now[to].push(snapshot());
  Object.assign(now, now[from].pop());
  $("comment").value = now.comment;
  $("comment-row").hidden = !now.comment;
  say("");
  keepDraft(now.item.id, snapshot());
  return showAnswer();
}

const undo = () => step("done", "undone");
const redo = () => step("undone", "done");

function showAnswer() {
  for (const input of relations) input.checked = now.chosen.includes(input.value);
  $("na").checked = now.na;
  $("flag").setAttribute("aria-pressed", now.flagged);
  $("flag").classList.toggle("btn--on", now.flagged);
  $("comment-button").classList.toggle("btn--on", Boolean(now.comment));
  $("undo").setAttribute("aria-disabled", !now.done.length);
  $("redo").setAttribute("aria-disabled", !now.undone.length);
  $("readback").replaceChildren(...readback(now));
}

const spent = () => Math.min(Math.round(performance.now() - now.since), 86_400_000);

function leaveWith(act, body) {
  const { item, lease, base, comment, flagged } = now;
  const whole = { ...body, base, comment, flagged, milliseconds: spent() };
  remember(item, act, whole);
  const sent = queue({ act, item: item.id, lease, name: pairOf(item), answer: act === "skip" ? "skip" : phraseOf(now), body: whole });
  if (!base) count(now.since);
  dropDraft(item.id);
  now = null;
  if (reserve.round.going) afterFeedback(sent);
  else next();
}

function submit() {
  if (!now) return;
  keepComment();
  if (!now.na && !now.chosen.length) return say(`Nothing is chosen. Choose a relation, or ${keyOf("na") || "N/A"} if none of them holds.`);
  leaveWith("answer", { payload: { spans: [], relations: [...now.chosen] } });
}

function skip(reason) {
  $("skip-dialog").close();
  keepComment();
  leaveWith("skip", { reason });
}

// In the qualification round the next sentence comes after what is known of this one was read.
let told = null;
whenTaken((entry, data) => (told = data?.feedback ?? told));

async function afterFeedback(sent) {
  form.setAttribute("aria-busy", "true");
  await sent;
  const feedback = told;
  told = null;
  if (feedback) await showFeedback(feedback);
  if (feedback?.passed === true) reserve.round.going = false;
  next();
}

// ---- history, comment ---------------------------------------------------------------------

function reopen(act) {
  $("history-dialog").close();
  if (now?.item.id === act.item.id) return;
  if (now) reserve.putBack({ item: now.item, lease: now.lease, base: now.base, suggestion: now.suggestion, ...snapshot() });
  const work = { item: act.item, base: act.number, payload: act.payload, comment: act.comment ?? "", flagged: act.flagged ?? false };
  reserve.putOnShow(work);
  show(work);
}

function openComment() {
  $("comment-row").hidden = false;
  $("comment-button").setAttribute("aria-expanded", "true");
  $("comment").focus();
}

function keepComment() {
  const text = $("comment").value.trim();
  if (now && text !== now.comment) change(() => (now.comment = text));
  $("comment-row").hidden = !text;
  $("comment-button").setAttribute("aria-expanded", Boolean(text));
}

// ---- keys --------------------------------------------------------------------------------------------

const commands = {
  na: toggleNa, undo, redo, flag: toggleFlag, comment: openComment,
  history: () => openHistory(reopen),
  skip: () => open("skip-dialog"),
  find: () => $("find").focus(),
  keys: () => open("keys-dialog"),
};
const REPEATS = ["undo", "redo"]; // a held key goes on undoing; anything else happens once

const typing = (target) => target.matches?.("textarea, select, [contenteditable], input:not([type=checkbox])");

function onKey(event) {
  if (event.isComposing || event.defaultPrevented || !now || document.querySelector("dialog[open]")) return;
  if (event.target === $("find")) return keyInFind(event);
  if (event.target === $("comment")) return keyInComment(event);
  if (typing(event.target)) return;
  const handled = event.ctrlKey || event.metaKey ? withControl(event) : byPlainKey(event);
  if (handled) event.preventDefault();
}

function withControl(event) {
  const letter = event.key.toLowerCase();
  if (letter === "y" || (letter === "z" && event.shiftKey)) redo();
  else if (letter === "z") undo();
  else return false;
  return true;
}

function byPlainKey(event) {
  if (event.key === "Enter") return event.repeat || event.target.matches("button, a, summary") ? event.repeat : (submit(), true);
  if (event.key === "ArrowDown" || event.key === "ArrowUp") return move(event.key === "ArrowDown" ? 1 : -1), true;
  const command = commandOf(event);
  if (!command) return false;
  if (event.repeat && !REPEATS.includes(command)) return true;
  const name = command.startsWith("rel:") ? command.slice(4) : "";
  if (name) toggle(name), showGuide(name);
  else commands[command]();
  return true;
}

function keyInComment(event) {
  if (event.key !== "Enter" && event.key !== "Escape") return;
  event.preventDefault();
  keepComment();
  $("sentence").focus({ preventScroll: true });
}

function move(by) {
  const at = relations.indexOf(document.activeElement);
  const to = at < 0 ? (by > 0 ? 0 : relations.length - 1) : (at + by + relations.length) % relations.length;
  relations[to].focus();
}

// ---- all together --------------------------------------------------------------------------------------

function wireRelations() {
  for (const input of relations) {
    input.addEventListener("change", () => toggle(input.value));
    input.addEventListener("focus", () => showGuide(input.value));
    input.closest(".rel").addEventListener("pointerenter", () => showGuide(input.value));
  }
  const focused = () => (byName.has(document.activeElement?.value) ? document.activeElement.value : "");
  form.querySelector(".rels").addEventListener("pointerleave", () => showGuide(focused()));
  whenFound({ taken: (input) => (toggle(input.value), input.focus()), looked: showGuide });
}

function wireDialogs() {
  for (const dialog of document.querySelectorAll("dialog")) {
    dialog.querySelector("[data-close]")?.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => now && $("sentence").focus({ preventScroll: true }));
  }
  const reasons = [...document.querySelectorAll("[data-reason]")];
  for (const reason of reasons) reason.addEventListener("click", () => skip(reason.dataset.reason));
  $("skip-dialog").addEventListener("keydown", (event) => {
    const reason = reasons[/^(?:Digit|Numpad)(\d)$/.exec(event.code)?.[1] - 1];
    if (reason) event.preventDefault(), reason.click();
  });
}

function wire() {
  document.addEventListener("keydown", onKey);
  form.addEventListener("submit", (event) => (event.preventDefault(), submit()));
  $("na").addEventListener("change", toggleNa);
  $("comment").addEventListener("blur", keepComment);
  const clicks = { undo, redo, flag: toggleFlag, "comment-button": openComment, history: commands.history, skip: commands.skip, "keys-button": commands.keys, "look-again": next };
  for (const [id, act] of Object.entries(clicks)) $(id).addEventListener("click", () => act());
  wireRelations();
  wireDialogs();
  wireKeys();
}

wire();
showPace();
showClashes();
setInterval(showSaved, 5000);
send();
next();
