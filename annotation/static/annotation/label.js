// The labelling form: shows a leased sentence, takes the answer, queues it for sending, shows the next.

import {
  $, api, button, byName, choiceOf, digitOf, form, marksSpans, open, phraseOf, relations, showError, showNotice,
} from "./label/page.js";
import * as answer from "./label/answer.js";
import { showConflicts, whenResent } from "./label/conflicts.js";
import { removeDraft } from "./label/drafts.js";
import { showFeedback } from "./label/feedback.js";
import { dimMismatches, showGuide } from "./label/guide.js";
import { forgetSent, openHistory, remember, renumber, wireHistory } from "./label/history.js";
import { wireKeyboard } from "./label/keyboard.js";
import { keyOf, wireKeys } from "./label/keys.js";
import { queue, send, whenAccepted } from "./label/outbox.js";
import { countDone, showProgress } from "./label/progress.js";
import * as reserve from "./label/reserve.js";
import { wireSearch } from "./label/search.js";
import { pairOf, sentenceOf } from "./label/sentence.js";
import { beginSpans, problemWithSpans, showUnseen, wireSpans } from "./label/spans.js";
import * as status from "./label/status.js";
import { unsent } from "./label/storage.js";

const STATUS_REFRESH = 5000;
const LONGEST_TIME = 86_400_000; // milliseconds; the most the API accepts

// ---- from sentence to sentence ---------------------------------------------------------------------

async function next() {
  if (reserve.isEmpty() || status.stopReason()) await waitForSentence();
  if (answer.current) return; // an earlier answer was opened meanwhile
  if (status.stopReason()) return finish();
  const work = reserve.takeNext();
  if (work) show(work);
  else finish();
  if (work && !reserve.isQualifying()) reserve.fillReserve().catch(status.reportFailure);
}

// Unsent answers go first: accepting them may make further sentences available.
async function waitForSentence() {
  form.setAttribute("aria-busy", "true");
  const slow = setTimeout(() => !answer.current && !status.isOffline() && showOnly("searching"), 1000);
  for (let pause = 500; ; pause = Math.min(pause * 2, 8000)) {
    // known to be offline: an earlier request for sentences may take its whole time limit to fail
    if (status.isOffline() && !answer.current) showOnly("waiting");
    try {
      if (unsent.read().length && !status.isOffline()) await Promise.race([send(), reserve.arrival()]);
      await reserve.fetchOne();
      break;
    } catch (error) {
      status.reportFailure(error);
      if (!answer.current) showOnly("waiting");
      await Promise.race([new Promise((resolve) => setTimeout(resolve, pause)), reserve.arrival()]);
    }
  }
  clearTimeout(slow);
  if (status.isOffline() && !unsent.read().length) status.markOnline();
  status.showStatus();
}

function showOnly(id) {
  for (const part of [form, $("waiting"), $("searching"), $("finished")]) part.hidden = part.id !== id;
  $("keys-line").hidden = id !== form.id;
}

const finishedTexts = ["title", "text"].map((part) => $(`finished-${part}`).textContent);

function finish() {
  showOnly("finished");
  const reason = status.stopReason() || reserve.refusalReason();
  const [title, text] = reason ? ["You can’t continue for now", reason] : finishedTexts;
  $("finished").dataset.state = reason ? "stopped" : "done";
  $("finished-title").textContent = title;
  $("finished-text").textContent = text;
  $("finished").focus();
}

// The project is closed, or the person is paused or no longer a member: the open sentence waits in reserve.
function onStopped() {
  layAside();
  reserve.setCurrent(null);
  finish();
}

function layAside() {
  if (!answer.current) return;
  answer.saveComment();
  const { item, lease, base, suggestion, former } = answer.current;
  reserve.putBack({ item, lease, base, suggestion, former, ...answer.snapshot() });
  answer.end();
}

function show(work) {
  showOnly(form.id);
  form.removeAttribute("aria-busy");
  if (marksSpans) beginSpans(work);
  else $("sentence").replaceChildren(...sentenceOf(work.item));
  $("suggested").hidden = !work.suggestion;
  dimMismatches(work.item);
  showGuide("");
  if (work.former) {
    const text = `You are changing an earlier answer. It stays “${work.former}” until you submit.`;
    showNotice(text, button("Keep the earlier answer", keepEarlierAnswer));
  } else showNotice("");
  answer.begin(work);
  if (!document.querySelector("dialog[open]")) focusSentence();
  scrollTo({ top: 0 });
  scrollToMarks();
}

// In a text longer than its box, scroll to the head, and to the tail as well if there is room.
function scrollToMarks() {
  const box = $("sentence");
  if (box.scrollHeight <= box.clientHeight) return;
  const places = [...box.querySelectorAll("mark")].map((mark) => mark.offsetTop - box.offsetTop);
  box.scrollTop = places.length ? Math.min(...places) - box.clientHeight / 4 : 0;
}

const focusSentence = () => answer.current && $("sentence").focus({ preventScroll: true });

// Keys go on to act on the text after a click on a button, which would keep them.
const afterPointer = () => marksSpans && !document.activeElement.matches(":focus-visible") && focusSentence();

// A sentence answered in another tab needs no second answer, unless one was begun here.
async function onAnsweredElsewhere() {
  if (!answer.isUntouched()) return;
  const name = pairOf(answer.current.item);
  answer.end();
  await next();
  if (answer.current) showNotice(`You answered ${name} in another tab. This is the next sentence.`);
}

function keepEarlierAnswer() {
  removeDraft(answer.current.item.id);
  answer.end();
  next();
}

// ---- answering -------------------------------------------------------------------------------------

function finishWith(act, fields) {
  const { item, lease, base, comment, flagged, since } = answer.current;
  const milliseconds = Math.min(Math.round(performance.now() - since), LONGEST_TIME);
  const guideline = Number(api.guideline);
  const body = { ...fields, base, comment, flagged, milliseconds, guideline };
  const phrase = act === "skip" ? "skip" : phraseOf(answer.current);
  remember(item, act, body);
  const sent = queue({ act, item: item.id, lease, name: pairOf(item), answer: phrase, body });
  if (!base) countDone(since, act === "answer");
  removeDraft(item.id);
  answer.end();
  if (reserve.isQualifying()) nextAfterFeedback(sent);
  else next();
}

function submit() {
  answer.saveComment();
  const { na, spans, chosen } = answer.current;
  if (marksSpans && showUnseen()) return focusSentence();
  const problem = marksSpans && problemWithSpans();
  if (problem) return showError(problem);
  if (na || spans.length || chosen.length) finishWith("answer", { payload: { spans, relations: [...chosen] } });
  else if (marksSpans) showError(`Nothing is marked. Mark a span, or ${keyOf("na") || "N/A"} if there is none.`);
  else showError(`Nothing is chosen. Choose a relation, or ${keyOf("na") || "N/A"} if none applies.`);
}

function skip(reason) {
  $("skip-dialog").close();
  if (!answer.current) return;
  answer.saveComment();
  finishWith("skip", { reason });
}

// In the qualification round the next sentence follows after the feedback on this one.
let feedback = null;

async function nextAfterFeedback(sent) {
  form.setAttribute("aria-busy", "true");
  await sent;
  const received = feedback;
  feedback = null;
  if (received) await showFeedback(received);
  if (received?.passed === true) reserve.endQualification();
  next();
}

function reopen(vote) {
  $("history-dialog").close();
  if (answer.current?.item.id === vote.item.id) return;
  layAside();
  const former = vote.act === "skip" ? "skipped" : phraseOf(choiceOf(vote.payload));
  const { item, payload, comment = "", flagged = false } = vote;
  const work = { item, base: vote.number, payload, comment, flagged, former };
  reserve.setCurrent(work);
  show(work);
}

// ---- commands --------------------------------------------------------------------------------------

// These need a sentence on screen.
const commands = {
  submit,
  na: answer.toggleNa,
  undo: answer.undo,
  redo: answer.redo,
  flag: answer.toggleFlag,
  comment: answer.openComment,
  skip: () => open("skip-dialog"),
  find: () => $("find")?.focus(),
};
const alwaysAvailable = { history: () => openHistory(reopen), keys: () => open("keys-dialog") };

function run(command) {
  if (command in alwaysAvailable) alwaysAvailable[command]();
  else if (!answer.current) return false;
  else if (command.startsWith("rel:")) {
    const name = command.slice("rel:".length);
    answer.toggle(name);
    showGuide(name);
  } else commands[command]();
  return true;
}

function wireRelations() {
  if (marksSpans) return;
  for (const input of relations) {
    input.addEventListener("change", () => answer.toggle(input.value));
    input.addEventListener("focus", () => showGuide(input.value));
    input.closest(".rel").addEventListener("pointerenter", () => showGuide(input.value));
  }
  const focused = () => (byName.has(document.activeElement?.value) ? document.activeElement.value : "");
  form.querySelector(".rels").addEventListener("pointerleave", () => showGuide(focused()));
  wireSearch({
    choose(input) {
      answer.toggle(input.value);
      input.focus();
    },
    highlight: showGuide,
  });
}

function wireDialogs() {
  for (const dialog of document.querySelectorAll("dialog")) {
    dialog.querySelector("[data-close]")?.addEventListener("click", () => dialog.close());
    // the event comes a moment later: a field that has the focus by then keeps it
    dialog.addEventListener("close", () => document.activeElement.matches(".field") || focusSentence());
  }
  const reasons = [...document.querySelectorAll("[data-reason]")];
  for (const reason of reasons) reason.addEventListener("click", () => skip(reason.dataset.reason));
  $("skip-dialog").addEventListener("keydown", (event) => {
    const reason = reasons[digitOf(event) - 1];
    if (!reason) return;
    event.preventDefault();
    reason.click();
  });
}

const BUTTONS = {
  undo: "undo",
  redo: "redo",
  flag: "flag",
  "comment-button": "comment",
  skip: "skip",
  history: "history",
  "keys-button": "keys",
};

function wire() {
  if (marksSpans) wireSpans(); // before the form's keys, which take what the editor leaves
  wireKeyboard(run);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    run("submit");
  });
  $("na").addEventListener("change", () => {
    run("na");
    afterPointer();
  });
  $("comment").addEventListener("blur", answer.saveComment);
  for (const [id, command] of Object.entries(BUTTONS))
    $(id).addEventListener("click", () => {
      run(command);
      if (["undo", "redo", "flag"].includes(command)) afterPointer();
    });
  $("look-again").addEventListener("click", next);
  wireRelations();
  wireDialogs();
  wireHistory();
  wireKeys();
}

whenAccepted((entry, data) => {
  forgetSent();
  feedback = data?.feedback ?? feedback;
});
whenResent((entry) => {
  renumber(entry);
  return queue(entry);
});
status.whenStopped(onStopped, next);
reserve.whenAnsweredElsewhere(onAnsweredElsewhere);
wire();
forgetSent();
showProgress();
showConflicts();
setInterval(status.showStatus, STATUS_REFRESH);
send();
next();
