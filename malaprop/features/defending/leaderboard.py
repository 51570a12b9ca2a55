"""The leaderboard of defences: what is left of each under the worst attack, by data and model, from records alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from malaprop.features.defending.evaluation_record import DefenceRow, DefencesRecord
from malaprop.features.defending.evaluation_report import read_certified, show_cost
from malaprop.frame.records.summary import Rate
from malaprop.frame.report.markup import Markup, tag
from malaprop.frame.report.tables import DASH, card, table, text_of

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

ONE = (
    "The tables of one dataset are of one protocol, which stands above them: the same attacks, number of texts and "
    "part of the data, and any wrong label is a success. It is the protocol by which most models were tested. Gains "
    "are over the undefended model of the same test. Where a table has several of these, each has a number."
)
APPENDIX = "Appendix: other protocols"
APART = "These tests had other attacks, or other texts or fewer of them. Do not compare their rows with those above."
_Base = tuple[str, int, tuple[Rate, Rate] | None]


def place_of(record: DefencesRecord) -> tuple[str, str]:
    """Return the names of the data and the model of a test on the page."""
    return _name(record.data.partition(":")[0], DATA), _name(record.victim, MODELS)


def _name(said: str, known: Mapping[str, tuple[str, ...]]) -> str:
    return next((name for name, others in known.items() if said in others), said)


def rank(record: DefencesRecord) -> list[DefenceRow]:
    """Return the defences of a test, the highest robust accuracy first."""
    return sorted(record.rows, key=lambda row: (-row.worst.value, row.name))


def cells(row: DefenceRow) -> tuple[str, ...]:
    """Return the cells of a defence, in the order of `HEAD`."""
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


class Protocol(NamedTuple):
    """The conditions of a test; rows of different protocols cannot be compared."""

    attacks: tuple[str, ...]
    texts: int
    data: str

    def __str__(self) -> str:
        return f"{' and '.join(self.attacks)} on {self.texts:,} texts of {self.data}"


class TestsOfPlace:
    """All tests of one dataset and model under one protocol, in one table.

    They may be of several undefended models, such as two trainings. Each of these has a number, and each gain names it.
    """

    def __init__(self, data: str, model: str, protocol: Protocol, records: Sequence[DefencesRecord]) -> None:
        self.data, self.model, self.protocol = data, model, protocol
        self._bases: dict[_Base, DefencesRecord] = {}
        self._held = [(row, self._number(record)) for record in records for row in record.rows]

    def _number(self, record: DefencesRecord) -> int:
        """Return the number of the undefended model of a test; equal counts mean the same model."""
        base = next(((row.clean, row.worst) for row in record.rows if row.name == "none"), None)
        self._bases.setdefault((record.victim, record.learnt, base), record)
        return 1 + list(self._bases).index((record.victim, record.learnt, base))

    @property
    def title(self) -> str:
        return f"{self.data}: {self.model}"

    def describe(self) -> str:
        """Describe the undefended models in a line."""
        said = []
        for number, record in enumerate(self._bases.values(), start=1):
            learnt = f", trained on {f'{record.learnt:,}' if record.learnt else 'an unknown number of'} texts"
            said.append(f"{self._mark(number)}{record.victim}{learnt}")
        return f"Undefended: {'; '.join(said)}."

    def _mark(self, number: int) -> str:
        return f"({number}) " if len(self._bases) > 1 else ""

    def rows(self) -> list[tuple[str, ...]]:
        """Return the rows of the table, the highest robust accuracy first; an undefended model has one row."""
        order = sorted(self._held, key=lambda one: (-one[0].worst.value, one[0].name, one[1]))
        shown = list[tuple[str, ...]]()
        plain = set[int]()
        for row, number in order:
            if row.name == "none" and number in plain:
                continue
            plain |= {number} if row.name == "none" else set()
            name, clean, worst, gain, *rest = cells(row)
            mark = self._mark(number).strip()
            if mark:
                name, gain = (f"none {mark}", gain) if row.name == "none" else (name, f"{gain} over {mark}")
            shown.append((name, clean, worst, gain, *rest))
        return shown


class Board:
    """Tests by dataset and model: for each dataset those of its main protocol, and all others apart."""

    def __init__(self, records: Sequence[DefencesRecord]) -> None:
        held: dict[tuple[str, str, Protocol], list[DefencesRecord]] = {}
        for record in records:
            protocol = Protocol(record.attacks, record.texts, record.data)
            held.setdefault((*place_of(record), protocol), []).append(record)
        self.data = list(dict.fromkeys([*DATA, *(data for data, _, _ in held)]))
        self.models = list(dict.fromkeys([*MODELS, *(model for _, model, _ in held)]))
        self.protocols = {data: found for data in self.data if (found := self._choose(data, held)) is not None}
        order = sorted(
            held, key=lambda key: (self.data.index(key[0]), self.models.index(key[1]), -key[2].texts, key[2])
        )
        every = [TestsOfPlace(*key, held[key]) for key in order]
        self.main = [one for one in every if self.protocols[one.data] == one.protocol]
        self.others = [one for one in every if self.protocols[one.data] != one.protocol]

    @staticmethod
    def _choose(data: str, held: Mapping[tuple[str, str, Protocol], Sequence[DefencesRecord]]) -> Protocol | None:
        """Return the protocol by which most models were tested; on a tie the one with more texts."""
        models = Counter(protocol for place, _, protocol in held if place == data)
        return max(models, key=lambda one: (models[one], one.texts, one), default=None)

    def tests(self, data: str) -> list[TestsOfPlace]:
        """Return the tables of a dataset under its main protocol."""
        return [one for one in self.main if one.data == data]

    def lack(self, data: str) -> str:
        """Return a line that names the models without a test under the main protocol; empty where all have one."""
        there = {one.model for one in self.tests(data)}
        missing = [model for model in self.models if model not in there]
        return f"{', '.join(missing)}: {MISSING}." if missing else ""


def rank_records(records: Sequence[object]) -> str:
    """Return the Markdown page that ranks the defences of all defence tests among some records; empty for none."""
    tests = [record for record in records if isinstance(record, DefencesRecord)]
    return write_markdown(tests) if tests else ""


def write_markdown(records: Sequence[DefencesRecord]) -> str:
    """Return the leaderboard as a Markdown page."""
    board = Board(records)
    lines = [f"# {TITLE}", "", f"**In short:** {SHORT}", "", LEAD, "", ONE, "", MADE, ""]
    for data in board.data:
        lines += [f"## {data}", ""]
        if data in board.protocols:
            lines += [f"Protocol: {board.protocols[data]}.", ""]
        for one in board.tests(data):
            lines += [f"### {one.title}", "", one.describe(), "", *_lines(HEAD, one.rows()), ""]
        lines += [said, ""] if (said := board.lack(data)) else []
    if board.others:
        lines += [f"## {APPENDIX}", "", APART, ""]
    for one in board.others:
        lines += [f"### {one.title}, {one.protocol}", "", one.describe(), "", *_lines(HEAD, one.rows()), ""]
    return "\n".join(lines)


def _lines(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table; names of defences are code, so that nothing in them is markup."""
    shown = [(f"`{row[0]}`".replace("|", "\\|"), *row[1:]) for row in rows]
    return [f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *shown)]


def show(records: Sequence[DefencesRecord]) -> Markup:
    """Return the leaderboard as a card of a report; empty for a single test, which has a card of its own."""
    if len(records) < 2:
        return Markup("")
    board = Board(records)
    parts = [table(f"{one.title}, {one.protocol}", HEAD, one.rows(), one.describe()) for one in board.main]
    others = [table(f"{one.title}, {one.protocol}", HEAD, one.rows(), one.describe()) for one in board.others]
    apart = [tag("h3", APPENDIX), tag("p", APART), *others] if others else []
    return card("defence-board", TITLE, LEAD, tag("p", ONE), *parts, *apart)
