// Unsent answers of this person on this device: their number, and a download.

const box = document.getElementById("unsent");
const { person, project } = box.dataset;
const KEY = /^evalsvc-(?:outbox|clashes):([^:]+):(\d+):/;

// Entries of the storage in the order in which they were added.
function stored() {
  try {
    return Object.entries(localStorage).sort(([a], [b]) => (a.replace(KEY, "") < b.replace(KEY, "") ? -1 : 1));
  } catch {
    return []; // storage is disabled
  }
}

function byProject() {
  const answers = new Map();
  for (const [key, value] of stored()) {
    const [, slug, owner] = KEY.exec(key) ?? [];
    if (owner !== person || (project && project !== slug)) continue;
    answers.set(slug, [...(answers.get(slug) ?? []), JSON.parse(value)]);
  }
  return answers;
}

const lineOf = (slug) => ({ item, name, act, answer, body }) =>
  `${JSON.stringify({ project: slug, item, name, act, answer, ...body })}\n`;

function download(slug, entries) {
  const url = URL.createObjectURL(new Blob(entries.map(lineOf(slug)), { type: "application/jsonl" }));
  Object.assign(document.createElement("a"), { href: url, download: `${slug}-unsent-answers.jsonl` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

function rowOf([slug, entries]) {
  const row = document.getElementById("unsent-row").content.cloneNode(true);
  const single = entries.length === 1;
  row.querySelector("b").textContent = `${entries.length} answer${single ? "" : "s"} for ${slug}`;
  row.querySelector("p").textContent =
    `${single ? "It is" : "They are"} sent when you open the labelling form while ${slug} is open for you.`;
  const link = row.querySelector("a");
  link.href = `${box.dataset.forms}${slug}/`;
  link.hidden = Boolean(project); // this is the page of that form
  link.setAttribute("aria-label", `Open the labelling form of ${slug}`);
  const button = row.querySelector("button");
  button.textContent = `Download answer${single ? "" : "s"}`;
  button.addEventListener("click", () => download(slug, entries));
  return row;
}

function show() {
  const answers = byProject();
  box.hidden = !answers.size;
  box.querySelector("ul").replaceChildren(...[...answers].map(rowOf));
}

addEventListener("storage", show); // a form in another tab
show();
