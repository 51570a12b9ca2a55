"use strict";
// The colours asked for, before the page is drawn; the button appears only where there is a script to serve it.
(() => {
  const root = document.documentElement;
  const kept = (value) => {
    try {
      if (value) localStorage.setItem("theme", value);
      return localStorage.getItem("theme");
    } catch {
      return null; // storage may be off
    }
  };
  const chosen = kept();
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    if (!button) return;
    button.hidden = false;
    button.addEventListener("click", () => {
      const now = root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
      root.dataset.theme = now === "dark" ? "light" : "dark";
      kept(root.dataset.theme);
    });
  });
})();
