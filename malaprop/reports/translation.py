"""The section on attacks on translation: success, BLEU before and after."""

from __future__ import annotations

from collections.abc import Sequence

from malaprop.records.translation import Attacked, Sight, TranslationStudy
from malaprop.reports.maps import Table, tables
from malaprop.reports.markup import Child, Markup, join, tag

_DASH = "–"  # noqa: RUF001 - for nothing
NO_MATRIX = "These runs are on translations, which are neither right nor wrong; their table is below."
_NAMES = (
    "Victim",
    "Attack",
    "Data",
    "Broken",
    "Skipped",
    "Errors",
    "BLEU before",
    "BLEU after",
    "Drop",
    "Words changed, mean",
    "Asked, mean",
    "State distance, mean",
)


def translations(studies: Sequence[TranslationStudy]) -> Markup:
    """A table of all runs on translations; nothing where there are none."""
    runs = [run for study in studies for run in study.runs]
    if not runs:
        return Markup("")
    head = tag("tr", *(tag("th", name, scope="col") for name in _NAMES))
    body = [
        tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:])) for row in map(_row, runs)
    ]
    table = tag("table", tag("thead", head), tag("tbody", *body), class_="plain")
    note = (
        "Broken: of the sentences that were attacked, those on which the goal was reached and a fresh translation "
        "confirmed it. Skipped: it was reached without an attack, or there was nothing to change. BLEU as sacrebleu "
        "reckons it by default, over the attacked sentences, with 95% of redrawn sets; the drop is paired."
    )
    return tag(
        "section",
        tag("h2", "Translation", id="translation"),
        tag("p", note),
        tag("div", table, class_="scroll", tabindex=0, role="region", aria_label="Attacks on translation"),
        *_figures([sight for study in studies for sight in study.sights]),
        class_="card",
        aria_labelledby="translation",
    )


def _figures(sights: Sequence[Sight]) -> list[Markup]:
    return [
        tag("figure", tag("figcaption", f"{sight.victim}, {sight.attack}"), figure(sight), class_="panel scroll")
        for sight in sights
    ]


def figure(sight: Sight) -> Markup:
    """Attention before and after, side by side."""
    about = (
        "Each row is a word of the translation, each column a word of the source; a shade is the weight it is given."
    )
    both = [
        Table(
            title=f"{when}: a row looks at columns",
            rows=found.output,
            columns=found.source,
            values=found.weights,
            marked=sight.changed,
            whole=True,
            cell=24,
            row=19,
        )
        for when, found in (("before", sight.before), ("after", sight.after))
    ]
    return tables("Attention of a translation before and after", about, [both])


def _row(run: Attacked) -> tuple[Child, ...]:
    return (
        run.victim,
        run.attack,
        run.data,
        str(run.success),
        f"{run.skipped:,}",
        f"{run.errors:,}",
        *(_DASH if found is None else str(found) for found in (run.before, run.after, run.drop)),
        _number(run.changed_words, 2),
        _number(run.asked, 0),
        _number(run.distance, 4),
    )


def _number(value: float | None, digits: int) -> str:
    return _DASH if value is None else f"{value:,.{digits}f}"


def headline(studies: Sequence[TranslationStudy]) -> Markup:
    """The strongest attack on a translation in one sentence."""
    runs = [run for study in studies for run in study.runs if run.success.total]
    if not runs:
        return join("No sentence was attacked.")
    top = max(runs, key=lambda run: run.success.value)
    return join(
        tag("strong", top.attack),
        f" reached its goal on {top.success} of the sentences that ",
        tag("strong", top.victim),
        " translates.",
    )
