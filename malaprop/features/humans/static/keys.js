"use strict";
// A number chooses, Enter sends, B goes back. Without this script the page works by mouse, touch and Tab all the same.
(() => {
  const form = document.getElementById("answer");
  if (!form) return;
  let sent = false;
  form.addEventListener("submit", (event) => {
    if (sent) event.preventDefault();
    sent = true;
  });
  window.addEventListener("pageshow", () => { sent = false; });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const choice = /^[1-9]$/.test(event.key) && form.querySelector(`[data-key="${event.key}"]`);
    if (choice) {
      choice.checked = true;
      choice.focus();
      event.preventDefault();
    } else if (event.key === "Enter" && !event.target.closest("a, button")) {
      event.preventDefault();
      form.requestSubmit();
    } else if (event.key === "b" || event.key === "B") {
      document.getElementById("back").click();
    }
  });
})();
