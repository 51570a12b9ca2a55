"""The record of an attention study and its report section: single texts, means over many, and Theorem 1's bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from malaprop.core.codec import Real
from malaprop.core.files import write_whole
from malaprop.frame.records.kinds import Record
from malaprop.frame.report.maps import ShadeTable, loglog, tables
from malaprop.frame.report.markup import Markup, join, stand_alone, tag
from malaprop.frame.report.section import Section
from malaprop.frame.report.tables import DASH, card, lines_of, panel, printable, scroll, table, text_of

FILE = "attention.json"
Row = tuple[Real, ...]


@dataclass(frozen=True, slots=True)
class AttentionMean:
    """A mean over texts with its 95% interval."""

    value: Real
    low: Real
    high: Real
    n: int

    def __str__(self) -> str:
        if not self.n:
            return "n/a (0)"
        return f"{self.value:.3f} ({self.low:.3f}-{self.high:.3f}, n={self.n})"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionLayer:
    """How far one changed word moves one layer; layer 0 is the input of the first layer.

    `relative` is R_e over all its states; `elsewhere` the share of the change on words that stayed; `reach` over how
    many of the words it is spread (the exponential of the shares' entropy, over their number); `shift` how much of the
    attention went from some words to others, None for layers without attention.
    """

    number: int
    relative: AttentionMean
    elsewhere: AttentionMean
    reach: AttentionMean
    shift: AttentionMean | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionModel:
    """One victim's means over its own adversarial texts, or over edits that all victims share.

    `pooled` is R_e of the vector that the classifier reads, `layered` the mean over the layers without the input.
    """

    name: str
    edits: str
    texts: int
    pooled: AttentionMean | None
    layered: AttentionMean | None
    layers: tuple[AttentionLayer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionExample:
    """One text before and after a change, for figures; each table has a row a query or layer and a column a word."""

    model: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    changed: tuple[int, ...]
    said: tuple[str, str]  # the answers, before and after
    maps: tuple[tuple[int, tuple[Row, ...], tuple[Row, ...]], ...]  # layer, mean over heads before, and after
    variation: tuple[Row, ...]  # L2 norm of the change of each word's state, a row a layer, the input first


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """The share of scores that moved by at least `epsilon` bounds, and the most that Markov's inequality allows."""

    epsilon: float
    share: float
    markov: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """The bound of Theorem 1 and the measured change of the changed word's attention scores, over all queries.

    `bound` is C delta / sqrt(d), times the mean norm of the words where that is not 1; `mean` of |s' - s|, `signed` of
    s' - s, `exact` what the mean would be for words spread evenly over the sphere; `over` counts heads (or draws) whose
    own mean lies above its bound, of `cases`.
    """

    where: str
    dim: int
    words: int
    delta: Real
    bound: Real
    mean: Real
    signed: Real
    exact: Real
    largest: Real  # of the words of one text, on average
    over: int
    cases: int
    cosine: Real  # between two words, on average; 0 where they are spread evenly
    tails: tuple[Tail, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionRecord(Record):
    """An attention study: means of each victim, examples of single texts, and the bounds of Theorem 1."""

    data: str
    recipe: str
    texts: int
    models: tuple[AttentionModel, ...] = ()
    sights: tuple[AttentionExample, ...] = ()
    bounds: tuple[Bound, ...] = ()


TITLE = "Attention study"

NOTE = (
    "R_e is the L2 norm of the change over that of the states before. Elsewhere: the share of the change on words that "
    "stayed as they were. Spread: over how many of the words the change is spread, of all words; 1 where all move "
    "alike. Shift: how much of the attention on words went to other words. Means with 95% intervals."
)
BOUNDS = (
    "Theorem 1 of Hsieh et al. 2019: the mean of |s' - s| is at most C delta / sqrt(d) for words spread evenly over "
    "the unit sphere, with C the product of the spectral norms of both matrices. Exact: what the mean is for such "
    "words. The printed proof takes E[x . z] for 1 / sqrt(d), which is 0 by symmetry (signed mean); the bound follows "
    "from Jensen's inequality instead. On trained layers words are not spread evenly (cosine), the bound is taken "
    "times their mean norm, and heads above it are counted."
)
_PAGE = (
    "body{margin:0 auto;max-width:1180px;padding:24px;background:#f6f4ef;color:#211f1c;font:15px/1.55 ui-sans-serif,"
    '"Segoe UI","Liberation Sans",Arial,sans-serif}.scroll{overflow-x:auto}p{max-width:78ch;color:#5d5850}'
    "table{border-collapse:collapse}th,td{text-align:left;padding:3px 14px 3px 0;border-bottom:1px solid #e2ddd2}"
)


def body(found: Sequence[AttentionRecord]) -> Markup:
    """Return a card for each study."""
    return join(*(_card(study, number) for number, study in enumerate(found)))


def _card(study: AttentionRecord, number: int) -> Markup:
    lead = (
        f"One changed word on {study.data}: {study.texts:,} texts that every model classified correctly, changed by "
        f"{study.recipe} (each model's own successes) and by a random word (the same for all)."
    )
    parts = (_models(study.models), *map(_example_card, study.sights), _bounds(study.bounds))
    return card(f"attention-{number}", TITLE, lead, *parts)


def layer_rows(models: Sequence[AttentionModel]) -> list[tuple[str, ...]]:
    """Return model, edits, layer and its measures as strings, and a row for the vector that the classifier reads."""
    rows = []
    for model in models:
        for layer in model.layers:
            means = (layer.relative, layer.elsewhere, layer.reach, layer.shift)
            rows.append((model.name, model.edits, _layer(layer.number), *map(text_of, means)))
        for name, found in (("mean of the layers", model.layered), ("vector read", model.pooled)):
            if found is not None:
                rows.append((model.name, model.edits, name, text_of(found), DASH, DASH, DASH))
    return rows


def _models(models: Sequence[AttentionModel]) -> Markup:
    names = ("Model", "Edits", "States", "R_e", "Elsewhere", "Spread", "Attention shift")
    return table("What one word moves", names, layer_rows(models), NOTE)


def bound_rows(bounds: Sequence[Bound]) -> list[tuple[str, ...]]:
    """Return a table row for each bound, in the columns of BOUND_NAMES."""
    rows = []
    for b in bounds:
        tails = ", ".join(f"{t.epsilon:g}x: {t.share:.4f} (at most {t.markov:.2g})" for t in b.tails)
        numbers = (b.bound, b.mean, b.exact, b.signed, b.largest, b.cosine)
        figures = (f"{b.dim}", f"{b.words}", f"{b.delta:.3g}", *(f"{number:.4g}" for number in numbers))
        rows.append((b.where, *figures, f"{b.over}/{b.cases}", tails))
    return rows


BOUND_NAMES = (
    *("Where", "d", "Words", "delta", "Bound", "Mean", "Exact", "Signed mean", "Largest of a text", "Cosine"),
    *("Above the bound", "Share that moved at least so many bounds"),
)


def _bounds(bounds: Sequence[Bound]) -> Markup:
    if not bounds:
        return Markup("")
    figure = theorem_figure(bounds)
    return join(
        table("Theorem 1", BOUND_NAMES, bound_rows(bounds), BOUNDS),
        panel("Bound and mean over dimensions", figure) if figure else None,
    )


def theorem_figure(bounds: Sequence[Bound]) -> Markup:
    """Plot bound and measured mean over dimensions, of simulations that differ in dimension alone."""
    found = [b for b in bounds if b.where == "sphere, Gaussian"]
    if not found:
        return Markup("")
    alike = [b for b in found if (b.words, b.delta) == (found[0].words, found[0].delta)]
    lines = [
        ("bound", [(b.dim, b.bound) for b in alike]),
        ("largest of a text", [(b.dim, b.largest) for b in alike]),
        ("mean", [(b.dim, b.mean) for b in alike]),
        ("exact", [(b.dim, b.exact) for b in alike]),
    ]
    return loglog("Theorem 1 by simulation", "dimensions", lines[:3])


def attention_figure(example: AttentionExample) -> Markup | None:
    """Draw attention before and after the change for each stored layer; None for a victim without attention."""
    if not example.maps:
        return None
    about = f"{example.model}, answered {example.said[0]} before and {example.said[1]} after. Mean over heads."
    return tables("Attention before and after", about, [_maps(example, *held) for held in example.maps])


def _maps(example: AttentionExample, layer: int, before: Sequence[Row], after: Sequence[Row]) -> list[ShadeTable]:
    if len(before) == 1:  # one query for the whole text
        rows, both = (("before", "after"), (*before, *after)) if example.changed else (("",), before)
        title = f"{example.model}: attention on each word"
        return [ShadeTable(title=title, rows=rows, columns=_columns(example), values=both, marked=example.changed)]
    said = ", a row looks at columns"
    return [
        ShadeTable(
            title=f"layer {layer}, {when}{said}",
            rows=words,
            columns=words,
            values=values,
            marked=example.changed,
            whole=True,
            cell=22,
            row=19,
        )
        for when, words, values in (("before", example.before, before), ("after", example.after, after))
        if example.changed or when == "before"
    ]


def _columns(example: AttentionExample) -> list[str]:
    return [b if b == a else f"{b}→{a}" for b, a in zip(example.before, example.after, strict=True)]


def variation_figure(example: AttentionExample) -> Markup | None:
    """Draw how far each word's state moved, a row a layer; None where no word changed or the states are not known."""
    if not example.variation or not example.changed:
        return None
    table = ShadeTable(
        title=f"{example.model}: L2 norm of the change of each word's state",
        rows=[_layer(number) for number in range(len(example.variation))],
        columns=_columns(example),
        values=example.variation,
        marked=example.changed,
    )
    return tables("Change of states", "Each row is shaded by its own largest.", [[table]])


def _example_card(example: AttentionExample) -> Markup:
    figures = [figure for figure in (variation_figure(example), attention_figure(example)) if figure is not None]
    words = [_mark_edit(b, a) for b, a in zip(example.before, example.after, strict=True)]
    text = tag("p", *(part for word in words for part in (word, " ")), class_="text", dir="auto")
    said = f"{example.model}: {example.said[0]}" + (f", then {example.said[1]}" if example.changed else "")
    return join(tag("h3", said), text, *(scroll(one, 0, said) for one in figures))


def _mark_edit(before: str, after: str) -> Markup:
    return join(before) if before == after else join(tag("del", before), " ", tag("ins", after))


def render(examples: Sequence[AttentionExample]) -> str:
    """Return a stand-alone HTML page of single texts."""
    return stand_alone(
        "Before and after", _PAGE, tag("h1", "Attention and states before and after"), *map(_example_card, examples)
    )


def figure_files(examples: Sequence[AttentionExample], bounds: Sequence[Bound] = ()) -> dict[str, str]:
    """Return the figures as SVG text by file name."""
    files = {}
    for number, one in enumerate(examples):
        for name, figure in (("attention", attention_figure(one)), ("states", variation_figure(one))):
            if figure is not None:
                files[f"{name}-{number}.svg"] = f"{figure}\n"
    if bounds and (figure := theorem_figure(bounds)):
        files["theorem.svg"] = f"{figure}\n"
    return files


def write_examples(examples: Sequence[AttentionExample], folder: Path) -> Path:
    """Write attention.html and its figures to the folder, and return the page's path."""
    for name, content in {"attention.html": render(examples), **figure_files(examples)}.items():
        write_whole(folder / name, content)
    return folder / "attention.html"


def terminal(study: AttentionRecord) -> str:
    """Return a table for each model, then one for Theorem 1."""
    parts = []
    for model in study.models:
        rows = []
        for layer in model.layers:
            means = (layer.relative, layer.elsewhere, layer.reach, layer.shift)
            rows.append((_layer(layer.number), *map(_short, means)))
        ends = (("mean of the layers", model.layered), ("vector read", model.pooled))
        rows += [(name, _short(found), "", "", "") for name, found in ends if found is not None]
        parts.append(f"{printable(model.name)}, {printable(model.edits)}, {model.texts} texts")
        parts.append(lines_of("", ("", "R_e", "elsewhere", "spread", "shift"), rows, boxed=False))
    if study.bounds:
        rows = []
        for b in study.bounds:
            numbers = (f"{number:.4g}" for number in (b.bound, b.mean, b.exact))
            rows.append((b.where, str(b.dim), *numbers, f"{b.over}/{b.cases}"))
        parts.append(lines_of("", ("theorem 1", "d", "bound", "mean", "exact", "above"), rows, boxed=False))
    return "\n".join(parts)


def _short(mean: AttentionMean | None) -> str:
    return "" if mean is None or not mean.n else f"{mean.value:.2f} ({mean.low:.2f}-{mean.high:.2f})"


def _layer(number: int) -> str:
    return f"layer {number}" if number else "input"


def print_example(example: AttentionExample) -> None:
    """Print which words' states moved most in each layer, and which words gained or lost attention."""
    if not example.changed:
        for layer, rows, _ in example.maps:
            received = [_share(rows, slot) for slot in range(len(example.before))]
            order = sorted(range(len(received)), key=lambda slot: -received[slot])[:6]
            top = ", ".join(f"{printable(example.before[slot])} {received[slot]:.3f}" for slot in order)
            print(f"  attention, layer {layer}: {top}")
        return
    print(f"{printable(example.model)}: {printable(example.said[0])} before, {printable(example.said[1])} after")
    for number, row in enumerate(example.variation):
        order = sorted(range(len(row)), key=lambda slot: -row[slot])[:4]
        moved = ", ".join(f"{printable(example.after[slot])} {row[slot]:.2f}" for slot in order)
        print(f"  {_layer(number)}: {moved}")
    for layer, before, after in example.maps:
        gains = [_share(after, slot) - _share(before, slot) for slot in range(len(example.after))]
        order = sorted(range(len(gains)), key=lambda slot: -abs(gains[slot]))[:4]
        top = ", ".join(f"{printable(example.after[slot])} {gains[slot]:+.3f}" for slot in order)
        print(f"  attention, layer {layer}: {top}")


def _share(rows: Sequence[Row], slot: int) -> float:
    return sum(row[slot] for row in rows) / max(1, len(rows))


SECTION = Section(rank=62, title=TITLE, body=body, terminal=terminal)
