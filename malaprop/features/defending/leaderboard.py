"""The leaderboard of defences: robust accuracy under the strongest attack, by data and model, from the records."""

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
HEAD = ("defence", "clean accuracy", "worst-case accuracy", "gain", "certified", "time", "passes")
# What was set as a goal before any test: clean accuracy, and accuracy under the worst of the valid attacks.
GOALS: Mapping[tuple[str, str], tuple[float, float]] = {
    ("MR", "MiniLM"): (0.82, 0.65),
    ("AG News", "MiniLM"): (0.91, 0.8),
}
SHORT = "Robust accuracy of each measured defence, under the strongest of several attacks."
MADE = (
    "Each record is the `defences.json` of one [`malaprop study defences`](../defences.md). This command makes the "
    "page from the records: `malaprop report docs/measured/defences --out board.html --leaderboard "
    "docs/appendix/leaderboard.md`. The same tables are in `board.html`."
)
LEAD = (
    "*Worst-case accuracy* is the share of texts that the model classifies correctly under every attack: the "
    "plain attack, an adaptive attack that knows the defence, and the attack transferred from the undefended model. "
    "The *gain* is the difference to the undefended model on the same texts. *Certified* is the share with a proof: "
    "no change of one word changes the answer, or with `safer` no number of changes to synonyms. The proof uses far "
    "more noisy copies of a text than the votes under attack. A detector (`detect`) or a model trained to `reject` "
    "may reject a text: that is wrong for an original, and right for an adversarial text. *Time* and *passes* "
    "are those of one answer; time is relative to the undefended model. Rates have 95% intervals."
)
ONE = (
    "All tables of a dataset follow one protocol: the same attacks, number of texts and part of the data. Where a "
    "table has several undefended models, they are numbered, and each gain names the one that it refers to."
)
VALID = "Attacks that keep the meaning"
KEPT = (
    "Guards keep the meaning of each word, and only a text that the [judge of meaning](../judge.md) lets pass counts "
    "as a success (`--validity valid`, the default)."
)
PAPER = "Appendix: attacks as published"
RAW = (
    "These attacks may use any word that their papers allow. Most of the texts that they make differ from the "
    "original in meaning. A model that follows the new meaning counts as broken, and no defence can prevent that."
)
APPENDIX = "Appendix: other protocols"
APART = "These tests used other attacks or other texts. Do not compare their rows with those above."
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
    validity: str = "paper"

    def __str__(self) -> str:
        kind = "" if self.validity == "paper" else f", {self.validity} attacks"
        return f"{' and '.join(self.attacks)} on {self.texts:,} texts of {self.data}{kind}"


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
            protocol = Protocol(record.attacks, record.texts, record.data, record.validity)
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
    """Return the leaderboard as a Markdown page: valid attacks first, attacks as published as an appendix."""
    kept, published = _split(records)
    best = _find_best(kept)
    answer = [f"- {_describe_best(*place, *rows)}" for place, rows in best.items()]
    short = _count_gains(kept) if best else SHORT
    lines = [f"# {TITLE}", "", f"**In short:** {short}", "", *answer, "", LEAD, "", ONE, "", MADE, ""]
    for title, about, some in ((VALID, KEPT, kept), (PAPER, RAW, published)):
        if some:
            lines += [f"## {title}", "", about, "", *_write_board(Board(some))]
    others = [one for some in (kept, published) for one in Board(some).others]
    if others:
        lines += [f"## {APPENDIX}", "", APART, ""]
    for one in others:
        lines += [f"### {one.title}, {one.protocol}", "", one.describe(), "", *_lines(HEAD, one.rows()), ""]
    return "\n".join(lines)


def _split(records: Sequence[DefencesRecord]) -> tuple[list[DefencesRecord], list[DefencesRecord]]:
    """Return the tests whose attacks had to keep the meaning, and those whose attacks are as published."""
    published = [record for record in records if record.validity == "paper"]
    return [record for record in records if record.validity != "paper"], published


def _write_board(board: Board) -> list[str]:
    """Return the lines of the tables of a board, by dataset."""
    lines = list[str]()
    for data in board.data:
        if data not in board.protocols:
            continue
        lines += [f"### {data}", "", f"Protocol: {board.protocols[data]}.", ""]
        for one in board.tests(data):
            lines += [f"#### {one.title}", "", one.describe(), "", *_lines(HEAD, one.rows()), ""]
        lines += [said, ""] if (said := board.lack(data)) else []
    missing = [data for data in board.data if data not in board.protocols]
    return [*lines, *([f"{', '.join(missing)}: {MISSING}.", ""] if missing else [])]


Best = dict[tuple[str, str], tuple[DefenceRow, DefenceRow]]


def _find_best(records: Sequence[DefencesRecord]) -> Best:
    """Return for each dataset and model the defence with the highest robust accuracy, and the undefended model."""
    best: Best = {}
    for record in records:
        none = next((row for row in record.rows if row.name == "none"), None)
        top = next((row for row in rank(record) if row.name != "none"), None)
        place = place_of(record)
        if none and top and (place not in best or top.worst.value > best[place][0].worst.value):
            best[place] = top, none
    return best


def _count_gains(records: Sequence[DefencesRecord]) -> str:
    """Return for how many models any defence helps beyond chance, of those that were tested with one."""
    tested = [record for record in records if any(row.name != "none" for row in record.rows)]
    helped = {place_of(record) for record in tested for row in record.rows if row.name != "none" and row.kept.low > 0}
    many = len({place_of(record) for record in tested})
    where = "against attacks that keep the meaning"
    if not helped:
        return f"For none of the {many} models does any defence help by more than chance {where}."
    return f"For {len(helped)} of the {many} models a defence helps by more than chance {where}."


def _describe_best(data: str, model: str, top: DefenceRow, none: DefenceRow) -> str:
    said = (
        f"{data}, {model}: with `{top.name}` it classifies {top.worst} of the texts correctly under the strongest "
        f"valid attack, and {top.clean.value:.1%} without attack; undefended {none.worst.value:.1%} and "
        f"{none.clean.value:.1%}."
    )
    if (data, model) not in GOALS:
        return said
    clean, worst = GOALS[data, model]
    reached, alone = (row.clean.value >= clean and row.worst.value >= worst for row in (top, none))
    end = "not reached" if not reached else "reached, also without a defence" if alone else "reached"
    goal = f"at least {worst:.0%} correct under attack and {clean:.0%} without attack"
    return f"{said} Our goal, set before the tests, was {goal}: {end}."


def _lines(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table; names of defences are code, so that nothing in them is markup."""
    shown = [(f"`{row[0]}`".replace("|", "\\|"), *row[1:]) for row in rows]
    return [f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *shown)]


def show(records: Sequence[DefencesRecord]) -> Markup:
    """Return the leaderboard as a card of a report; empty for a single test, which has a card of its own."""
    if len(records) < 2:
        return Markup("")
    boards = [Board(some) for some in _split(records)]
    main, others = ([one for board in boards for one in getattr(board, part)] for part in ("main", "others"))
    parts = [table(f"{one.title}, {one.protocol}", HEAD, one.rows(), one.describe()) for one in main]
    apart = [table(f"{one.title}, {one.protocol}", HEAD, one.rows(), one.describe()) for one in others]
    behind = [tag("h3", APPENDIX), tag("p", APART), *apart] if apart else []
    return card("defence-board", TITLE, LEAD.replace("*", "").replace("`", ""), tag("p", ONE), *parts, *behind)
