// Rows that open in place, one at a time: below a row stands what the page of its sentence shows, and the forms
// there change the sentence without leaving the list. On a phone the filters above the list are folded.

const links = [...document.querySelectorAll("#rows > tbody > tr > th a")];
const acts = document.getElementById("opened");
const filters = document.getElementById("filters");
let opened = null; // the row below the open one
let awaited = null; // request for the page of the row opened last; the replies to others come too late

const rowOf = (link) => link.closest("tr");
const linkIn = (row) => row.querySelector("th a");

function close() {
  awaited = null;
  if (!opened) return;
  const row = opened.previousElementSibling;
  row.classList.remove("is-open");
  linkIn(row).setAttribute("aria-expanded", "false");
  opened.remove();
  opened = null;
}

async function pageOf(address, request) {
  const response = await fetch(address, request);
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  return page.getElementById("about") ? page : null;
}

// Above it on the list, a sentence shows its state, outcome and answers as they are now.
function refresh(row, about) {
  const [state, outcome, answers] = about.querySelectorAll("template");
  row.querySelector("[data-head=State]").replaceChildren(state.content.cloneNode(true));
  row.querySelector("[data-head=Outcome] .short").textContent = outcome.content.textContent.trim();
  row.querySelector("[data-head=Answers] .short").textContent = answers.content.textContent.trim();
  if (state.dataset.decide) row.dataset.decide = state.dataset.decide;
  else delete row.dataset.decide;
}

function fill(row, page) {
  const about = document.adoptNode(page.getElementById("about"));
  refresh(row, about);
  if (opened?.previousElementSibling !== row) return false; // closed, or another one opened, before the reply came
  const cell = document.createElement("td");
  cell.colSpan = row.cells.length;
  const messages = page.querySelector(".messages");
  const buttons = acts.content.cloneNode(true);
  const decide = buttons.querySelector("[data-decide]");
  if (row.dataset.decide) decide.href = row.dataset.decide;
  else decide.remove();
  buttons.querySelector("[data-alone]").href = linkIn(row).href;
  buttons.querySelector("[data-close]").addEventListener("click", () => {
    close();
    linkIn(row).focus();
  });
  // spans are marked on the page of the sentence
  const link = { className: "btn", href: `${linkIn(row).href}#marking`, textContent: "Mark the known answer" };
  about.querySelector("[data-marks]")?.replaceWith(Object.assign(document.createElement("a"), link));
  for (const form of about.querySelectorAll("form")) form.addEventListener("submit", send);
  cell.append(...(messages ? [document.adoptNode(messages)] : []), about, buttons);
  opened.replaceChildren(cell);
  return true;
}

function warn(form) {
  form.ariaBusy = null;
  form.querySelector("[role=alert]")?.remove();
  const note = Object.assign(document.createElement("p"), { className: "note note--bad", role: "alert" });
  note.textContent = "No reply from the service. Send it again.";
  form.append(note);
}

async function send(event) {
  event.preventDefault();
  const { target: form, submitter } = event;
  if (form.ariaBusy) return; // pressed twice
  form.ariaBusy = "true";
  const row = opened.previousElementSibling;
  const address = form.getAttribute("action"); // `form.action` is a button of this name
  const page = await pageOf(address, { method: "POST", body: new FormData(form, submitter) }).catch(() => undefined);
  if (page === undefined) return warn(form); // what was typed stays
  if (!page) return location.assign(address);
  if (fill(row, page)) linkIn(row).focus();
}

async function toggle(link) {
  const row = rowOf(link);
  const isOpen = (awaited?.row ?? opened?.previousElementSibling) === row;
  close();
  if (isOpen) return;
  const request = (awaited = { row });
  const page = await pageOf(link.href).catch(() => null);
  if (awaited !== request) return;
  if (!page) return location.assign(link.href);
  close();
  opened = Object.assign(document.createElement("tr"), { className: "opened" });
  row.after(opened);
  row.classList.add("is-open");
  link.setAttribute("aria-expanded", "true");
  fill(row, page);
  row.scrollIntoView({ block: "nearest" });
}

for (const link of links) {
  link.setAttribute("aria-expanded", "false");
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return; // another tab
    event.preventDefault();
    toggle(link);
  });
}

const phone = matchMedia("(max-width: 40rem)");
const fold = () => filters && (filters.open = !phone.matches);
phone.addEventListener("change", fold);
fold();
