// The page: scores follow the typing, words are weighed when it rests, attacks are told step by step.
import { History } from "./history.js";
import { ask, listen } from "./server.js";
import { Victim } from "./victim.js";

const REST = 120; // ms without a key before the server is asked
const DEAD = 503; // the victim does not answer; all else is about the text
const byId = (id) => document.getElementById(id);
const setting = JSON.parse(byId("setting").dataset.setting);
const inputs = [...document.querySelectorAll("textarea[data-field]")];
const victims = setting.victims.map((one, number) => new Victim(number, one, put));
const history = new History();
let asking = new AbortController(); // for what is said of the text as it stands
let attacking = null;
let timer = 0;
let cut = [];

byId("victims").append(...victims.map((victim) => victim.box));

const fieldsNow = () => Object.fromEntries(inputs.map((input) => [input.dataset.field, input.value]));

function wrong(words) {
  byId("problem").hidden = !words;
  byId("problem").textContent = words || "";
}

async function look() {
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  const fields = fieldsNow();
  await Promise.all(victims.map((victim) => lookAt(victim, fields, signal)));
  if (signal.aborted) return;
  byId("news").textContent = victims.map((victim) => `${setting.victims[victim.number].name}: ${victim.says.textContent || "no answer"}`).join("; ");
}

// One model's view; a slow or dead one does not keep the others.
async function lookAt(victim, fields, signal) {
  try {
    const found = await ask("/api/scores", { fields, victim: victim.number }, signal);
    wrong("");
    cut = found.fields;
    victim.fields = fields;
    victim.show(found);
    await weigh(victim, fields, found.fields, signal);
  } catch (error) {
    if (error.name === "AbortError") return;
    if (error.status === DEAD) victim.show({ error: error.message });
    else wrong(error.message);
  }
}

async function weigh(victim, fields, parts, signal) {
  try {
    victim.weigh(parts, await ask("/api/words", { fields, victim: victim.number }, signal));
    victim.attend();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    victim.words.textContent = error.message;
  }
}

function put(slot, word) {
  let at = 0;
  cut.forEach((field, number) => {
    const words = field.words.map((one) => ({ ...one }));
    if (slot >= at && slot < at + words.length) {
      words[slot - at].word = word;
      inputs[number].value = field.before + words.map((one) => one.word + one.after).join("");
    }
    at += words.length;
  });
  look();
}

async function attack(event) {
  event.preventDefault();
  if (attacking) return;
  attacking = new AbortController();
  byId("attack").disabled = true;
  byId("stop").disabled = false;
  wrong("");
  const recipe = byId("recipe").value;
  const label = byId("label").value;
  const sent = { fields: fieldsNow(), recipe, label: label === "" ? null : Number(label), seed: Number(byId("seed").value) || 0 };
  try {
    await listen("/api/attack", sent, attacking.signal, (kind, found) => hear(kind, found, recipe));
  } catch (error) {
    const stopped = error.name === "AbortError";
    if (!stopped) wrong(error.message);
    victims.forEach((victim) => {
      if (victim.going) victim.failed(stopped ? "stopped" : error.message);
    });
  }
  victims.forEach((victim) => {
    victim.going = false;
  });
  attacking = null;
  byId("attack").disabled = false;
  byId("stop").disabled = true;
}

function hear(kind, found, recipe) {
  if (kind === "text") {
    victims.forEach((victim) => {
      victim.going = true;
      victim.start(found.fields, recipe);
    });
    return;
  }
  const victim = victims[found.victim];
  if (kind === "step") victim.step(found);
  if (kind === "asking") victim.asking(found);
  if (kind === "problem") victim.failed(found.words);
  if (kind === "end") {
    victim.end(found);
    history.add(setting.victims[found.victim].name, recipe, found.record);
    byId("news").textContent = `${setting.victims[found.victim].name}: ${victim.state.textContent} after ${found.asked} queries`;
  }
  if (kind === "end" || kind === "problem") victim.going = false;
}

for (const input of inputs) {
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(look, REST);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("ask").requestSubmit();
  });
}
byId("ask").addEventListener("submit", attack);
byId("stop").addEventListener("click", () => attacking?.abort());
byId("numbers").addEventListener("change", (event) => byId("victims").classList.toggle("all-numbers", event.target.checked));
byId("example")?.addEventListener("change", (event) => {
  const chosen = setting.examples[event.target.value];
  if (!chosen) return;
  inputs.forEach((input) => {
    input.value = chosen.fields[input.dataset.field];
  });
  look();
});
function about() {
  byId("about").textContent = setting.recipes[byId("recipe").value] || "";
}
byId("recipe").addEventListener("change", about);
about();
if (inputs.some((input) => input.value.trim())) look();
