"use strict";
// Every figure of the page can be saved as SVG or PNG, every table as CSV; all of it is made here, nothing is sent.
(() => {
  const make = (name, className, text) => {
    const node = document.createElement(name);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const save = (name, blob) => {
    const link = make("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  const fileName = (title, kind) => `${title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 80) || "figure"}.${kind}`;

  // What the page's style sheet gives a figure goes into the file, for there is no style sheet there.
  const KEPT = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity", "font-family",
    "font-size", "font-weight", "font-style", "text-anchor", "dominant-baseline", "letter-spacing", "visibility"];
  const SVG = "http://www.w3.org/2000/svg"; // a name, not an address
  const LINE = 20;
  const draw = (name, given, text) => {
    const node = document.createElementNS(SVG, name);
    Object.entries(given).forEach(([key, value]) => node.setAttribute(key, value));
    if (text !== undefined) node.textContent = text;
    return node;
  };
  // The key of a figure stands beside it on the page, and below it in the file.
  const addKey = (svg, copy, box) => {
    const items = [...(svg.closest("figure")?.querySelectorAll(".legend li") ?? [])];
    items.forEach((item, place) => {
      const y = box.y + box.height + LINE * (place + 1);
      const mark = item.querySelector("svg");
      const ink = getComputedStyle(item).color;
      if (mark) {
        const shown = withStyle(mark);
        Object.entries({ x: box.x + 8, y: y - 10, width: 28, height: 12 }).forEach(([key, value]) => shown.setAttribute(key, value));
        copy.append(shown);
      }
      copy.append(draw("text", { x: box.x + 44, y, style: `font:13px sans-serif;fill:${ink}` }, item.textContent.trim()));
    });
    return items.length ? LINE * (items.length + 1) : 0;
  };
  const withStyle = (svg) => {
    const copy = svg.cloneNode(true);
    const nodes = [svg, ...svg.querySelectorAll("*")];
    [copy, ...copy.querySelectorAll("*")].forEach((node, place) => {
      const style = getComputedStyle(nodes[place]);
      KEPT.forEach((name) => node.style.setProperty(name, style.getPropertyValue(name)));
      node.removeAttribute("class");
    });
    return copy;
  };
  const standAlone = (svg) => {
    const copy = withStyle(svg);
    const box = svg.viewBox.baseVal;
    const [width, height] = [box.width, box.height + addKey(svg, copy, box)];
    copy.setAttribute("viewBox", `${box.x} ${box.y} ${width} ${height}`);
    copy.setAttribute("xmlns", SVG);
    copy.setAttribute("width", width);
    copy.setAttribute("height", height);
    copy.style.background = getComputedStyle(document.documentElement).getPropertyValue("--card").trim() || "#fff";
    return { text: new XMLSerializer().serializeToString(copy), width, height, paper: copy.style.background };
  };
  const saveSvg = (svg, title) => save(fileName(title, "svg"), new Blob([standAlone(svg).text], { type: "image/svg+xml" }));
  const savePng = (svg, title) => {
    const { text, width, height, paper } = standAlone(svg);
    const image = new Image();
    image.addEventListener("load", () => {
      const canvas = make("canvas");
      canvas.width = Math.ceil(3 * width);
      canvas.height = Math.ceil(3 * height);
      const pen = canvas.getContext("2d");
      pen.fillStyle = paper;
      pen.fillRect(0, 0, canvas.width, canvas.height);
      pen.drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => save(fileName(title, "png"), blob), "image/png");
    });
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  };

  // A cell that a spreadsheet would take for a formula is kept from being one: texts come from outside.
  const cell = (text) => {
    const plain = text.replace(/\s+/g, " ").trim();
    const safe = /^[=+\-@]/.test(plain) && !/^[+-]?[\d.,]+%?$/.test(plain) ? `'${plain}` : plain;
    return /[",]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
  };
  const words = (node) => [...node.childNodes].map((one) => one.textContent).join(" ");
  const shown = (table) => [...table.rows].map((row) => [...row.cells].map(words));
  const saveCsv = (table, title) => {
    const rows = table.allRows ? table.allRows() : shown(table);
    const text = rows.map((row) => row.map(cell).join(",")).join("\r\n");
    save(fileName(title, "csv"), new Blob(["\ufeff", text, "\r\n"], { type: "text/csv" }));
  };

  const titleOf = (node) => {
    const caption = node.closest("figure")?.querySelector("figcaption")?.firstChild?.textContent;
    const own = node.querySelector("title")?.textContent || node.closest("[role=region]")?.getAttribute("aria-label");
    const part = node.closest("section")?.querySelector("h2")?.textContent;
    return [part, caption || own].filter(Boolean).join(" ") || document.title;
  };
  const offer = (after, node, kinds) => {
    const title = titleOf(node);
    const line = make("p", "export");
    Object.entries(kinds).forEach(([kind, act]) => {
      const button = make("button", "save", kind);
      button.type = "button";
      button.setAttribute("aria-label", `Save ${title} as ${kind}`);
      button.addEventListener("click", () => act(node, title));
      line.append(button);
    });
    after.after(line);
  };
  document.querySelectorAll("main svg[role=img]").forEach((svg) => offer(svg, svg, { SVG: saveSvg, PNG: savePng }));
  document.querySelectorAll("main table").forEach((table) => offer(table.closest(".scroll") ?? table, table, { CSV: saveCsv }));
})();
