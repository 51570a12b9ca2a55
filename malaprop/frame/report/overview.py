"""The first page of a report on runs: verdict, accuracy, the three strongest valid examples, and what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from malaprop.frame.records import Outcome, Rate
from malaprop.frame.records.run import is_classification
from malaprop.frame.report.diff import Piece, mark_changes, show_unseen
from malaprop.frame.report.figures import Bar, interval_bars
from malaprop.frame.report.levels import LEVELS, RobustLevels, measure_levels, under_all
from malaprop.frame.report.markup import Child, Markup, join, tag
from malaprop.frame.report.run_entries import RunEntry, by_victim
from malaprop.frame.report.runs import headline, rate_cell
from malaprop.frame.report.tables import DASH, bullets, grid, panel, panels

EXAMPLES = 3
_APART = 2  # victims with a chart of their own; more victims share one
_BARS = 8  # attacks or victims in one chart, the strongest first
_CONTEXT = 70  # characters of unchanged text that are shown on each side of a change
_FEW = 200  # texts below which intervals are wide


def verdict(found: Sequence[RunEntry]) -> Markup | None:
    """Return one sentence with the accuracy under attack, by level where known; None if no run shows such a rate."""
    victims = [one for one in measure_levels(found) if one.every.shown]
    if not victims:
        return None
    judged = all(entry.summary.validity for entry in _labelled(found))
    attacks = len({entry.attack for entry in _labelled(found)})
    several = "attack" if attacks == 1 else f"{attacks} attacks"
    under = f"under {'one ' if attacks == 1 else ''}{several}"
    counted = " Only changes that keep the meaning count." if judged else ""
    if len(victims) == 1:
        return join(_verdict_on_one(victims[0], under), counted)
    shared = [level.name for level in LEVELS if all(one.shown(level.name) for one in victims)]
    first = shared[0] if attacks > 1 and shared else ""
    rates = {one.victim: one.levels[first] if first else one.every for one in victims}
    shown = f"under {first}" if first else under
    least, most = (end(victims, key=lambda one: rates[one.victim].value) for end in (min, max))
    spread = _span([one.every for one in victims])
    all_of_them = join(f" Under all {attacks} attacks together accuracy is {spread}." if first else "", counted)
    if rates[least.victim].value == rates[most.victim].value:
        kept = _percent(rates[most.victim])
        return join(f"Each of {len(victims)} victims has an accuracy of {kept} {shown}.", all_of_them)
    ends = [
        (tag("strong", one.victim), f"{_percent(rates[one.victim])}, clean {_percent(one.clean)}")
        for one in (most, least)
    ]
    (best, kept), (worst, left) = ends
    return join(f"Of {len(victims)} victims, ", best, f" has the highest accuracy {shown} ({kept}), and ", worst,
                f" the lowest ({left}).", all_of_them)  # fmt: skip


def _verdict_on_one(one: RobustLevels, under: str) -> Markup:
    clean = f"clean accuracy {_percent(one.clean)}"
    if one.attacks == 1 or not any(map(one.shown, one.levels)):
        return join(
            tag("strong", one.victim), f" classifies {_percent(one.every)} of texts correctly {under}; {clean}."
        )
    known = {name: rate for name, rate in one.levels.items() if rate.shown}
    *rest, last = [
        f"{_percent(rate)}{'' if place else ' of texts correctly'} under {name}"
        for place, (name, rate) in enumerate(known.items())
    ]
    levels = f"{', '.join(rest)} and {last}" if rest else last
    together = f"{_percent(one.every)} under all {one.attacks} attacks together"
    return join(tag("strong", one.victim), f" classifies {levels}; {together}; {clean}.")


def _span(rates: Sequence[Rate]) -> str:
    """Return the lowest and the highest rate as text."""
    low, high = (_percent(end(rates, key=lambda rate: rate.value)) for end in (min, max))
    return low if low == high else f"{low} to {high}"


def overview(found: Sequence[RunEntry], figures: Iterable[Markup] = ()) -> Markup:
    """Return the card; `figures` of records, such as a robustness profile, take the place of the bars."""
    labelled = _labelled(found)
    levels = [one for one in measure_levels(labelled) if one.levels and one.attacks > 1]
    drawn = list(figures) or list(_charts(labelled, levels))
    lead = headline(labelled) if labelled else None
    body = (
        tag("h2", "In short", id="overview"),
        tag("p", lead, class_="lead") if lead else None,
        _table_levels(levels) if levels and (figures or len(levels) > _APART) else None,
        panels(*drawn) if drawn else None,
        _advise(levels),
        _examples(found),
        bullets("What to do next", _steps(found, advised=bool(levels))),
    )
    return tag("section", *body, class_="card overview", aria_labelledby="overview")


def choose_examples(found: Sequence[RunEntry]) -> list[tuple[RunEntry, Outcome]]:
    """Return the successes with the fewest edits, each of another text; only those that keep the meaning, if judged."""
    broken = [(entry, one) for entry in found for one in entry.outcomes if one.broken]
    chosen: dict[tuple[str, ...], tuple[RunEntry, Outcome]] = {}
    for entry, one in sorted(broken, key=lambda pair: _rank(pair[1])):
        chosen.setdefault(tuple(one.original.fields.values()), (entry, one))
        if len(chosen) == EXAMPLES:
            break
    return list(chosen.values())


def _rank(one: Outcome) -> tuple[float, ...]:
    """Return the sort key of an example: few edits, then a high number of the judge, then a small share of words."""
    return len(one.edits) or float("inf"), -(one.meaning or 0.0), one.changed_share


def _labelled(found: Sequence[RunEntry]) -> list[RunEntry]:
    return [entry for entry in found if is_classification(entry.run)]


def _clean(group: Sequence[RunEntry]) -> Rate:
    return max((entry.summary.clean for entry in group), key=lambda rate: rate.total)


def _percent(rate: Rate) -> str:
    return f"{100 * rate.value:.1f}%"


def _charts(found: Sequence[RunEntry], levels: Sequence[RobustLevels]) -> Iterator[Markup]:
    """Yield bars of accuracy for each victim, by level or by attack; many victims without levels share one chart."""
    groups, known = by_victim(found), {one.victim: one for one in levels}
    if len(groups) > _APART and not levels:
        ordered = sorted(((under_all(group), name) for name, group in groups.items()), key=lambda pair: _least(pair[0]))
        bars = [Bar(name, rate, place % _BARS) for place, (rate, name) in enumerate(ordered[:_BARS])]
        yield _chart("Accuracy under all attacks", bars)
    for name, group in groups.items() if len(groups) <= _APART else ():
        rated = sorted(group, key=lambda entry: _least(entry.summary.robust))
        bars = [Bar(entry.attack, entry.summary.robust, entry.color) for entry in rated[:_BARS]]
        if name in known:
            rates = {**known[name].levels, "all attacks": known[name].every}
            bars = [Bar(level, rate, place) for place, (level, rate) in enumerate(rates.items())]
        title = f"Accuracy of {name}" if len(groups) > 1 else "Accuracy without and under attack"
        yield _chart(title, [Bar("No attack", _clean(group), None), *bars])


def _table_levels(levels: Sequence[RobustLevels]) -> Markup:
    """Return a table of victims by level, those first that keep most under the first level; at most _BARS of them."""
    names = [level.name for level in LEVELS if any(level.name in one.levels for one in levels)]
    ordered = sorted(levels, key=lambda one: -_least(one.levels.get(names[0], one.every)))
    rows = [
        (
            one.victim,
            rate_cell(one.clean),
            *(rate_cell(one.levels.get(name, Rate(0, 0))) for name in names),
            rate_cell(one.every),
        )
        for one in ordered[:_BARS]
    ]
    heads = ("Victim", "No attack", *(f"Under {name}" for name in names), "Under all attacks")
    note = "Share of the texts that a victim classifies correctly, with its count and 95% interval."
    return join(tag("p", note, class_="quiet"), grid("Accuracy by kind of attack", heads, rows, "matrix"))


def _advise(levels: Sequence[RobustLevels]) -> Markup:
    """Return for each level that was attacked what its attacks change, and what to try against them."""
    used = {
        level: dict.fromkeys(name for one in levels for name in one.recipes.get(level.name, ())) for level in LEVELS
    }
    return bullets(
        "What each kind of attack changes, and what to try",
        (
            join(tag("strong", level.name[:1].upper() + level.name[1:]), f" by {', '.join(names)} ({level.about}): "
                 f"{level.todo}: ", tag("code", level.command))
            for level, names in used.items() if names
        ),
    )  # fmt: skip


def _least(rate: Rate) -> float:
    return rate.value if rate.shown else 2.0


def _chart(title: str, bars: Sequence[Bar]) -> Markup:
    return panel(title, interval_bars(title, bars))


def _examples(found: Sequence[RunEntry]) -> Markup:
    chosen = choose_examples(found)
    judged = any(one.meaning is not None for _, one in chosen)
    title = tag("h3", "The strongest valid examples" if judged else "The strongest examples")
    if not chosen:
        kept = " with a text that keeps its meaning" if any(entry.summary.validity for entry in found) else ""
        return join(title, tag("p", f"No attack succeeded{kept}.", class_="quiet"))
    return join(title, tag("ol", *(_example(entry, one) for entry, one in chosen), class_="shown"))


def _example(entry: RunEntry, one: Outcome) -> Markup:
    """Return a success as a list item: its text with the changes marked, the judge's number, labels and attack."""
    fields = mark_changes(one)
    texts = [
        tag("p", tag("span", name, class_="field") if len(fields) > 1 else None, *_show(pieces), dir="auto")
        for name, pieces in fields.items()
    ]
    edits = len(one.edits)
    words = f"; {edits} word{'s' if edits > 1 else ''} changed" if edits else ""
    about = join(tag("bdi", entry.attack), " on ", tag("bdi", entry.victim), words)
    if is_classification(entry.run) and one.adversarial is not None and len(one.original.scores) > 1:
        before, after = _name(entry, one.original.prediction), _name(entry, one.adversarial.prediction)
        about = join(tag("bdi", before), " → ", tag("bdi", after), "; ", about)
    badge = "not judged" if one.meaning is None else f"{one.validity}, judge {one.meaning:.2f}"
    mark = tag("span", badge, class_=f"verdict {one.validity or ''}".rstrip())
    return tag("li", *texts, tag("p", mark, " ", about, class_="small"))


def _name(entry: RunEntry, label: int | None) -> str:
    if label is None:
        return DASH
    return entry.run.labels[label] if 0 <= label < len(entry.run.labels) else str(label)


def _show(pieces: Sequence[Piece]) -> Iterator[Child]:
    """Yield the pieces of a field with marks; of long unchanged stretches only what stands beside a change."""
    for place, piece in enumerate(pieces):
        if piece.kind == "same":
            yield _shorten(piece.text, start=place > 0, end=place + 1 < len(pieces))
        else:
            beside = piece.kind == "new" and place > 0 and pieces[place - 1].kind == "old"
            yield join(" " if beside else "", tag("del" if piece.kind == "old" else "ins", show_unseen(piece.text)))


def _shorten(text: str, *, start: bool, end: bool) -> str:
    """Return unchanged text without its middle, or without the side on which no change stands, if it is long."""
    if len(text) <= 2 * _CONTEXT + 20:
        return text
    if not (start or end):
        return f"{text[: 2 * _CONTEXT]} …"
    left, right = text[:_CONTEXT], text[-_CONTEXT:]
    left, right = left[: left.rfind(" ")] if " " in left else left, right[right.find(" ") + 1 :]  # whole words
    return f"{left if start else ''} … {right if end else ''}"


def _steps(found: Sequence[RunEntry], *, advised: bool) -> Iterator[Markup]:
    """Yield what to do next, from what the records hold; `advised` if the page says what to try against each kind."""
    broken = any(one.broken for entry in found for one in entry.outcomes)
    judged = [entry.summary.validity for entry in found if entry.summary.validity is not None]
    harden = tag("code", "malaprop harden auto --model MODEL --data DATA")
    if _labelled(found) and broken and not advised:
        yield join("Make the model stronger, then audit it again: ", harden)
    if not broken:
        yield join("Try stronger attacks: ", tag("code", "malaprop audit --attack standard --victim MODEL --data DATA"))
    if unsure := sum(one.unsure.hits for one in judged):
        yield join(tag("a", "Read the examples", href="#examples"), f": the judge is unsure of {unsure:,} of them.")
    elif broken and not judged:
        yield join("Count only texts that keep the meaning: add ", tag("code", "--validity valid"), " to the command.")
    if any(entry.run.notes or entry.summary.warnings for entry in found):
        yield join(tag("a", "Read the warnings", href="#warnings"), ": they may change what the figures mean.")
    if few := [
        entry.run.drawn_from or 0 for entry in found if len(entry.outcomes) < min(_FEW, entry.run.drawn_from or 0)
    ]:
        more = "all" if max(few) <= 5 * _FEW else f"{5 * _FEW}"
        yield join("Attack more texts, for narrower intervals: ", tag("code", f"--n {more}"), " in a new folder.")
    yield join("Guard the next version: ", tag("code", "malaprop check --baseline FOLDER --victim MODEL --data DATA"))
