"""The leaderboard of defences: what is left of each under the worst attack, by data and model, from records alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from malaprop.records.defences import DefenceRow, DefencesRecord
from malaprop.reports.defences import read_certified, show_cost
from malaprop.reports.markup import Markup, join
from malaprop.reports.tables import DASH, card, table, text_of

# What the page always has a place for, and the names that records have for it.
DATA: Mapping[str, tuple[str, ...]] = {
    "MR": ("mr-full", "mr"),
    "IMDB": ("imdb-full", "imdb"),
    "AG News": ("ag_news",),
    "SST-2": ("sst2",),
}
MODELS: Mapping[str, tuple[str, ...]] = {
    "MiniLM": ("BERT",),
    "MPNet": ("MPNet",),
    "LSTM": ("LSTM-W-GloVe-1",),
    "CNN": ("CNN-W-GloVe-1",),
}
MISSING = "not measured"
TITLE = "Leaderboard of defences"
HEAD = ("defence", "right without attack", "right under the worst attack", "gain", "certified", "time", "passes")
SHORT = "What is left of each defence under the worst attack, by data and model. Believe this before any single attack."
MADE = (
    "Each record is the `defences.json` that [`malaprop study defences`](defences.md) writes. The page is made of them "
    "by one command: `malaprop report docs/measured/defences --out board.html --leaderboard docs/leaderboard.md`, "
    "which gives the same as HTML in `board.html`. What has no record says so."
)
LEAD = (
    "Under the worst attack: the share of texts that are right under every attack of the test, plain, knowing the "
    "defence, and transferred from the undefended model. The gain is that minus the undefended model's, on the same "
    "texts. Certified: right whatever one word is changed to (`safer`: however many words are changed for synonyms). "
    "It is proved by the vote of far more copies of a text than vote under attack, and the attacks change more words. "
    "An original that a detector (`detect`) rejects counts as wrong, an adversarial text that it rejects as withstood; "
    "these attacks see the detector's score. "
    "Time and forward passes are of one answer, over the undefended model's. Rates have 95% intervals."
)


def place_of(record: DefencesRecord) -> tuple[str, str]:
    """The data and the model of a test, as the page calls them."""
    return _name(record.data.partition(":")[0], DATA), _name(record.victim, MODELS)


def _name(said: str, known: Mapping[str, tuple[str, ...]]) -> str:
    return next((name for name, others in known.items() if said in others), said)


def rank(record: DefencesRecord) -> list[DefenceRow]:
    """The defences of a test, the one that leaves most first."""
    return sorted(record.rows, key=lambda row: (-row.worst.value, row.name))


def cells(row: DefenceRow) -> tuple[str, ...]:
    """A defence as `HEAD` has it."""
    gain = DASH if row.name == "none" else str(row.kept)
    return (
        row.name,
        str(row.clean),
        str(row.worst),
        gain,
        text_of(read_certified(row)),
        show_cost(row.cost),
        f"{row.passes:g}",
    )


class Board:
    """Tests of defences by data and model; where there are several of one place, each has its table."""

    def __init__(self, records: Sequence[DefencesRecord]) -> None:
        self.held: dict[tuple[str, str], list[DefencesRecord]] = {}
        for record in records:
            self.held.setdefault(place_of(record), []).append(record)
        self.data = list(dict.fromkeys([*DATA, *(data for data, _ in self.held)]))
        self.models = list(dict.fromkeys([*MODELS, *(model for _, model in self.held)]))

    def overview(self, data: str) -> list[tuple[str, ...]]:
        """A row a defence, a column a model: what is left under the worst attack; no defence comes first.

        Of a defence that was tested twice in a place the test with more texts counts.
        """
        every = ((model, row) for model in self.models for row in self._rows(data, model))
        found = {(model, row.name): row for model, row in sorted(every, key=lambda one: one[1].worst.total)}
        names = dict.fromkeys(name for _, name in found)
        best = {name: max(row.worst.value for (_, other), row in found.items() if other == name) for name in names}
        order = sorted(names, key=lambda name: (name != "none", -best[name], name))
        return [
            (name, *(str(found[model, name].worst) if (model, name) in found else MISSING for model in self.models))
            for name in order
        ]

    def _rows(self, data: str, model: str) -> Iterator[DefenceRow]:
        for record in self.held.get((data, model), ()):
            yield from record.rows

    def tests(self, data: str) -> Iterator[tuple[str, DefencesRecord]]:
        """The tests on some data, with the name of the model."""
        for model in self.models:
            for record in self.held.get((data, model), ()):
                yield model, record


def describe(model: str, record: DefencesRecord) -> str:
    """What was tested, in a line."""
    learnt = f", trained on {record.learnt:,} texts" if record.learnt else ""
    return f"{model} ({record.victim}{learnt}), {' and '.join(record.attacks)}, {record.texts:,} texts of {record.data}"


def write_markdown(records: Sequence[DefencesRecord]) -> str:
    """The page of the documentation."""
    board = Board(records)
    lines = [f"# {TITLE}", "", f"**In short:** {SHORT}", "", LEAD, "", MADE, ""]
    for data in board.data:
        lines += [f"## {data}", ""]
        rows = board.overview(data)
        if not rows:
            lines += [f"{', '.join(board.models)}: {MISSING}.", ""]
            continue
        lines += [*_lines(("defence", *board.models), rows), ""]
        for model, record in board.tests(data):
            lines += [f"### {data}: {model}", "", f"{describe(model, record)}.", ""]
            lines += [*_lines(HEAD, [cells(row) for row in rank(record)]), ""]
    return "\n".join(lines)


def _lines(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table; names of defences are code, so that nothing in them is read as a mark."""
    shown = [(f"`{row[0]}`".replace("|", "\\|"), *row[1:]) for row in rows]
    return [f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *shown)]


def show(records: Sequence[DefencesRecord]) -> Markup:
    """The same as a card of a report; nothing where there is one test, which has its own."""
    if len(records) < 2:
        return Markup("")
    board, parts = Board(records), list[Markup]()
    for data in board.data:
        parts.append(table(data, ("Defence", *board.models), board.overview(data)))
        parts += [
            table(f"{data}: {model}", HEAD, [cells(row) for row in rank(record)], f"{describe(model, record)}.")
            for model, record in board.tests(data)
        ]
    return card("defence-board", TITLE, LEAD, join(*parts))
