"""The part of the page that shows natural adversaries of text: tables and a figure, from the record alone."""

from __future__ import annotations

from collections.abc import Sequence

from malaprop.records.naturaltext import Around, NaturalText, TextTried, Turn
from malaprop.reports.markup import Child, Markup, join, tag

_TURNS, _SAMPLES = 10, 10


def sentence_card(record: NaturalText, number: int) -> Markup:
    """One card for one record."""
    place = f"natural-text-{number}"
    lead = (
        f"{record.data}: searches in the dense space of an {record.generator}, for {record.goal}. The distance is how "
        "far the adversary's point lies from the start of its search."
    )
    body: list[Child] = [tag("h2", "Natural adversaries of text", id=place), tag("p", lead, class_="lead")]
    body += [tag("p", note) for note in record.notes]
    body += [_tried(record.tried), _compared(record)]
    body += [_turns(victim, turns) for victim, turns in record.shown.items()]
    body += [_around(record.around), _quality(record), _curves(record)]
    if record.samples:
        body += [
            tag("h3", "Random samples"),
            tag("ul", *(tag("li", s or "(empty)") for s in record.samples[:_SAMPLES])),
        ]
    return tag("section", *body, class_="card study", aria_labelledby=place)


def _table(title: str, names: Sequence[str], rows: Sequence[Sequence[Child]], note: str = "") -> Markup:
    if not rows:
        return Markup("")
    head = tag("tr", *(tag("th", name, scope="col") for name in names))
    body = [tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:])) for row in rows]
    table = tag("table", tag("thead", head), tag("tbody", *body), class_="plain")
    shown = tag("div", table, class_="scroll", tabindex=0, role="region", aria_label=title)
    return join(tag("h3", title), tag("p", note) if note else None, shown)


def _three(value: float | None) -> str:
    return "–" if value is None else f"{value:,.3f}"  # noqa: RUF001 - a dash for nothing


def _tried(tried: Sequence[TextTried]) -> Markup:
    rows = [
        (
            t.victim,
            t.search,
            str(t.accuracy) if t.accuracy.total else "–",  # noqa: RUF001
            str(t.success),
            f"{_three(t.distance.mean)} / {_three(t.distance.median)}",
            f"{_three(t.kept.mean)} / {_three(t.kept.median)}",
            f"{t.asked.median:,.0f}" if t.asked.median is not None else "–",  # noqa: RUF001
            str(t.started),
            _three(t.words.mean),
            _three(t.ratio),
        )
        for t in tried
    ]
    names = (
        *("Victim", "Search", "Accuracy", "Found", "Distance, mean / median", "Where the start had not got there"),
        *("Queries, median", "Got there at the start", "Words changed, mean", "Perplexity over originals'"),
    )
    note = (
        "Found is over the sentences attacked, with 95% intervals. The sentence model alone, which does not give back "
        "every sentence, may reach the goal at the start; the distances of the others stand apart. Perplexity is by an "
        "n-gram model of the sentence model's training sentences."
    )
    return _table("What the searches found", names, rows, note)


def _compared(record: NaturalText) -> Markup:
    rows = [(name, str(rate)) for name, rate in record.largest.items()]
    shares = _table("Who needs the largest change", ("Victim", "Share, ties left out"), rows)
    pairs = [(f"{p.two} more than {p.one}", str(p.larger), f"{p.ties}", f"{p.p:.2g}") for p in record.pairs]
    return join(shares, _table("Two by two", ("Needs", "Sentences", "Ties", "Sign test, p"), pairs))


def _turns(victim: str, turns: Sequence[Turn]) -> Markup:
    rows = []
    for turn in turns[:_TURNS]:
        rest = "; ".join(f"{name}: {value}" for name, value in turn.fields.items() if name != turn.field)
        rows.append(
            (
                turn.original,
                turn.returned,
                turn.adversary,
                f"{turn.answer} → {turn.changed}",
                _three(turn.distance),
                rest,
            )
        )
    names = ("Original", "What came back", "Adversary", "Answer", "Distance", "Beside it")
    return _table(f"Adversaries of {victim}", names, rows)


def _around(found: Sequence[Around]) -> Markup:
    rows = []
    for one in found:
        near = tag("ol", *(tag("li", f"{sentence} ({distance:.2f})") for distance, sentence in one.near))
        rows.append((one.original, one.returned, near))
    note = "The most frequent new sentence of each shell, with the shell's outer distance."
    return _table("What lies around a sentence", ("Original", "What came back", "Nearby, nearest first"), rows, note)


_LABELS = {
    "shown": "Words right, the words before given",
    "written": "Words right, written freely",
    "through_z": "Words right, through the dense space",
    "whole": "Sentences that come back word for word",
    "bleu": "BLEU of what comes back",
    "bleu_through_z": "BLEU through the dense space",
    "unknown_share": "Unknown words",
    "perplexity_real": "Perplexity of sentences held out",
    "perplexity_back": "Perplexity of what comes back",
    "perplexity_samples": "Perplexity of random samples",
    "distinct": "Different samples",
    "distinct_pairs": "Different word pairs of samples",
    "distinct_pairs_real": "Different word pairs of sentences held out",
    "coverage": "Words held out that samples use",
}


def _quality(record: NaturalText) -> Markup:
    rows = [(label, f"{record.quality[name]:,.3f}") for name, label in _LABELS.items() if name in record.quality]
    many = record.quality.get("sentences", 0)
    note = f"On {many:,.0f} sentences that it never saw, of one n-gram yardstick throughout."
    return _table("How good the sentence model is", ("Figure", "Value"), rows, note)


def _curves(record: NaturalText) -> Markup:
    """A few points of the learning curves as a table."""
    names = [name for name in dict.fromkeys(k for point in record.curves for k in point) if name != "step"]
    every = max(1, len(record.curves) // 10)
    rows = [
        (f"{point['step']:,.0f}", *(f"{point[name]:.3f}" if name in point else "" for name in names))
        for point in record.curves[::every]
    ]
    return _table("How it learnt", ("Step", *(name.replace("_", " ") for name in names)), rows)
