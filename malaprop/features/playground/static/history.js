// The tries of this tab, each with the line a run would have written; they can be downloaded as one file of records.
import { node } from "./nodes.js";

const KEY = "malaprop-tries";
const MOST = 200;
const SAID = { success: "changed its mind", failed: "held out", skipped: "skipped", error: "error" };

export class History {
  constructor() {
    this.rows = document.getElementById("tries");
    this.tries = this.#kept();
    document.getElementById("download").addEventListener("click", () => this.download());
    document.getElementById("clear").addEventListener("click", () => {
      this.tries = [];
      this.#keep();
    });
    this.#draw();
  }

  add(victim, recipe, record) {
    this.tries.push({ victim, recipe, record });
    this.tries = this.tries.slice(-MOST);
    this.#keep();
  }

  download() {
    const lines = this.tries.map((one) => `${one.record}\n`).join("");
    const address = URL.createObjectURL(new Blob([lines], { type: "application/jsonl" }));
    node("a", { href: address, download: "outcomes.jsonl" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }

  #kept() {
    try {
      return JSON.parse(sessionStorage.getItem(KEY)) || [];
    } catch {
      return [];
    }
  }

  #keep() {
    try {
      sessionStorage.setItem(KEY, JSON.stringify(this.tries));
    } catch {
      // full or switched off: they live as long as the page
    }
    this.#draw();
  }

  #draw() {
    const none = !this.tries.length;
    document.getElementById("no-tries").hidden = !none;
    document.getElementById("history").hidden = none;
    for (const id of ["download", "clear"]) document.getElementById(id).disabled = none;
    this.rows.replaceChildren(...this.tries.toReversed().map(({ victim, recipe, record }) => {
      const { status, queries, original, adversarial } = JSON.parse(record);
      const text = Object.values((adversarial || original).fields).join(" / ");
      return node("tr", {}, node("td", {}, victim), node("td", {}, recipe), node("td", {}, node("span", { class: `status ${status}` }, SAID[status])),
        node("td", { class: "number" }, queries.asked.toLocaleString("en")), node("td", {}, text.length > 160 ? `${text.slice(0, 160)} …` : text));
    }));
  }
}
