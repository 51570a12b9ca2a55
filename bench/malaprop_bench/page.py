"""Fill the tables of documentation pages from measurements on disk: nothing between the marks is typed by hand.

A mark names a JSON or JSONL file, relative to the page, and a table of it:

    <!-- table: measured/bench.json times -->
    ...
    <!-- end of table -->

On a recipe's page the lone mark `<!-- recipe figures: NAME -->` is enough.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from malaprop.core.catalogue import unknown
from malaprop.core.errors import DataError
from malaprop.frame.records.summary import Rate
from malaprop_bench import (
    architectures,
    audited,
    beside,
    blind,
    budgets,
    certificates,
    defended,
    detected,
    encoders,
    ensembled,
    epochs,
    fewqueries,
    growth,
    judged,
    longtexts,
    modelshare,
    parts,
    profiled,
    prompts,
    reading,
    recipetable,
    rejected,
    remembered,
    ruled,
    savings,
    scaled,
    served,
    spelling,
    startup,
    strangers,
    strictness,
    table,
    throughput,
    transferred,
    turns,
    unseen,
    validity,
)

_MARK = re.compile(
    r"(?P<head><!-- table: (?P<file>\S+) (?P<kind>[\w-]+) -->\n).*?(?P<tail><!-- end of table -->)", re.DOTALL
)
_LINK = re.compile(r"\]\((?=[\w-]+(?:/[\w*-]+)*\.md)")
RECIPES = "../measured/recipes.json"  # from a recipe's page
_END = "<!-- end of figures -->\n"
_FIGURES = re.compile(rf"(?P<head><!-- recipe figures: (?P<name>\S+) -->\n)(?:\n.*?{_END})?", re.DOTALL)
Records = Sequence[Mapping[str, Any]]


def _bench(lines: Callable[[Mapping[str, Any]], list[str]]) -> Callable[[Records], list[str]]:
    return lambda records: [line for record in records for line in lines(record)]


TRAINED = (
    "model",
    "data",
    "machine",
    "training texts",
    "epochs",
    "seconds",
    "right on the test part",
    "attack",
    "attack success",
)


def _trained(held: Mapping[str, Any]) -> list[str]:
    """Return a row of a model's card, and the share of correctly answered texts that one attack broke."""
    figures, attack = held["figures"], held["attack"]
    right = Rate(round(figures["test_accuracy"] * figures["test_rows"]), figures["test_rows"])
    broken = Rate(attack["success"]["hits"], attack["success"]["total"])
    counts = f"{figures['train_rows']:,}", str(figures["epochs"]), f"{figures['seconds']:.0f}"
    return [held["model"], held["data"], held["machine"], *counts, str(right), f"`{attack['recipe']}`", str(broken)]


INSTALLED = ("extra", "megabytes on disk, with all that it needs")


def _installed(held: Mapping[str, Any]) -> list[str]:
    """Return a row of the time and size of one install into an empty environment, as `make package` measured it."""
    name = held["extra"]
    return ["none: the base install" if name == "none" else f"`{name}`", f"{held['megabytes']:,}"]


TABLES: Mapping[str, Callable[[Records], list[str]]] = {
    "times": _bench(table.times),
    "results": _bench(table.results),
    "beside": _bench(beside.beside_lines),
    "about": _bench(lambda held: [table.about(held)]),
    "throughput": lambda records: table.lines(throughput.HEAD, [throughput.row(held) for held in records]),
    "turns": lambda records: table.lines(turns.HEAD, turns.rows(records)),
    "model-share": lambda records: table.lines(modelshare.HEAD, modelshare.rows(records)),
    "prompts": lambda records: table.lines(prompts.ROBUST, prompts.robust_rows(records)),
    "causal-share": lambda records: table.lines(prompts.FORWARD, prompts.forward_rows(records)),
    "prompt-sharing": lambda records: table.lines(prompts.SPEED, prompts.speed_rows(records)),
    "scorers": _bench(lambda held: table.lines(savings.HEAD, savings.rows(held))),
    "architectures": lambda records: table.lines(architectures.HEAD, architectures.rows(records)),
    "gpu-goals": lambda records: table.lines(architectures.GOAL_HEAD, architectures.goal_rows(records)),
    "processor": lambda records: table.lines(table.PROCESSOR, table.processor_rows(records)),
    "audit": _bench(lambda held: table.lines(audited.HEAD, audited.rows(held))),
    "audit-short": _bench(audited.short_lines),
    "audit-parts": lambda records: table.lines(*parts.rows(records)),
    "encoders": _bench(lambda held: table.lines(encoders.HEAD, encoders.rows(held))),
    "served": lambda records: table.lines(served.HEAD, served.rows(records)),
    "recipes": _bench(recipetable.beside),
    "strongest": _bench(lambda held: table.lines(ensembled.HEAD, ensembled.rows(held))),
    "long-texts": _bench(lambda held: table.lines(longtexts.HEAD, longtexts.rows(held))),
    "reading": _bench(lambda held: table.lines(reading.HEAD, reading.rows(held))),
    "validity-brief": _bench(lambda held: table.lines(validity.BRIEF, validity.brief_rows(held))),
    "valid-read": _bench(lambda held: table.lines(blind.KEPT, blind.kept_rows(held)[: 1 + len(blind.DATA)])),
    "valid-read-by": _bench(lambda held: table.lines(blind.KEPT, blind.kept_rows(held))),
    "judge-read": _bench(lambda held: table.lines(blind.JUDGED, blind.judge_rows(held))),
    "judge-verdicts": _bench(lambda held: table.lines(blind.PASSED, blind.verdict_rows(held))),
    "judge": _bench(lambda held: table.lines(judged.SOURCES, judged.source_rows(held))),
    "judge-heads": _bench(lambda held: table.lines(judged.HEADS, judged.head_rows(held))),
    "judge-bands": _bench(lambda held: table.lines(judged.BANDS, judged.band_rows(held))),
    "valid-search": _bench(lambda held: table.lines(validity.SEARCHED, validity.search_rows(held))),
    "validity": _bench(lambda held: table.lines(validity.HEAD, validity.rows(held))),
    "strict": _bench(lambda held: table.lines(strictness.HEAD, strictness.rows(held))),
    "epochs": _bench(epochs.table_lines),
    "unseen": _bench(lambda held: table.lines(unseen.HEAD, unseen.rows(held))),
    "recipes-differ": _bench(recipetable.differ),
    "recipes-languages": _bench(recipetable.foreign),
    "few-queries": _bench(lambda held: table.lines(fewqueries.HEAD, fewqueries.rows(held))),
    "defences": defended.table_lines,
    "defences-valid": partial(defended.table_lines, validity="valid", models=defended.MODELS),
    "detect": _bench(lambda held: table.lines(detected.HEAD, detected.rows(held))),
    "detect-evaded": _bench(lambda held: table.lines(detected.EVADED, detected.evaded_rows(held))),
    "reject": lambda records: table.lines(rejected.HEAD, rejected.rows(records)),
    "spelling": lambda records: table.lines(spelling.HEAD, spelling.rows(records)),
    "startup": lambda records: table.lines(startup.HEAD, startup.rows(records)),
    "remembered": _bench(lambda held: table.lines(remembered.HEAD, remembered.rows(held))),
    "strangers": _bench(lambda held: table.lines(strangers.HEAD, strangers.rows(held))),
    "profiles": _bench(lambda held: table.lines(profiled.HEAD, profiled.rows(held))),
    "profile-twins": _bench(lambda held: table.lines(profiled.TWINS, profiled.twin_rows(held))),
    "installs": lambda records: table.lines(INSTALLED, [_installed(held) for held in records]),
    "certified": _bench(lambda held: table.lines(certificates.HEAD, certificates.rows(held))),
    "certified-held": _bench(lambda held: table.lines(certificates.HELD, certificates.held_rows(held))),
    "labels-alone": _bench(lambda held: table.lines(budgets.HEAD, budgets.rows(held))),
    "labels-alone-gap": _bench(budgets.gap_lines),
    "transfer": _bench(transferred.about_lines),
    "transfer-factors": _bench(lambda held: table.lines(transferred.FACTORS, transferred.factor_rows(held))),
    "transfer-architecture": _bench(lambda held: transferred.class_lines(held, "architecture")),
    "transfer-input": _bench(lambda held: transferred.class_lines(held, "input form and embedding")),
    "ensembles": _bench(lambda held: table.lines(transferred.ENSEMBLES, transferred.ensemble_rows(held))),
    "rules": _bench(ruled.family_lines),
    "rules-words": _bench(ruled.share_lines),
    "scale-ray": _bench(lambda held: table.lines(scaled.RAY, scaled.ray_rows(held))),
    "scale-simulated": _bench(lambda held: table.lines(scaled.SIMULATED, scaled.simulated_rows(held))),
    **{f"growth-{axis}": _bench(partial(growth.table_lines, axis)) for axis in growth.AXES},
    "trained": lambda records: table.lines(TRAINED, [_trained(held) for held in records]),
}


def fill(page: Path) -> int:
    """Rewrite every table of the page, or of every page below a folder; return how many there are."""
    if page.is_dir():
        return sum(fill(one) for one in sorted(page.rglob("*.md")))
    try:
        text = page.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"{page} cannot be read: {error.strerror}; name a Markdown page") from None
    made, count = filled(text, page.parent)
    page.write_text(made, encoding="utf-8")
    return count


def filled(text: str, folder: Path) -> tuple[str, int]:
    """Return the page's text with fresh tables, and how many there are."""

    def one(found: re.Match[str]) -> str:
        if (kind := found["kind"]) not in TABLES:
            raise unknown("table", kind, TABLES)
        lines = _link_from(found["file"], TABLES[kind](read(folder / found["file"])))
        return "".join([found["head"], "\n", *(f"{line}\n" for line in lines), "\n", found["tail"]])

    def of_recipe(found: re.Match[str]) -> str:
        lines = recipetable.figures(found["name"], read(folder / RECIPES)[0])
        return "".join([found["head"], "\n", *(f"{line}\n" for line in lines), "\n", _END])

    made, tables = _MARK.subn(one, text)
    made, figures = _FIGURES.subn(of_recipe, made)
    return made, tables + figures


def _link_from(file: str, lines: list[str]) -> list[str]:
    """Make the links of a table, which start in docs, start in the page's folder below docs."""
    docs, _, _ = file.partition("measured/")
    return [_LINK.sub(f"]({docs}", line) for line in lines] if docs.startswith("../") else lines


def read(path: Path) -> Records:
    """Read the record of a .json file, packed or not, or the records of a .jsonl file or of folders, in order."""
    if path.is_dir():
        return [record for one in sorted(path.glob("*/*.json")) for record in read(one)]
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
        return (
            [json.loads(line) for line in text.splitlines() if line] if path.suffix == ".jsonl" else [json.loads(text)]
        )
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read as measurements: {error}") from None


def append(folder: Path, name: str, record: Mapping[str, Any]) -> Path:
    """Append a line to folder/NAME.jsonl."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.jsonl"
    with path.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(record) + "\n")
    return path
