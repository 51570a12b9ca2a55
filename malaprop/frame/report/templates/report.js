"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const make = (name, className, text) => {
    const node = document.createElement(name);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  };

  const root = document.documentElement;
  const toggle = byId("theme");
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const remember = (value) => { try { localStorage.setItem("malaprop-theme", value); } catch { /* a page without storage */ } };
  const remembered = () => { try { return localStorage.getItem("malaprop-theme"); } catch { return null; } };
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const showTheme = () => {
    toggle.textContent = dark() ? "Light" : "Dark";
    toggle.setAttribute("aria-label", dark() ? "Switch to light colours" : "Switch to dark colours");
    toggle.setAttribute("aria-pressed", String(dark()));
  };
  if (["light", "dark"].includes(remembered())) root.dataset.theme = remembered();
  toggle.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    remember(root.dataset.theme);
    showTheme();
  });
  system.addEventListener("change", showTheme);
  showTheme();

  const print = (what) => { root.dataset.print = what; window.print(); delete root.dataset.print; };
  byId("print").addEventListener("click", () => print("summary"));
  byId("print-all").addEventListener("click", () => print("all"));

  const data = JSON.parse(byId("data").textContent);
  const STATUSES = ["success", "failed", "skipped", "error"];
  const PAGE = 25;
  const LONG = 900;
  const rows = data.rows.map((row, place) => {
    const [run, text, status, label, before, after, scoreBefore, scoreAfter, asked, share, patches, reason, id, validity, meaning] = row;
    return {
      place, label, before, after, scoreBefore, scoreAfter, asked, share, patches, reason, id, validity, meaning,
      run: data.runs[run], fields: data.texts[text], status: STATUSES[status], haystack: null,
    };
  });
  const hay = (row) => {
    if (row.haystack === null) {
      const parts = row.fields.map((field) => field[1]).concat(row.patches.map((patch) => patch[3]), row.reason ?? "", row.id);
      row.haystack = parts.join("\n").toLowerCase();
    }
    return row.haystack;
  };
  const attacked = (row) => row.status === "success" || row.status === "failed";
  const drop = (row) => (row.scoreAfter === null || row.scoreBefore === null ? null : row.scoreAfter - row.scoreBefore);
  const labelName = (row, label) => (label === null ? "–" : row.run.labels[label] ?? String(label));

  // A text with characters beyond the basic plane is cut by characters, as the offsets are.
  const cut = (text, start, end) => (/[\ud800-\udfff]/.test(text) ? Array.from(text).slice(start, end).join("") : text.slice(start, end));
  const size = (text) => (/[\ud800-\udfff]/.test(text) ? Array.from(text).length : text.length);

  // A word of which a few letters changed has just those letters set off: look-alikes are told from the word they replace.
  const came = (old, fresh) => {
    const node = make("ins");
    const a = Array.from(old), b = Array.from(fresh);
    let head = 0, tail = 0;
    while (head < Math.min(a.length, b.length) && a[head] === b[head]) head += 1;
    while (tail < Math.min(a.length, b.length) - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
    const letters = old && !/\s/.test(fresh) && head + tail >= Math.max(2, b.length / 2) && head + tail < b.length;
    if (letters) {
      node.append(b.slice(0, head).join(""), make("b", "", b.slice(head, b.length - tail).join("")), b.slice(b.length - tail).join(""));
    } else {
      node.textContent = fresh;
    }
    const foreign = b.filter((c) => c > "\u007f");
    if (foreign.length) node.title = foreign.map((c) => `${c} is U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`).join(", ");
    return node;
  };

  const marked = (row) => {
    const box = make("div");
    row.fields.forEach(([name, text], number) => {
      if (row.fields.length > 1) box.append(make("span", "field", name));
      const line = make("div");
      line.dir = "auto";
      let at = 0;
      for (const [field, start, end, fresh] of row.patches) {
        if (field !== number) continue;
        line.append(cut(text, at, start));
        const old = cut(text, start, end);
        if (old) line.append(make("del", "", old));
        if (old && fresh && !/^\s/.test(fresh)) line.append(" ");
        if (fresh) line.append(came(old, fresh));
        at = end;
      }
      line.append(cut(text, at, size(text)));
      if (text.length > LONG) {
        line.className = "long";
        const more = make("button", "more", "Show all of it");
        more.type = "button";
        more.addEventListener("click", () => { line.classList.add("open"); more.remove(); });
        box.append(line, more);
      } else {
        box.append(line);
      }
    });
    if (row.reason) box.append(make("span", "reason", row.reason));
    return box;
  };

  const badge = (row) => {
    if (!row.validity) return [];
    const node = make("span", `verdict ${row.validity}`, { kept: "meaning kept", unsure: "unsure", changed: "meaning changed" }[row.validity]);
    node.title = `The judge gives ${row.meaning.toFixed(2)}: the chance that a reader finds the same meaning and label.`;
    return [" ", node];
  };

  const score = (value) => (value === null ? "–" : value.toFixed(2));
  const columns = [
    { name: "Victim", key: (row) => row.run.victim, show: (row) => make("td", "name", row.run.victim) },
    { name: "Attack", key: (row) => row.run.attack, show: (row) => make("td", "name", row.run.attack) },
    {
      name: "Status", key: (row) => STATUSES.indexOf(row.status),
      show: (row) => { const cell = make("td"); cell.append(make("span", `status ${row.status}`, row.status), ...badge(row)); return cell; },
    },
    { name: "Text", key: (row) => row.fields[0][1].toLowerCase(), show: (row) => { const cell = make("td", "text"); cell.append(marked(row)); return cell; } },
    {
      name: "Prediction", key: (row) => labelName(row, row.before),
      show: (row) => make("td", "name", row.after === null ? labelName(row, row.before) : `${labelName(row, row.before)} → ${labelName(row, row.after)}`),
    },
    {
      name: "True label’s score", key: drop,
      show: (row) => make("td", "narrow", row.scoreAfter === null ? score(row.scoreBefore) : `${score(row.scoreBefore)} → ${score(row.scoreAfter)}`),
    },
    { name: "Changed", key: (row) => (attacked(row) ? row.share : null), show: (row) => make("td", "narrow", attacked(row) ? `${(100 * row.share).toFixed(1)}%` : "–") },
    { name: "Queries", key: (row) => row.asked, show: (row) => make("td", "narrow", row.asked.toLocaleString("en")) },
  ];

  const state = { page: 0, column: null, down: false };
  const fields = { search: byId("search"), victim: byId("by-victim"), attack: byId("by-attack"), status: byId("by-status") };
  const fill = (select, names) => names.forEach((name) => { const option = make("option", "", name); option.value = name; select.append(option); });
  fill(fields.victim, [...new Set(data.runs.map((run) => run.victim))]);
  fill(fields.attack, [...new Set(data.runs.map((run) => run.attack))]);
  fill(fields.status, STATUSES.filter((status) => rows.some((row) => row.status === status)));

  const wanted = () => {
    const word = fields.search.value.trim().toLowerCase();
    const { victim, attack, status } = fields;
    const found = rows.filter((row) =>
      (!victim.value || row.run.victim === victim.value) && (!attack.value || row.run.attack === attack.value) &&
      (!status.value || row.status === status.value) && (!word || hay(row).includes(word)));
    if (state.column === null) return found;
    const { key } = columns[state.column];
    const sign = state.down ? -1 : 1;
    const keyed = found.map((row) => [key(row), row]);
    keyed.sort(([a, first], [b, second]) => {
      if (a === b) return first.place - second.place;
      if (a === null || b === null) return a === null ? 1 : -1;
      return (a < b ? -1 : 1) * sign;
    });
    return keyed.map(([, row]) => row);
  };

  const draw = () => {
    const found = wanted();
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    state.page = Math.min(state.page, pages - 1);
    const first = state.page * PAGE;
    const shown = found.slice(first, first + PAGE);
    const body = byId("rows");
    body.replaceChildren(...shown.map((row) => {
      const line = make("tr");
      line.title = `example ${row.id}`;
      line.append(...columns.map((column) => column.show(row)));
      return line;
    }));
    if (!shown.length) {
      const cell = make("td", "quiet", "No example fits; change the search or the filters.");
      cell.colSpan = columns.length;
      const line = make("tr");
      line.append(cell);
      body.append(line);
    }
    byId("count").textContent = shown.length ? `${first + 1}–${first + shown.length} of ${found.length.toLocaleString("en")}` : "0 of 0";
    byId("previous").disabled = state.page === 0;
    byId("next").disabled = state.page >= pages - 1;
  };

  const heads = columns.map((column, place) => {
    const head = make("th");
    head.scope = "col";
    const button = make("button", "", column.name);
    button.type = "button";
    button.addEventListener("click", () => {
      state.down = state.column === place ? !state.down : false;
      state.column = place;
      state.page = 0;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      draw();
    });
    head.append(button);
    return head;
  });
  byId("columns").append(...heads);

  // For a spreadsheet: all rows that the filters let through, not only those of this page; each text before and after.
  const after = (row) => row.fields.map(([, text], number) => {
    let at = 0, whole = "";
    for (const [field, start, end, fresh] of row.patches) {
      if (field !== number) continue;
      whole += cut(text, at, start) + fresh;
      at = end;
    }
    return whole + cut(text, at, size(text));
  }).join(" | ");
  const HEAD = ["id", "victim", "attack", "status", "label", "before", "after", "score before", "score after", "changed", "queries", "text", "changed text", "reason"];
  byId("rows").closest("table").allRows = () => [HEAD, ...wanted().map((row) => [
    row.id, row.run.victim, row.run.attack, row.status, labelName(row, row.label), labelName(row, row.before), labelName(row, row.after),
    row.scoreBefore ?? "", row.scoreAfter ?? "", row.share, row.asked, row.fields.map((field) => field[1]).join(" | "),
    row.patches.length ? after(row) : "", row.reason ?? "",
  ].map(String))];

  let waiting = 0;
  const restart = () => { clearTimeout(waiting); state.page = 0; draw(); };
  fields.search.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(restart, 80); });
  [fields.victim, fields.attack, fields.status].forEach((select) => select.addEventListener("change", restart));
  byId("controls").addEventListener("submit", (event) => { event.preventDefault(); restart(); });
  byId("controls").addEventListener("reset", () => setTimeout(() => {
    state.column = null;
    state.down = false;
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    restart();
  }));
  const turn = (step) => { state.page += step; draw(); byId("examples").scrollIntoView({ block: "start" }); };
  byId("previous").addEventListener("click", () => turn(-1));
  byId("next").addEventListener("click", () => turn(1));
  draw();
})();
