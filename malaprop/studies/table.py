"""The table of commands: their names, one line of help each, and where they are. Nothing is loaded before it is used.

A command is a settings class of a study, a function that typer takes, or a typer application. Another package adds one
with an entry point in the group `malaprop.command`, whose name is the command's: `"study mine" = "my_package:Mine"`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from malaprop.core.catalogue import unknown
from malaprop.core.errors import SettingError
from malaprop.core.settings import read_toml
from malaprop.studies.settings import build, is_table, known_names, rename

if TYPE_CHECKING:
    from malaprop.studies.study import Study


@dataclass(frozen=True, slots=True)
class Command:
    """A line of the table."""

    place: str  # module:attribute
    help: str

    def load(self) -> Any:
        module, _, name = self.place.partition(":")
        return getattr(import_module(module), name)


_CLI, _TRANSLATE, _NATURAL = "malaprop.cli", "malaprop.studies.translate", "malaprop.studies.latent_space.commands"
COMMANDS: dict[str, Command] = {
    "audit": Command("malaprop.studies.audit:Audit", "Attack a victim in several ways and write a report card."),
    "check": Command("malaprop.studies.check:Check", "Fail a build where a model is less robust than a baseline."),
    "attack": Command("malaprop.studies.attack:AttackRun", "Run one recipe over a dataset and write its outcomes."),
    "explain": Command(f"{_CLI}.explain:explain", "Show which words decide a victim's answer."),
    "train": Command("malaprop.studies.train:Train", "Train a model of the zoo to a folder that --victim takes."),
    "augment": Command(f"{_CLI}.augment:augment", "Write perturbed copies of a dataset."),
    "harden": Command("malaprop.studies.harden:Harden", "Train a model against attacks, or wrap one in a defence."),
    "tune": Command("malaprop.studies.tune:Tune", "Search for the settings of a defence."),
    "certify": Command("malaprop.studies.certify:Certify", "Prove how many words of a text may change."),
    "detect fit": Command("malaprop.studies.detect:DetectFit", "Fit a detector of adversarial texts for a victim."),
    "detect score": Command(
        "malaprop.studies.detect:DetectScore", "How well a detector tells the texts of attack runs."
    ),
    "study hotflip": Command(
        "malaprop.studies.hotflip:HotFlip", "Attacks on a model that reads characters, and its hardening."
    ),
    "study oneword": Command("malaprop.studies.oneword:OneWord", "Attacks that change one word, model by model."),
    "study attention": Command(
        "malaprop.studies.attention:AttentionStudy", "What one changed word does to attention and states; Theorem 1."
    ),
    "study defences": Command(
        "malaprop.studies.defence_test:DefenceTest", "Defences of a victim under attacks that do and do not know them."
    ),
    "study leaderboard": Command(
        "malaprop.studies.leaderboard:Leaderboard", "Several victims under several attacks, ranked."
    ),
    "transfer": Command("malaprop.studies.transfer:Transfer", "Try the texts that break one model on all others."),
    "ensemble": Command(
        "malaprop.studies.ensemble:EnsembleSearch", "Search for an ensemble whose texts break other models."
    ),
    "pretrain": Command("malaprop.studies.pretrain:Pretrain", "Pre-train a small encoder."),
    "run": Command(f"{_CLI}.run:run", "Run the study that a TOML file describes."),
    "report": Command(f"{_CLI}.report:report", "Write the HTML report again, from the records of runs."),
    "status": Command(f"{_CLI}.status:status", "Show what a folder holds and what is left of it."),
    "reproduce": Command(
        "malaprop.studies.reproduce.book:Reproduce",
        "Test the claims of five papers, and show our figures beside theirs.",
    ),
    "serve": Command(f"{_CLI}.serve:serve", "Attack a victim in the browser."),
    "list": Command(f"{_CLI}.list_:list_", "List recipes, models, defences, datasets or assets."),
    "fetch": Command(f"{_CLI}.fetch:fetch", "Fetch a resource from outside."),
    "humans": Command(f"{_CLI}.humans:app", "Ask people about texts."),
    "rules mine": Command("malaprop.studies.mine:Mine", "Find word swaps that lower a label in several victims."),
    "rules pmi": Command(f"{_CLI}.rules:pmi", "Make rules from counts of words and labels."),
    "rules apply": Command(f"{_CLI}.rules:apply", "Apply rules to texts, the strongest first; no victim is asked."),
    "rules show": Command(f"{_CLI}.rules:show", "The strongest rules, and how they go with the data."),
    "rules measure": Command("malaprop.studies.measure:Measure", "Several files of rules on the same victims."),
    "translate attack": Command(f"{_TRANSLATE}:TranslateAttack", "Bring a word into translations, or make BLEU fall."),
    "translate typos": Command(f"{_TRANSLATE}:TranslateTypos", "BLEU before and after one misspelling a sentence."),
    "translate probe": Command(f"{_TRANSLATE}:TranslateProbe", "Change words until a function of the output is true."),
    "translate run": Command(f"{_CLI}.translate:run", "Translate, and score BLEU where there are references."),
    "natural": Command(f"{_NATURAL}:Natural", "Search for natural adversaries in latent space."),
    "natural compare": Command(f"{_NATURAL}:NaturalCompare", "Victims on the same items: which needs more change."),
    "natural sweep": Command(
        f"{_NATURAL}:NaturalSweep", "Classifiers from poor to good: does distance follow accuracy."
    ),
    "natural synthetic": Command(f"{_NATURAL}:NaturalSynthetic", "A curve in the plane: why searches are latent."),
}
GROUPS = {
    "detect": "Detectors of adversarial texts: fit one for a victim, score it on finished attacks.",
    "study": "Do a paper's experiment as a whole, from training to figures.",
    "rules": "Universal word replacement rules: mine them from victims or counts, apply them, show what they tell.",
    "natural": "Natural adversaries: searches in the latent space of a generative model.",
    "translate": "Attacks on translation models: keywords brought into the output, typos, probes of your own.",
}


ELSEWHERE = {
    "bench": "malaprop-bench, which is the folder bench of Malaprop's repository"
}  # commands of other packages of ours


@cache
def plugins() -> dict[str, Command]:
    """The commands of other packages."""
    from importlib.metadata import entry_points

    found = entry_points(group="malaprop.command")
    return {one.name: Command(one.value, (one.dist and one.dist.metadata["Summary"]) or one.value) for one in found}


def find(name: str) -> Any:
    """The class, function or application of a command."""
    command = COMMANDS.get(name) or plugins().get(name)
    if command is None:
        raise unknown("command", name, COMMANDS)
    return command.load()


def find_study(name: str) -> type[Study]:
    """The settings class of a study, by the name of its command; `oneword` is short for `study oneword`."""
    known = {**COMMANDS, **plugins()}
    found = find(name if name in known else f"study {name}" if f"study {name}" in known else name)
    if not is_dataclass(found):
        raise SettingError(f"malaprop {name} is no study that can be run from settings yet; use the command line")
    return found  # type: ignore[return-value]


def who_has(option: str, group: str = "") -> list[str]:
    """The commands of a group, or the studies among all, that have an option, for a user who gave it to another."""
    name = option.lstrip("-").replace("-", "_")
    begin = "study" if group not in GROUPS else group
    mates = [command for command in COMMANDS if command.startswith(f"{begin} ")]
    classes = {command: COMMANDS[command].load() for command in mates}
    return [
        command
        for command, cls in classes.items()
        if is_dataclass(cls) and name in known_names(cls)  # type: ignore[arg-type]
    ]


def read_study(path: Path, more: Mapping[str, Any] | None = None) -> Study:
    """The study of a TOML file: `command = "study oneword"`, and its settings by their names; `more` has the last word.

    A study.toml in the folder that a study wrote goes on with that study. Tables group settings for the eye alone.
    """
    from malaprop.studies.agreement import MARKS
    from malaprop.studies.study import FILE
    from malaprop.tasks.happenings import LOG

    raw = read_toml(path)
    raw.pop(MARKS, None)  # a mark is of what a file held then
    name = raw.pop("command", None)
    if not isinstance(name, str):
        raise SettingError(f'{path} does not say which study it is; begin it with command = "study oneword"')
    cls = find_study(name)
    tables = {name for name, one in known_names(cls).items() if is_table(one.kind)}
    values: dict[str, Any] = {}
    for key, value in raw.items():
        values |= value if isinstance(value, Mapping) and key not in tables else {key: value}
    for key, value in values.items():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, str) and one.startswith("<") and one.endswith(">"):
                raise SettingError(
                    f"{path}: {key} was an object of Python ({one}), which no file can hold; run it there"
                )
    if "out" not in values and path.name == FILE and (path.parent / LOG).is_file():
        values["out"] = path.parent
    return build(cls, {**rename(cls, values), **rename(cls, more or {})})
