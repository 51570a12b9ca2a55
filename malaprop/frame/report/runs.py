"""The parts of the page on runs that need no script: header, matrix, a card for each victim, errors, settings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from malaprop.core.settings import to_toml
from malaprop.frame.records import Rate, abused_pairs, abused_words, accuracy_by_change, accuracy_by_queries
from malaprop.frame.records.run import is_classification
from malaprop.frame.records.summary import LEAST
from malaprop.frame.report.figures import (
    Axis,
    Bar,
    StepLine,
    compact,
    interval_bars,
    legend,
    line_chart,
    percent,
    word_bars,
)
from malaprop.frame.report.markup import Child, Markup, join, tag
from malaprop.frame.report.run_entries import (
    RunEntry,
    by_victim,
    cheapest,
    describe_draws,
    describe_stop,
    describe_validity,
    strongest,
)
from malaprop.frame.report.tables import DASH, grid, number, panel, panels, share

WORDS = 10
MANY = 8  # with more victims, the header shortens their names and the cards are folded
_MATRIX = (
    "Of all texts, how many each victim still gets right after the attack: the lower, the easier to break, and the "
    "stronger the shade. Below each, the count and the 95% interval. Where a judge of meaning was asked, only texts "
    "that keep their meaning and label count, and the last line has the raw figure: the accuracy if every flip counted."
)
_NO_MATRIX = "These attacks are not on classifiers, whose answers are right or wrong; their figures are below."


def whole(rate: Rate) -> str:
    """Return a rate in round percent, but with a decimal if rounding would wrongly show 0% or 100%."""
    if not rate.shown:
        return DASH if rate.total else "n/a"
    shown = percent(rate.value)
    if shown == "100%" and rate.hits < rate.total:
        return f"{100 * rate.value:.1f}%"
    return f"{100 * rate.value:.1f}%" if shown == "0%" and rate.hits else shown


def headline(found: Sequence[RunEntry]) -> Markup | None:
    """Return one sentence on the strongest attack; None if there is no run with labels."""
    found = _choose_labelled(found)
    if not found:
        return None
    said, stopped = _headline(found), describe_stop(found)
    return join(f"{stopped[:1].upper()}{stopped[1:]}. ", said) if stopped else said


def _headline(found: Sequence[RunEntry]) -> Markup:
    top = strongest(found)
    if top is None and any(e.summary.success.total for e in found):
        clean = max((e.summary.clean for e in found), key=lambda rate: rate.total)
        return join(f"Without an attack the victim is right on {clean}." if len(by_victim(found)) == 1 else "")
    if top is None:
        return join("No text was attacked: the victims were wrong on every one, or could not be asked.")
    summary = top.summary
    victim, attack = tag("strong", top.victim), tag("strong", top.attack)
    judged = summary.validity is not None
    raw = describe_validity(found)
    said = f" {raw[:1].upper()}{raw[1:]}." if raw else ""
    if not summary.broken.hits:
        keeping = " with a text that keeps its meaning" if judged else ""
        return join(
            f"No attack succeeds on any of the {summary.success.total:,} texts that ",
            victim,
            f" classifies correctly{keeping}.{said}",
        )
    words = 100 * (summary.changed_share.mean or 0.0)
    kept = ", with the meaning kept" if judged else ""
    return join(
        *(
            attack,
            " succeeds on ",
            tag("strong", whole(summary.broken)),
            " of the texts that ",
            victim,
            f" classifies correctly{kept}. ",
        ),
        f"It changes {words:.0f}% of the words and sends {number(summary.asked.median)} queries (median).{said}",
    )


def _values(found: Sequence[RunEntry], what: str) -> str:
    return ", ".join(dict.fromkeys(str(getattr(e.run, what)) for e in found))


def _victims(found: Sequence[RunEntry]) -> str:
    names = list(dict.fromkeys(e.run.victim for e in found))
    if len(names) <= MANY:
        return ", ".join(names)
    return f"{len(names)}: {', '.join(names[:3])} and {len(names) - 3} more, below"


def header(found: Sequence[RunEntry]) -> Markup:
    """Return the list of facts on the runs: victims, attacks, data, seed, date and versions."""
    dates = sorted({e.run.started[:10] for e in found} - {""})
    versions = dict.fromkeys(f"{name} {value}" for e in found for name, value in e.run.versions.items())
    counts = sorted({len(e.outcomes) for e in found})
    spread = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    rows: list[tuple[str, str]] = [
        ("Victims", _victims(found)),
        ("Attacks", ", ".join(dict.fromkeys(e.attack for e in found))),
        ("Data", f"{_values(found, 'data')}, {spread} texts a run"),
        *([("Rows", draws)] if (draws := describe_draws(found)) else []),
        ("Seed", _values(found, "seed")),
        ("Date", " to ".join(dict.fromkeys((dates[0], dates[-1]))) if dates else "not known"),
        ("Versions", ", ".join(versions) or "not known"),
    ]
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in rows), class_="facts")


def rate_cell(rate: Rate, note: str = "", *, shade: bool = True) -> Markup:
    """Return a rate as a cell of a table, with count and interval; the stronger the shade, the lower the rate."""
    if not rate.total:
        return tag("td", "n/a", class_="empty")
    if not rate.shown:
        few = f"{rate.hits}/{rate.total}; fewer than {LEAST} attacks ended"
        return tag("td", tag("span", DASH, class_="big"), tag("span", few, class_="small"), class_="empty")
    low, high = rate.interval
    note = ", ".join(filter(None, (note, f"{rate.unfinished:,} not known" if rate.unfinished else "")))
    style = f"--broken:{100 * (1 - rate.value):.0f}" if shade else None
    return tag(
        "td",
        tag("span", f"{100 * rate.value:.1f}%", class_="big"),
        tag("span", f"{rate.hits}/{rate.total}, {100 * low:.1f}-{100 * high:.1f}", class_="small"),
        tag("span", note, class_="small note") if note else None,
        class_="shaded" if shade else None,
        style=style,
    )


def _choose_labelled(found: Sequence[RunEntry]) -> list[RunEntry]:
    """Return the runs whose answers are right or wrong, that is those of attacks on classifiers."""
    return [entry for entry in found if is_classification(entry.run)]


def matrix(found: Sequence[RunEntry]) -> Markup:
    """Return a table with victims as rows, attacks as columns, and accuracy under attack in each cell."""
    found = _choose_labelled(found)
    lead = _MATRIX if found else _NO_MATRIX
    body = (tag("h2", "Accuracy under attack", id="matrix"), tag("p", lead), _matrix(found) if found else None)
    return tag("section", *body, class_="card", aria_labelledby="matrix")


def _matrix(found: Sequence[RunEntry]) -> Markup:
    attacks = list(dict.fromkeys(e.attack for e in found))
    rows: list[list[Child]] = []
    for victim, group in by_victim(found).items():
        runs = {e.attack: e for e in group}
        clean = max((e.summary.clean for e in group), key=lambda rate: rate.total)
        cells: list[Child] = [victim, rate_cell(clean, shade=False)]
        for name in attacks:
            entry = runs.get(name)
            note = f"{entry.missing:,} not done" if entry and entry.missing else ""
            cells.append(
                rate_cell(entry.summary.robust, _raw(entry, note)) if entry else tag("td", "not run", class_="empty")
            )
        rows.append(cells)
    return grid("Accuracy by victim and attack", ("Victim", "No attack", *attacks), rows, "matrix")


def _raw(entry: RunEntry, note: str) -> str:
    """Return the note of a cell with the accuracy if every flip of the label counted, where a judge was asked."""
    found = entry.summary.validity
    if found is None or not found.robust.shown:
        return note
    flips = Rate(found.robust.hits + found.kept.hits - found.flipped.hits, found.robust.total)
    return f"raw {100 * flips.value:.1f}%" + (f"; {note}" if note else "")


def _tile(name: str, value: Child, detail: Child) -> Markup:
    return tag("div", tag("dt", name), tag("dd", value, class_="big"), tag("dd", detail, class_="small"), class_="tile")


def _tiles(group: Sequence[RunEntry]) -> Markup:
    clean = max((e.summary.clean for e in group), key=lambda rate: rate.total)
    tiles = [_tile("Clean accuracy", whole(clean), str(clean))]
    top, cheap = strongest(group), cheapest(group)
    if top is not None:
        under = top.summary.robust
        tiles.append(_tile("Under the strongest attack", whole(under), f"{top.attack}, {under.hits}/{under.total}"))
    if cheap is None:
        why = "no attack breaks more than half" if top is not None else "no rate to show"
        tiles.append(_tile("Cheapest attack", "none", why))
    else:
        tiles.append(_tile("Cheapest attack", cheap.attack, f"breaks {cheap.summary.broken}"))
    medians = [(e.summary.asked.median, e) for e in (cheap, top) if e is not None]
    if medians:
        detail = ", ".join(dict.fromkeys(f"{number(value)} with {e.attack}" for value, e in medians))
        tiles.append(_tile("Median queries a text", number(medians[0][0]), detail))
    return tag("dl", *tiles, class_="tiles")


def _bars(group: Sequence[RunEntry]) -> Markup:
    clean = max((e.summary.clean for e in group), key=lambda rate: rate.total)
    ordered = sorted(group, key=lambda e: e.summary.robust.value if e.summary.robust.shown else 2.0)
    bars = [Bar("No attack", clean, None), *(Bar(e.attack, e.summary.robust, e.color) for e in ordered)]
    return panel("Accuracy under each attack, with 95% interval", interval_bars("Accuracy under each attack", bars))


def _words(group: Sequence[RunEntry]) -> Markup:
    became: dict[str, Counter[str]] = {}
    for (before, after), count in abused_pairs(o for e in group for o in e.outcomes).items():
        became.setdefault(before, Counter())[after.lower() or "(deleted)"] += count
    # ties are sorted by spelling, so that the same records give the same page
    abused = abused_words(o for e in group for o in e.outcomes)
    ranked = sorted(abused.items(), key=lambda item: (-item[1], item[0]))[:WORDS]
    rows = [
        (word, count, [new for new, _ in sorted(became[word].items(), key=lambda item: (-item[1], item[0]))[:3]])
        for word, count in ranked
    ]
    title = "Words most often changed, and what replaced them"
    return panel(title, word_bars(title, rows) if rows else tag("p", "No attack succeeded.", class_="quiet"))


def _curves(group: Sequence[RunEntry]) -> Markup:
    ends = {e.attack: max((o.queries.asked for o in e.outcomes), default=1) for e in group}
    most = max(10, *ends.values())
    widest = max((o.changed_share for e in group for o in e.outcomes if o.broken), default=0.0)
    reach = min(1.0, max(0.05, math.ceil(widest * 20 - 1e-9) / 20))
    spent, changed = [], []
    for e in group:
        if e.summary.stopped and not e.summary.success.shown:
            continue
        done = e.summary.under_attack.total  # the curve counts only attacks that ended
        clean = (e.summary.under_attack.hits + e.summary.success.hits) / done if done else 0.0
        spent.append(StepLine(e.attack, e.color, clean, accuracy_by_queries(e.outcomes), ends[e.attack]))
        changed.append(StepLine(e.attack, e.color, clean, accuracy_by_change(e.outcomes), reach))
    queries = Axis(label="Queries allowed for each text", low=1, high=most, log=True, show=compact)
    wide = Axis(label="Largest share of words changed", low=0, high=reach, show=percent)
    key = legend([(e.attack, e.color) for e in group])
    return join(
        panel("Accuracy against query budget", line_chart("Accuracy against query budget", spent, queries), key),
        panel(
            "Accuracy against perturbation rate", line_chart("Accuracy against perturbation rate", changed, wide), key
        ),
    )


def _measures(group: Sequence[RunEntry]) -> list[str]:
    """Return the names of further measures of the successes, under any of these attacks."""
    return sorted({name for e in group for name, spread in e.summary.measures.items() if spread.mean is not None})


def _table(group: Sequence[RunEntry]) -> Markup:
    extra = _measures(group)
    names = (
        "Attack",
        "Attack success",
        *(["Label flipped", "Meaning unsure"] if (judged := any(e.summary.validity for e in group)) else []),
        "Words changed",
        "Asked, median",
        "Asked, mean",
        "Unique",
        "Forwarded",
        *(name.replace("_", " ").capitalize() for name in extra),
        *(["Broken by"] if (several := any(e.summary.by for e in group)) else []),
        *(["Beside the rates"] if (beside := any(e.summary.apart for e in group)) else []),
    )
    rows = []
    for e in group:
        s = e.summary
        spent = (s.asked.median, s.asked.mean, s.unique.mean, s.forwarded.mean)
        taken = (number(s.measures[m].mean if m in s.measures else None, ".3g") for m in extra)
        rows.append(
            (
                e.attack,
                str(s.broken),
                *((str(s.validity.flipped), str(s.validity.unsure.hits)) if s.validity else (str(s.success), DASH))[
                    : 2 * judged
                ],
                share(s.changed_share.mean),
                *map(number, spent),
                *taken,
                *([s.breakers] if several else []),
                *([s.apart] if beside else []),
            )
        )
    return grid("Figures of each attack", names, rows)


def victims(found: Sequence[RunEntry]) -> Markup:
    """Return a card for each victim, folded if there are many."""
    cards = []
    groups = by_victim(_choose_labelled(found))
    for place, (victim, group) in enumerate(groups.items()):
        title = tag("h2", victim, id=f"victim-{place}")
        figures = panels(_bars(group), _words(group), _curves(group))
        rest = (tag("p", headline(group), class_="lead"), _tiles(group), figures, _table(group))
        body = (tag("details", tag("summary", title), *rest),) if len(groups) > MANY else (title, *rest)
        cards.append(tag("section", *body, class_="card victim", aria_labelledby=f"victim-{place}"))
    return join(*cards)


def errors(found: Sequence[RunEntry]) -> Markup:
    """Return the cards of warnings and of examples that could not be attacked; empty if there are neither."""
    return join(_warnings(found), _errors(found))


def _warnings(found: Sequence[RunEntry]) -> Markup:
    rows = [(e.victim, e.attack, line) for e in found for line in (*e.run.notes, *e.summary.warnings)]
    if not rows:
        return Markup("")
    shown = grid("Warnings by run", ("Victim", "Attack", "Warning"), rows, "plain errors")
    return tag("section", tag("h2", "Warnings", id="warnings"), shown, class_="card", aria_labelledby="warnings")


def _errors(found: Sequence[RunEntry]) -> Markup:
    rows = [(e.victim, e.attack, f"{count:,}", reason) for e in found for reason, count in e.summary.reasons.items()]
    if not rows:
        return Markup("")
    total = sum(e.summary.counts["error"] for e in found)
    note = f"{total:,} could not be attacked; they are left out of every rate above."
    shown = grid("Errors by reason", ("Victim", "Attack", "Texts", "Reason"), rows, "plain errors")
    return tag(
        "section", tag("h2", "Errors", id="errors"), tag("p", note), shown, class_="card", aria_labelledby="errors"
    )


def settings(found: Sequence[RunEntry]) -> Markup:
    """Return the resolved settings of each run, folded."""
    items = []
    for e in found:
        run = e.run
        shown = {
            **{
                k: getattr(run, k)
                for k in ("recipe", "victim", "data", "split", "n", "seed", "budget", "width", "started")
            },
            **{k: getattr(run, k) for k in ("parts", "fingerprints", "versions")},
        }
        items.append(tag("details", tag("summary", f"{e.victim}, {e.attack}"), tag("pre", to_toml(shown), tabindex=0)))
    return join(*items)
