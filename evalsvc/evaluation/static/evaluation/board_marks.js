// Marks of a page of the board go along to its other pages.
const pages = document.getElementById("pages");
if (pages) {
  pages.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (!link) return;
    const address = new URL(link.href);
    address.searchParams.delete("systems");
    for (const box of document.querySelectorAll("input[name=systems]:checked")) {
      address.searchParams.append("systems", box.value);
    }
    link.href = address.href;
  });
}
