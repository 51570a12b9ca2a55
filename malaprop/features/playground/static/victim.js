// One model's column: its answer, the importance of each word, what could stand there, and the attack on it.
import { areShares, labelName, marked, node, percent, roving, signed } from "./nodes.js";
import { ask } from "./server.js";

const STRONG = 0.45; // of the largest weight: such words show their number
const STATUS = { success: "changed its mind", failed: "held out", skipped: "skipped", error: "could not be attacked" };

export class Victim {
  constructor(number, setting, put) {
    this.number = number;
    this.labels = setting.labels;
    this.attends = setting.attends;
    this.put = put; // puts another word into the text
    this.steps = [];
    this.says = node("span", { class: "says" });
    this.scores = node("ul", { class: "scores", "aria-label": "Scores" });
    this.problem = node("p", { class: "wrong", hidden: true });
    this.words = node("div", { class: "words", role: "group", "aria-label": "Words by importance" });
    this.substitutes = node("div", { class: "substitutes", hidden: true, tabindex: "-1" });
    this.attack = node("div", { class: "attack", hidden: true });
    this.attention = this.attends ? this.#attentionBox() : null;
    const title = node("h2", { id: `victim-${number}` }, setting.name, this.says);
    this.box = node("section", { class: "card", "aria-labelledby": `victim-${number}` }, title, this.problem,
      this.scores, this.words, this.substitutes, this.attack, this.attention);
    roving(this.words, "button.word");
  }

  wrong(words) {
    this.problem.hidden = !words;
    this.problem.textContent = words || "";
  }

  // --- what it says

  show(found) {
    this.wrong(found.error);
    this.scores.hidden = Boolean(found.error);
    this.says.textContent = "";
    if (found.error) return;
    const shares = areShares(found.scores);
    const most = Math.max(...found.scores.map(Math.abs), 1e-9);
    this.says.textContent = labelName(this.labels, found.prediction);
    this.scores.replaceChildren(...found.scores.map((score, label) => node("li", { class: label === found.prediction ? "first" : "" },
      node("span", { class: "name" }, labelName(this.labels, label)),
      node("span", { class: "track" }, this.#fill(shares ? score : Math.max(0, score) / most)),
      node("span", { class: "value" }, shares ? percent(score) : score.toFixed(3)))));
  }

  #fill(share) {
    const made = node("div", { class: "fill" });
    made.style.setProperty("--share", percent(share));
    return made;
  }

  // --- the importance of each word

  weigh(fields, found) {
    const most = Math.max(...found.weights.map(Math.abs), 1e-9);
    const out = [];
    let slot = 0;
    for (const field of fields) {
      if (fields.length > 1) out.push(node("span", { class: "field" }, field.name));
      out.push(field.before);
      for (const { word, after } of field.words) {
        out.push(this.#word(word, slot, found.weights[slot], most), after);
        slot++;
      }
    }
    this.words.classList.toggle("long", slot > 120);
    this.words.replaceChildren(...out);
    this.substitutes.hidden = true;
  }

  #word(word, slot, weight, most) {
    const share = Math.abs(weight) / most;
    const kind = share < 0.04 ? "" : weight > 0 ? " for" : " against";
    const made = node("button", { type: "button", class: `word${kind}${share >= STRONG ? " strong" : ""}`, tabindex: slot ? "-1" : "0",
      "aria-pressed": "false", "aria-label": `${word}, ${signed(weight)}`, title: signed(weight), onclick: () => this.choose(made, slot) },
      word, node("span", { class: "weight", "aria-hidden": "true" }, signed(weight)));
    made.style.setProperty("--share", share.toFixed(3));
    return made;
  }

  async choose(button, slot) {
    const again = button.getAttribute("aria-pressed") === "true";
    for (const other of this.words.querySelectorAll("[aria-pressed=true]")) other.setAttribute("aria-pressed", "false");
    this.substitutes.hidden = again;
    if (again) return;
    button.setAttribute("aria-pressed", "true");
    this.substitutes.replaceChildren(node("p", { class: "quiet" }, "Looking for words that could stand there …"));
    try {
      const found = await ask("/api/word", { fields: this.fields, victim: this.number, slot });
      if (button.isConnected && button.getAttribute("aria-pressed") === "true") this.#list(found, slot);
    } catch (error) {
      this.substitutes.replaceChildren(node("p", { class: "wrong" }, error.message));
    }
  }

  #list(found, slot) {
    const name = labelName(this.labels, found.label);
    if (!found.substitutes.length) {
      this.substitutes.replaceChildren(node("p", { class: "quiet" }, `WordNet lists nothing that could stand for “${found.word}”.`));
      return;
    }
    const two = this.scores.children.length === 2;
    const rows = found.substitutes.map((s) => {
      const flips = two && s.likelihood < 0.5;
      return node("tr", {}, node("td", {}, s.word), node("td", { class: "number" }, signed(s.importance)),
        node("td", { class: `number${flips ? " flips" : ""}` }, percent(s.likelihood) + (flips ? " flips" : "")),
        node("td", {}, node("button", { type: "button", class: "button quiet-button", "aria-label": `Put ${s.word} in place of ${found.word}`,
          onclick: () => this.put(slot, s.word) }, "Put in")));
    });
    const head = ["Instead of “" + found.word + "”", "Importance", `Then ${name}`, ""].map((words, i) => (words
      ? node("th", { scope: "col", class: i ? "number" : "" }, words) : node("td", {})));
    this.substitutes.replaceChildren(node("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Substitutes of ${found.word}` },
      node("table", { class: "plain" }, node("thead", {}, node("tr", {}, ...head)), node("tbody", {}, ...rows))));
  }

  // --- where it looks

  #attentionBox() {
    this.map = node("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Attention map" });
    this.head = node("select", { class: "input", "aria-label": "Layer and head", hidden: true, onchange: () => this.#drawMap() });
    return node("details", { class: "attention", ontoggle: () => this.attend() }, node("summary", {}, "Attention map"), this.head, this.map);
  }

  async attend() {
    if (!this.attention || !this.attention.open || !this.fields) return;
    try {
      this.looks = await ask("/api/attention", { fields: this.fields, victim: this.number });
      const chosen = Math.max(0, this.head.selectedIndex);
      this.head.replaceChildren(...this.looks.maps.map((one) => node("option", {}, one.name)));
      this.head.selectedIndex = Math.min(chosen, this.looks.maps.length - 1);
      this.head.hidden = this.looks.maps.length < 2;
      this.#drawMap();
    } catch (error) {
      this.head.hidden = true;
      this.map.replaceChildren(node("p", { class: "wrong" }, error.message));
    }
  }

  #drawMap() {
    const { words, maps } = this.looks;
    const { queries, weights } = maps[this.head.selectedIndex];
    const most = Math.max(...weights.flat(), 1e-9);
    const head = node("tr", {}, node("th", { "aria-hidden": "true" }), ...words.map((word) => node("th", { scope: "col" }, word)));
    const rows = weights.map((row, i) => node("tr", {}, node("th", { scope: "row" }, queries[i]), ...row.map((weight) => {
      const cell = node("td", {}, (100 * weight).toFixed(0));
      cell.style.setProperty("--share", (weight / most).toFixed(3));
      return cell;
    })));
    this.map.replaceChildren(node("p", { class: "quiet" }, "Percent of its attention that each row pays to each column."),
      node("table", { class: "map" }, node("thead", {}, head), node("tbody", {}, ...rows)));
  }

  // --- the attack on it

  start(fields, recipe) {
    this.steps = [];
    this.cut = fields;
    this.state = node("span", { class: "status" }, "at work");
    this.asked = node("b", {}, "0");
    this.rest = node("span", {});
    this.now = node("p", { class: "now" });
    this.list = node("ol", { class: "steps", "aria-label": "Steps" });
    this.reason = node("p", { class: "quiet", hidden: true });
    this.now.classList.toggle("long", fields.reduce((sum, field) => sum + field.words.length, 0) > 120);
    this.attack.hidden = false;
    this.attack.replaceChildren(node("h3", {}, `Under ${recipe}`), node("p", { class: "facts" }, this.state,
      node("span", {}, this.asked, " queries"), this.rest), this.reason, this.now, this.list);
    roving(this.list, "button");
  }

  step(found) {
    this.steps.push(found);
    this.asked.textContent = found.asked.toLocaleString("en");
    const number = this.steps.length - 1;
    const before = number ? this.steps[number - 1].edits : [];
    const fresh = found.edits.filter((edit) => !before.some((old) => old.slot === edit.slot && old.to === edit.to));
    const words = fresh.slice(0, 4).map((edit) => `${edit.from || "∅"} → ${edit.to || "∅"}`).join(", ") + (fresh.length > 4 ? " …" : "");
    const score = found.scores[found.prediction];
    const says = `${labelName(this.labels, found.prediction)} ${areShares(found.scores) ? percent(score) : score.toFixed(3)}`;
    const button = node("button", { type: "button", tabindex: "-1", onclick: () => this.look(number) },
      node("span", {}, String(number)), node("span", { class: "edit" }, number ? words || "edits taken back" : "as it was"),
      node("span", { class: "asked" }, `${says} · ${found.asked.toLocaleString("en")} ${found.asked === 1 ? "query" : "queries"}`));
    this.list.append(node("li", {}, button));
    this.look(number);
  }

  look(number) {
    this.now.replaceChildren(...marked(this.cut, this.steps[number].edits));
    [...this.list.querySelectorAll("button")].forEach((button, i) => {
      if (i === number) button.setAttribute("aria-current", "step");
      else button.removeAttribute("aria-current");
      button.tabIndex = i === number ? 0 : -1;
    });
    if (number === this.steps.length - 1) this.list.scrollTop = this.list.scrollHeight;
  }

  asking(found) {
    this.asked.textContent = Math.max(found.asked, this.steps.at(-1)?.asked || 0).toLocaleString("en");
  }

  end(found) {
    this.state.textContent = STATUS[found.status];
    this.state.className = `status ${found.status}`;
    this.asked.textContent = found.asked.toLocaleString("en");
    this.rest.textContent = `${found.unique.toLocaleString("en")} distinct, ${found.forwarded.toLocaleString("en")} reached the model · ${percent(found.changed)} of words · ${found.seconds.toFixed(2)} s`;
    if (found.reason) this.#because(found.reason);
    const last = this.steps.at(-1);
    const same = last && JSON.stringify(last.edits) === JSON.stringify(found.edits);
    if (found.scores && !same) this.step({ ...found, reached: found.status === "success" });
  }

  failed(words) {
    if (!this.state) return;
    this.state.textContent = words === "stopped" ? "stopped" : "did not end";
    this.state.className = words === "stopped" ? "status" : "status error";
    if (words !== "stopped") this.#because(words);
  }

  #because(words) {
    this.reason.hidden = false;
    this.reason.textContent = words;
  }
}
