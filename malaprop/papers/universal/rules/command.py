"""malaprop rules pmi, apply and show: make rules from counts, apply rules to texts, and show rules beside the data."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from malaprop.frame.command import options as o
from malaprop.frame.command.settings_command import command
from malaprop.frame.study.run_options import OutputOptions
from malaprop.frame.study.selection import Selection
from malaprop.frame.study.settings import opt, type_command
from malaprop.papers.universal.rules.mine_study import FORMATS

if TYPE_CHECKING:
    from malaprop.data.base import Dataset


from collections.abc import Mapping
from typing import Any

from malaprop.core.errors import RecordError, SettingError
from malaprop.core.files import write_whole
from malaprop.core.settings import first_difference, plain, read_toml, to_toml

_FILE = "A file of rules, .csv or .json. Or a folder that holds rules.csv."


@dataclass(frozen=True, slots=True, kw_only=True)
class PmiCommand:
    """Make rules from counts of words and labels, without any model: equation 2 of the paper.

    Examples:

      malaprop rules pmi --data mr --out runs/pmi
    """

    lift: float | None = opt(
        None, "Bits added where a word and a label meet. log2(labels x words a text) if not given."
    )
    every: bool = opt(False, "Also write rules that do not lower the true label.", name="all")
    format: str = opt("csv", "csv or json.")
    texts: Selection = Selection(n=0, split="train")
    saving: OutputOptions = OutputOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyCommand:
    """Apply rules to texts, the strongest first; no victim is asked.

    Rows come in the order of the data, or as drawn with --n, with their fields, label and id and what was changed.

    Examples:

      malaprop rules apply runs/uawr --data mr --share 0.3 --out changed.csv
    """

    file: Path = opt(help=_FILE, argument=True)
    share: float = opt(0.3, "Perturbation rate: largest share of words.", min=0)
    texts: Selection = Selection(n=0)
    out: Path = opt(
        Path("changed.csv"), "The file to write, .csv or .jsonl. --data takes it again; one that exists is left alone."
    )
    json: bool = opt(False)
    quiet: bool = opt(False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowCommand:
    """Show the strongest rules of each label, how their words go with the labels of the data, and texts with them.

    Examples:

      malaprop rules show runs/uawr --data mr --top 5

      malaprop rules show runs/uawr --data mr --out runs/first && malaprop report runs/first
    """

    file: Path = opt(help=_FILE, argument=True)
    top: int = opt(10, "Rules of each label, one a word.", min=1)
    examples: int = opt(1, "Texts of the data for each rule.", min=0)
    least: int = opt(5, "Leave out rules with fewer measurements.", min=0)
    texts: Selection = Selection(n=0, split="train")
    out: Path | None = opt(None, "A folder with runs. diagnosis.json is written there, and the report shows it.")
    json: bool = opt(False)
    quiet: bool = opt(False)


def _read(texts: Selection, quiet: bool) -> Dataset:
    """Read the texts, raise unless they have two labels, and print the notes of the data."""
    from malaprop.data.base import need_two_labels

    found = need_two_labels(texts.held())
    o.tell(found.notes, quiet)
    return found


def make_pmi(asked: PmiCommand) -> None:
    """Write rules from counts, and beside them the settings they depend on."""
    from malaprop.attacks.rule_files import write_rules
    from malaprop.core.catalogue import unknown
    from malaprop.core.errors import DataError
    from malaprop.frame.records.store import check_writable
    from malaprop.papers.universal.rules.diagnose import pmi_rules

    if asked.format not in FORMATS:
        raise unknown("format", asked.format, FORMATS)
    saving, data = asked.saving, asked.texts.data
    path = o.out_folder(saving.out, "rules", "pmi", data) / f"rules.{asked.format}"
    check_writable(path.parent)
    found = _read(asked.texts, saving.quiet)
    made = pmi_rules(found.examples, found.labels, lift=asked.lift, every=asked.every)
    if not made:
        raise DataError(f"no replacement in {found.name} lowers its label; give more texts")
    texts = asdict(asked.texts)
    decisive = {"method": "pmi", "every": asked.every, "lift": asked.lift, "data": found.name, "texts": texts}
    keep_settings(path.parent, decisive | {"fingerprint": found.fingerprint})
    write_rules(made, path)
    if not saving.quiet:
        print(f"{len(made):,} rules from {len(found):,} texts")
        o.say(f"rules: {path}")
    o.suggest(type_command("rules show", str(path), data=data), saving.quiet, saving.json)
    counts = {"texts": len(found), "rules": len(made), "by_label": dict(Counter(rule.label for rule in made))}
    o.finish({"command": "rules pmi", "out": str(path), **counts}, saving.json)


def apply_file(asked: ApplyCommand) -> None:
    """Write the texts with the rules of a file applied."""
    from malaprop.attacks.rule_files import read_rules
    from malaprop.core.errors import DataError, SettingError
    from malaprop.papers.universal.rules.apply import apply_rules, check_kind, write_applied

    check_kind(asked.out)
    if asked.out.exists():
        raise SettingError(f"--out {asked.out} exists already; delete it or give another file")
    rules = read_rules(asked.file)
    found = asked.texts.held() if asked.texts.n else asked.texts.whole()
    o.tell(found.notes, asked.quiet)
    numbers = rules.numbers(found.labels)
    if lacking := [name for name in rules.labels if name not in numbers]:
        o.say(f"{found.name} has no labels {', '.join(lacking)}, which rules name", asked.quiet)
    if bare := [name for at, name in enumerate(found.labels) if at in found.present and at not in numbers.values()]:
        o.say(f"there is no rule for the label {', '.join(bare)}; its texts are left unchanged", asked.quiet)
    made = list(apply_rules(rules, found, found.labels, share=asked.share))
    if made and all(one.reason for one in made):
        raise DataError(f"none of {len(made)} texts could be read: {made[0].reason}")
    path = write_applied(made, found.labels, asked.out)
    touched = [one for one in made if one.changes]
    mean = sum(len(one.changes) / max(1, one.words) for one in made) / max(1, len(made))
    if not asked.quiet:
        print(f"{len(touched):,} of {len(made):,} texts changed, {100 * mean:.1f}% of the words on average: {path}")
    o.suggest(type_command("audit", victim=None, data=asked.out), asked.quiet, asked.json)
    counts = {"texts": len(made), "changed": len(touched), "share": mean}
    o.finish({"command": "rules apply", "out": str(path), **counts}, asked.json)


def show_file(asked: ShowCommand) -> None:
    """Print the strongest rules of a file beside the data, and write the record if --out is given."""
    from malaprop.attacks.rule_files import read_rules
    from malaprop.papers.universal.rules.diagnose import diagnose
    from malaprop.papers.universal.rules.record import diagnosis_terminal

    rules = read_rules(asked.file)
    found = _read(asked.texts, asked.quiet)
    few = max((rule.count for rule in rules), default=0) < asked.least  # a list of one's own has no counts
    least = 0 if few else asked.least
    made = diagnose(
        rules, found.examples, found.labels, data=found.name, top=asked.top, texts=asked.examples, least=least
    )
    if made.lacking:
        o.say(f"{found.name} lacks the labels {', '.join(made.lacking)}, which rules speak of", asked.quiet)
    if asked.out is not None:
        path = made.write(o.out_folder(asked.out))
        o.say(f"record: {path}; malaprop report {asked.out} shows it beside its runs", asked.quiet)
    if not asked.quiet:
        print(diagnosis_terminal(made))
    o.suggest(type_command("rules measure", str(asked.file), victim=None), asked.quiet, asked.json)
    o.finish({"command": "rules show", **made.to_dict()}, asked.json)


pmi, apply, show = command(PmiCommand, make_pmi), command(ApplyCommand, apply_file), command(ShowCommand, show_file)


FILE = "settings.toml"


def keep_settings(folder: Path, settings: Mapping[str, Any]) -> None:
    """Write the settings to the folder at the first start; later, raise if they differ from the file."""
    compare_settings(folder, settings)
    if not (folder / FILE).is_file():
        write_whole(folder / FILE, to_toml(plain(settings)))


def compare_settings(folder: Path, settings: Mapping[str, Any]) -> None:
    """Raise if the folder holds results of other settings; the message names the first difference."""
    path = folder / FILE
    if not path.is_file():
        return
    try:
        theirs = read_toml(path)
    except SettingError as error:
        raise RecordError(f"{error}; choose another --out") from None
    if (difference := first_difference(plain(settings), theirs)) is not None:
        raise RecordError(
            f"{folder} holds results of other settings: {difference}; use the same settings or choose another --out"
        )
