// Elements built from values. Text is only ever set as text, so nothing that was typed becomes markup.
export function node(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key.startsWith("--")) made.style.setProperty(key, value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export const percent = (share) => `${(100 * share).toFixed(1)}%`;
export const signed = (number) => (number < 0 ? "−" : "+") + Math.abs(number).toFixed(2);
export const labelName = (names, label) => names[label] || `label ${label}`;

// Scores as they come may be logits; only shares of one are shown as percentages.
export function areShares(scores) {
  return scores.every((s) => s >= 0 && s <= 1.0001) && Math.abs(scores.reduce((a, b) => a + b, 0) - 1) < 0.01;
}

// One tab stop for a row of buttons; arrows move inside it.
export function roving(box, selector) {
  box.addEventListener("keydown", (event) => {
    const all = [...box.querySelectorAll(selector)];
    const at = all.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (at < 0 || to === undefined || !all[to]) return;
    event.preventDefault();
    all[at].tabIndex = -1;
    all[to].tabIndex = 0;
    all[to].focus();
  });
}

// The text with its edits marked: what went is struck through, what came is underlined.
export function marked(fields, edits) {
  const changes = new Map(edits.map((edit) => [edit.slot, edit]));
  const out = [];
  let slot = 0;
  for (const field of fields) {
    if (fields.length > 1) out.push(node("span", { class: "field" }, field.name));
    out.push(field.before);
    for (const { word, after } of field.words) {
      const edit = changes.get(slot++);
      if (!edit) out.push(word);
      else {
        if (edit.from) out.push(node("del", {}, edit.from));
        if (edit.from && edit.to) out.push(" ");
        if (edit.to) out.push(node("ins", {}, edit.to));
      }
      out.push(after);
    }
  }
  return out;
}
