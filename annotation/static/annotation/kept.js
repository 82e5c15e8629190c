// Answers of this person that the service has not taken yet and that wait on this device: how many, and to take away.

const box = document.getElementById("kept");
const { person, project } = box.dataset;
const KEY = /^evalsvc-(?:outbox|clashes):([^:]+):(\d+):/;

function stored() {
  try {
    return Object.entries(localStorage).sort(([a], [b]) => (a.replace(KEY, "") < b.replace(KEY, "") ? -1 : 1));
  } catch {
    return []; // storage is switched off
  }
}

function byProject() {
  const found = new Map();
  for (const [key, value] of stored()) {
    const [, slug, owner] = KEY.exec(key) ?? [];
    if (owner === person && (!project || project === slug)) found.set(slug, [...(found.get(slug) ?? []), JSON.parse(value)]);
  }
  return found;
}

const lineOf = (slug) => ({ item, name, act, answer, body }) => `${JSON.stringify({ project: slug, item, name, act, answer, ...body })}\n`;

function download(slug, entries) {
  const url = URL.createObjectURL(new Blob(entries.map(lineOf(slug)), { type: "application/jsonl" }));
  Object.assign(document.createElement("a"), { href: url, download: `${slug}-kept-answers.jsonl` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

function rowOf([slug, entries]) {
  const row = document.getElementById("kept-row").content.cloneNode(true);
  const one = entries.length === 1;
  row.querySelector("b").textContent = `${entries.length} answer${one ? "" : "s"} for ${slug}`;
  row.querySelector("p").textContent = `${one ? "It goes out" : "They go out in order"} when you open the form here, once ${slug} is open for you.`;
  row.querySelector("a").href = `${box.dataset.forms}${slug}/`;
  row.querySelector("a").hidden = Boolean(project); // this is where the form was looked for
  row.querySelector("a").setAttribute("aria-label", `Open the form of ${slug}`);
  row.querySelector("button").textContent = `Download ${one ? "it" : "them"}`;
  row.querySelector("button").addEventListener("click", () => download(slug, entries));
  return row;
}

function show() {
  const found = byProject();
  box.hidden = !found.size;
  box.querySelector("ul").replaceChildren(...[...found].map(rowOf));
}

addEventListener("storage", show); // a form in another tab
show();
