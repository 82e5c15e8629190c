// The theme: follows the system until told light or dark. Loaded in the head, so that no page flashes.
(() => {
  const KEY = "evalsvc-theme";
  const ORDER = ["system", "light", "dark"];
  const SAYS = { system: "Theme: follows your system", light: "Theme: light", dark: "Theme: dark" };

  function kept() {
    try {
      const theme = localStorage.getItem(KEY);
      return ORDER.includes(theme) ? theme : "system";
    } catch {
      return "system"; // storage is switched off: nothing to remember
    }
  }

  function keep(theme) {
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      return;
    }
  }

  function apply(theme) {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  }

  apply(kept());
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    if (!button) return;
    let theme = kept();
    const show = () => {
      apply(theme);
      button.setAttribute("aria-label", SAYS[theme]);
      button.title = SAYS[theme];
    };
    button.addEventListener("click", () => {
      theme = ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length];
      keep(theme);
      show();
    });
    show();
  });
})();
