// What the theme leaves out for people who use a keyboard or a screen reader.
(() => {
  const mend = () => {
    document.querySelectorAll(".md-search[role=dialog]").forEach((box) => box.setAttribute("aria-label", "Search"));
    document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])").forEach((box, place) => {
      box.tabIndex = 0;
      box.setAttribute("role", "region");
      box.setAttribute("aria-label", `Table ${place + 1}`);
    });
  };
  mend();
  new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
})();
