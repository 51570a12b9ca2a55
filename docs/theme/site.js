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
  // A box above a table shows the rows that hold all of its words.
  const filter = () => {
    document.querySelectorAll(".filter-table").forEach((place) => {
      const table = [...document.querySelectorAll(".md-typeset table")].find(
        (one) => place.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING);
      if (!table || place.querySelector("input")) return;
      const box = document.createElement("input");
      box.type = "search";
      box.className = "filter";
      box.placeholder = "Type to filter: characters, labels, Jin 2019 ...";
      box.setAttribute("aria-label", "Filter the table");
      box.addEventListener("input", () => {
        const words = box.value.toLowerCase().split(/\s+/);
        table.querySelectorAll("tbody tr").forEach((row) => {
          const text = row.textContent.toLowerCase();
          row.hidden = !words.every((word) => text.includes(word));
        });
      });
      place.append(box);
    });
  };
  filter();
  mend();
  new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
})();
