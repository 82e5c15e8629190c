// An address that is left to its title shows what the title makes, as the service will; what was typed there stays.

const plain = (text) => text.replace(/^[-_]+|[-_]+$/g, "");

function addressOf(title, longest) {
  const letters = title.normalize("NFKD").replace(/[^\x20-\x7e]/g, "").toLowerCase();
  const made = plain(letters.replace(/[^\w\s-]/g, "").replace(/[-\s]+/g, "-"));
  return plain(longest > 0 ? made.slice(0, longest) : made);
}

function follow(address) {
  const title = address.form.elements[address.dataset.madeFrom];
  const made = () => addressOf(title.value, address.maxLength);
  let left = address.value === "" || address.value === made();
  const show = () => {
    if (left) address.value = made();
  };
  title.addEventListener("input", show);
  address.addEventListener("input", () => {
    left = address.value === "";
  });
  show();
}

document.querySelectorAll("[data-made-from]").forEach(follow);
