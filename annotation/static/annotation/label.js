// The relation form: shows a leased sentence, takes the answer by keys, puts it into the outbox, shows the next.

import { $, button, byName, choiceOf, form, open, phraseOf, relations, say, tell } from "./label/page.js";
import * as answer from "./label/answer.js";
import { whenFound } from "./label/search.js";
import { markOff, showGuide } from "./label/guide.js";
import { wireHand } from "./label/keyboard.js";
import { keyOf, wireKeys } from "./label/keys.js";
import { away, line, outbox, queue, send, showClashes, showSaved, whenStopped, whenTaken } from "./label/outbox.js";
import { count, showPace } from "./label/pace.js";
import { openHistory, remember, wireHistory } from "./label/history.js";
import * as reserve from "./label/reserve.js";
import { showFeedback } from "./label/rounds.js";
import { pairOf, sentenceOf } from "./label/sentence.js";
import { dropDraft } from "./label/drafts.js";

// ---- from sentence to sentence ---------------------------------------------------------------------

async function next() {
  if (!reserve.any() || line.stopped) await waitForOne();
  if (answer.now) return; // a former one was opened meanwhile
  if (line.stopped) return finish();
  const work = reserve.takeNext();
  if (work) show(work);
  else finish();
  if (work && !reserve.round.going) reserve.fetchAhead().catch(away);
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
      if (!answer.now) onShow("waiting");
      await Promise.race([new Promise((done) => setTimeout(done, pause)), reserve.arrival()]);
    }
  }
  if (line.offSince && !outbox.read().length) line.offSince = null;
  showSaved();
}

function onShow(id) {
  for (const part of [form, $("waiting"), $("finished")]) part.hidden = part.id !== id;
  $("keys-line").hidden = id !== form.id;
}

const usual = ["title", "text"].map((part) => $(`finished-${part}`).textContent);

function finish() {
  onShow("finished");
  const refused = line.stopped || reserve.refusal;
  const [title, text] = refused ? ["You can’t go on just now", refused] : usual;
  $("finished-title").textContent = title;
  $("finished-text").textContent = text;
  $("finished").focus();
}

// Closed, paused, no longer a member: nothing more is handed out, and what is on show waits with the rest.
function stopHere() {
  layBack();
  reserve.putOnShow(null);
  finish();
}

function layBack() {
  const { now } = answer;
  if (!now) return;
  answer.keepComment();
  const { item, lease, base, suggestion, former } = now;
  reserve.putBack({ item, lease, base, suggestion, former, ...answer.snapshot() });
  answer.end();
}

function show(work) {
  onShow(form.id);
  form.removeAttribute("aria-busy");
  $("sentence").replaceChildren(...sentenceOf(work.item));
  $("suggested").hidden = !work.suggestion;
  markOff(work.item);
  showGuide("");
  if (work.former) tell(`You are changing an answer of yours: it is “${work.former}” until you submit.`, button("Leave it as it is", leaveAsItIs));
  else tell("");
  answer.begin(work);
  if (!document.querySelector("dialog[open]")) toSentence();
  scrollTo({ top: 0 });
  toMarks();
}

// In a text longer than its box the head, and if there is room the tail too, is what stands in view.
function toMarks() {
  const box = $("sentence");
  if (box.scrollHeight <= box.clientHeight) return;
  const places = [...box.querySelectorAll("mark")].map((mark) => mark.offsetTop - box.offsetTop);
  box.scrollTop = Math.min(...places) - box.clientHeight / 4;
}

const toSentence = () => answer.now && $("sentence").focus({ preventScroll: true });

// What was answered in another tab needs no second answer here, unless something was begun here too.
async function leaveToOther() {
  if (!answer.isUntouched()) return;
  const name = pairOf(answer.now.item);
  answer.end();
  await next();
  if (answer.now) tell(`You answered ${name} in another tab. This is the next sentence.`);
}

function leaveAsItIs() {
  dropDraft(answer.now.item.id);
  answer.end();
  next();
}

// ---- answering ---------------------------------------------------------------------------------------

const spent = () => Math.min(Math.round(performance.now() - answer.now.since), 86_400_000);

function leaveWith(act, body) {
  const { item, lease, base, comment, flagged, since } = answer.now;
  const whole = { ...body, base, comment, flagged, milliseconds: spent() };
  const told = act === "skip" ? "skip" : phraseOf(answer.now);
  remember(item, act, whole);
  const sent = queue({ act, item: item.id, lease, name: pairOf(item), answer: told, body: whole });
  if (!base) count(since);
  dropDraft(item.id);
  answer.end();
  if (reserve.round.going) afterFeedback(sent);
  else next();
}

function submit() {
  answer.keepComment();
  const { na, chosen } = answer.now;
  if (!na && !chosen.length) return say(`Nothing is chosen. Choose a relation, or ${keyOf("na") || "N/A"} if none of them holds.`);
  leaveWith("answer", { payload: { spans: [], relations: [...chosen] } });
}

function skip(reason) {
  $("skip-dialog").close();
  if (!answer.now) return;
  answer.keepComment();
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

function reopen(act) {
  $("history-dialog").close();
  if (answer.now?.item.id === act.item.id) return;
  layBack();
  const former = act.act === "skip" ? "skipped" : phraseOf(choiceOf(act.payload));
  const work = { item: act.item, base: act.number, payload: act.payload, comment: act.comment ?? "", flagged: act.flagged ?? false, former };
  reserve.putOnShow(work);
  show(work);
}

// ---- all together --------------------------------------------------------------------------------------

// These need a sentence on show; while none is there they do nothing.
const commands = {
  submit, na: answer.toggleNa, undo: answer.undo, redo: answer.redo, flag: answer.toggleFlag, comment: answer.openComment,
  skip: () => open("skip-dialog"),
  find: () => $("find").focus(),
};
const always = { history: () => openHistory(reopen), keys: () => open("keys-dialog") };

function run(command) {
  const name = command.startsWith("rel:") ? command.slice(4) : "";
  if (command in always) always[command]();
  else if (!answer.now) return false;
  else if (name) {
    answer.toggle(name);
    showGuide(name);
  } else commands[command]();
  return true;
}

function wireRelations() {
  for (const input of relations) {
    input.addEventListener("change", () => answer.toggle(input.value));
    input.addEventListener("focus", () => showGuide(input.value));
    input.closest(".rel").addEventListener("pointerenter", () => showGuide(input.value));
  }
  const focused = () => (byName.has(document.activeElement?.value) ? document.activeElement.value : "");
  form.querySelector(".rels").addEventListener("pointerleave", () => showGuide(focused()));
  whenFound({ taken: (input) => (answer.toggle(input.value), input.focus()), looked: showGuide });
}

function wireDialogs() {
  for (const dialog of document.querySelectorAll("dialog")) {
    dialog.querySelector("[data-close]")?.addEventListener("click", () => dialog.close());
    // told a moment later: whoever is in a field by then stays there
    dialog.addEventListener("close", () => document.activeElement.matches(".field") || toSentence());
  }
  const reasons = [...document.querySelectorAll("[data-reason]")];
  for (const reason of reasons) reason.addEventListener("click", () => skip(reason.dataset.reason));
  $("skip-dialog").addEventListener("keydown", (event) => {
    const reason = reasons[/^(?:Digit|Numpad)(\d)$/.exec(event.code)?.[1] - 1];
    if (!reason) return;
    event.preventDefault();
    reason.click();
  });
}

function wire() {
  wireHand(run);
  form.addEventListener("submit", (event) => (event.preventDefault(), run("submit")));
  $("na").addEventListener("change", () => run("na"));
  $("comment").addEventListener("blur", answer.keepComment);
  const clicks = { undo: "undo", redo: "redo", flag: "flag", "comment-button": "comment", skip: "skip", history: "history", "keys-button": "keys" };
  for (const [id, command] of Object.entries(clicks)) $(id).addEventListener("click", () => run(command));
  $("look-again").addEventListener("click", next);
  wireRelations();
  wireDialogs();
  wireHistory();
  wireKeys();
}

whenStopped(stopHere, next);
reserve.whenAnsweredElsewhere(leaveToOther);
wire();
showPace();
showClashes();
setInterval(showSaved, 5000);
send();
next();
