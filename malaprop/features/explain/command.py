"""malaprop explain: show which words a victim's answer depends on, and how one changed word moves its states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from malaprop.frame.command import options as o
from malaprop.frame.command.settings_command import command
from malaprop.frame.study.settings import opt, type_command
from malaprop.frame.study.vocabulary import SEVERAL, VICTIM

if TYPE_CHECKING:
    from malaprop.core.victim import Victim
    from malaprop.features.explain.heat import Heat
    from malaprop.features.explain.record import AttentionExample


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainCommand:
    """Show how much each word of a text, and each synonym in its place, moves a victim's answer.

    A word's importance is the log-likelihood of the label with the word, less that with an unknown word instead.
    --against and --attack also show attention before and after, and how far each word's state moves in each layer.

    Examples:

      malaprop explain "a moving, funny film" --victim LSTM-W-GloVe-1

      malaprop explain "a man sleeps" --premise "a man runs" --victim ./nli --label 2 --out heat

      malaprop explain "a moving, funny film" --victim LSTM-W-GloVe-1,BERT --out heat --json

      malaprop explain "a moving, funny film" --against "a moving, dull film" --victim BERT --out heat

      malaprop explain "a moving, funny film" --attack gs-ec --victim BiLSTM-Attention --set vocabulary=2000 --out heat

      malaprop explain --data mr --n 100 --victim LSTM-W-GloVe-1,BERT
    """

    text: str | None = opt(None, "The text to explain; of a pair, the hypothesis.", argument=True)
    victim: tuple[str, ...] = opt(help=f"{VICTIM} {SEVERAL} They share one heat map.", repeat=True)
    premise: str | None = opt(None, "Of a pair, the premise.")
    label: str | None = opt(None, "The label to explain, by name or number. The victim's answer if not given.")
    substitutes: bool = opt(True, "Weigh synonyms of each word. From WordNet.")
    against: str | None = opt(None, "The text with some words replaced. Shows attention and states before and after.")
    attack: str | None = opt(None, "A recipe that finds such a text. See malaprop list recipes.", repeat=True)
    attention: bool = opt(False, "Show the attention of the text itself. A victim without any is refused.")
    settings: Mapping[str, Any] = opt({}, "A setting of --attack, as name=value. May be repeated.", name="set")
    data: str | None = opt(
        None,
        "Texts to summarise, in place of one text. As audit takes them; compares how far each victim spreads "
        "importance over words.",
    )
    n: int = opt(100, "With --data: how many texts. Drawn by the seed.", min=1)
    seed: int = opt(0, min=0)
    device: str = opt("auto")
    precision: str = opt("auto")
    out: Path | None = opt(None, "Folder for what is written; made if it is missing.")
    json: bool = opt(False)
    quiet: bool = opt(False)

    def check(self) -> None:
        from malaprop.core.errors import DataError, SettingError

        if not self.victim:
            raise SettingError("--victim is empty; name at least one victim")
        if (self.text is None) == (self.data is None):
            raise SettingError("give either a text to explain, or --data with many texts")
        if self.data is not None:
            alone = ("premise", "label", "against", "attack", "attention", "out")
            if given := next((name for name in alone if getattr(self, name)), None):
                raise SettingError(f"--{given} is for one text; leave it out, or give a text in place of --data")
        if self.out is not None and self.out.exists() and not self.out.is_dir():
            raise SettingError(f"--out {self.out} is a file; give a folder")
        if self.against is not None and self.attack is not None:
            raise SettingError("--against and --attack both give the second text; choose one")
        if self.settings and self.attack is None:
            raise SettingError("--set gives settings of --attack, which is missing; add --attack or leave --set out")
        if self.premise is not None and not self.premise.strip():
            raise DataError("the premise is empty; give a sentence, or leave --premise out for a single text")

    @property
    def source(self) -> str | dict[str, str]:
        """Return the text, or both fields of a pair."""
        assert self.text is not None
        return self.text if self.premise is None else {"premise": self.premise, "hypothesis": self.text}


def explain_text(asked: ExplainCommand) -> None:
    """Print each victim's word importance, and write it and the attention before and after to --out."""
    from malaprop.features.explain.heat import print_heat, reach, write_heat
    from malaprop.features.explain.importance import label_number, wordnet_substitutes
    from malaprop.frame.runs.make_attack import recipe
    from malaprop.frame.runs.victims import victim as open_victim

    asked.check()
    if asked.data is not None:
        o.finish(_compare_spread(asked), asked.json)
        return
    quiet, out = asked.quiet, asked.out
    made = None if asked.attack is None else recipe(asked.attack, **asked.settings)
    others = _substitutes(wordnet_substitutes, quiet) if asked.substitutes else None
    heats: list[Heat] = []
    examples: list[AttentionExample] = []
    for spec in asked.victim:
        opened = open_victim(spec, device=asked.device, precision=asked.precision, quiet=quiet)
        wanted = label_number(opened, asked.label)
        if asked.attention or asked.against is not None or made is not None:
            examples += _compare_texts(opened, asked, made, wanted)
        heats.append(_heat(opened, asked.source, wanted, others))
        if not quiet:
            print_heat(heats[-1])
            _print_examples(examples[-1:])
    if asked.label is None and len({heat["label"] for heat in heats}) > 1:
        o.say("the victims give different labels, and each is explained for its own; --label sets one for all", quiet)
    if out is not None:
        o.say(f"heat map: {write_heat(heats, out)}", quiet)
        _write_examples(examples, out, quiet)
    spread = {heat["victim"]: round(reach(heat), 3) for heat in heats}
    summary = {"command": "explain", "out": None if out is None else str(out), "victims": heats, "spread": spread}
    o.suggest(type_command("attack pwws", victim=asked.victim, data=None), quiet, asked.json)
    o.finish({**summary, **_summary(examples)}, asked.json)


def _compare_spread(asked: ExplainCommand) -> dict[str, Any]:
    """Return for each text of --data over which share of its words importance is spread, and its three strongest."""
    from malaprop.features.explain.heat import list_strongest, reach, words_of
    from malaprop.features.explain.importance import importance
    from malaprop.frame.records.intervals import average, short
    from malaprop.frame.runs.victims import victim as open_victim
    from malaprop.frame.study.selection import Selection

    data = Selection(data=asked.data, n=asked.n, seed=asked.seed).held(asked.victim)
    shares: dict[str, list[float]] = {}
    strongest: dict[str, list[list[int]]] = {}
    for spec in asked.victim:
        opened = open_victim(spec, device=asked.device, precision=asked.precision, quiet=asked.quiet)
        found = importance(opened, [dict(example.fields) for example in data])
        heats = [cast("Heat", one.to_dict()) for one in found]
        name = opened.name if opened.name not in shares else str(spec)
        shares[name] = [round(reach(heat) / len(words_of(heat)), 4) for heat in heats]
        strongest[name] = [list_strongest(heat, 3) for heat in heats]
        if not asked.quiet:
            print(f"{name}: spread over {short(average(shares[name]))} of a text's words")
    said = {"command": "explain", "data": data.name, "texts": len(data)}
    return {**said, "spread": shares, "strongest": strongest}


def _substitutes(find: Any, quiet: bool) -> Any:
    """Return WordNet's substitutes; None, with a note, where WordNet is missing."""
    from malaprop.core.errors import AssetError

    try:
        return find()
    except AssetError as error:
        o.say(f"synonyms are left out: {error}", quiet)
        return None


def _heat(victim: Victim, source: str | dict[str, str], label: int | None, others: Any) -> Heat:
    """Return the heat map of one text for one victim."""
    from malaprop.features.explain.importance import importance

    (found,) = importance(victim, [source], label=label, substitutes=others)
    return cast("Heat", found.to_dict())


def _compare_texts(victim: Victim, asked: ExplainCommand, attack: Any, label: int | None) -> list[AttentionExample]:
    """Compare the text with the one of --against or --attack inside the victim; empty where the attack fails."""
    from malaprop.features.explain.attention import compare_inside

    found = compare_inside(
        victim, asked.source, against=asked.against, attack=attack, seed=asked.seed, label=label,
        attention=asked.attention,
    )  # fmt: skip
    if found is None:
        o.say(f"{attack.name} finds no adversarial text for {victim.name}")
    return [] if found is None else [found]


def _print_examples(examples: list[AttentionExample]) -> None:
    from malaprop.features.explain.record import print_example

    for example in examples:
        print_example(example)


def _write_examples(examples: list[AttentionExample], out: Path, quiet: bool) -> None:
    from malaprop.features.explain.record import write_examples

    if examples:
        o.say(f"attention and states: {write_examples(examples, out)}", quiet)


def _summary(examples: list[AttentionExample]) -> dict[str, Any]:
    from dataclasses import asdict

    return {"sights": [asdict(example) for example in examples]} if examples else {}


explain = command(ExplainCommand, explain_text)
