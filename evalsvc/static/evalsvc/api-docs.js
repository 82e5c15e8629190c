// The description of the API wears the theme of the other pages: its own style sheet has a dark one, by this class.
(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const wear = () => root.classList.toggle("dark-mode", root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  system.addEventListener("change", wear);
  wear();
})();
