"""malaprop explain: which words a victim's answer hangs on, and what one changed word does inside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from malaprop.cli import options as o

if TYPE_CHECKING:
    from malaprop.core.victim import Victim
    from malaprop.records.attention import AttentionSight
    from malaprop.reports.heat import Heat


def explain(
    text: Annotated[str, typer.Argument(help="The text to explain; of a pair, the hypothesis.")],
    victim: Annotated[str, typer.Option(help="What audit takes; several, separated by commas, share one heat map.")],
    premise: Annotated[str | None, typer.Option(help="Of a pair, the premise.")] = None,
    label: Annotated[
        str | None,
        typer.Option(help="The label to explain, by name or number; what the victim says if not given."),
    ] = None,
    substitutes: Annotated[bool, typer.Option(help="Weigh WordNet synonyms of every word too.")] = True,
    against: Annotated[
        str | None,
        typer.Option(help="The text with some words replaced: show attention and states before and after."),
    ] = None,
    attack: Annotated[
        str | None, typer.Option(help="A recipe that finds such a text: see malaprop list recipes.")
    ] = None,
    attention: Annotated[
        bool,
        typer.Option("--attention", help="Show the attention of the text itself; a victim without any is refused."),
    ] = False,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of --attack, as name=value; may be repeated.")
    ] = None,
    seed: o.Seed = 0,
    device: o.Device = "auto",
    precision: o.Precision = "auto",
    out: o.Out = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Show how much each word of a text, and each synonym in its place, moves a victim's answer.

    A word's importance is the log-likelihood of the label with the word, less that with an unknown word instead. With
    --against or --attack: where the victim looks before and after, and how far each word's state moves in each layer.

    Examples:

      malaprop explain "a moving, funny film" --victim LSTM-W-GloVe-1

      malaprop explain "a man sleeps" --premise "a man runs" --victim ./nli --label 2 --out heat

      malaprop explain "a moving, funny film" --victim LSTM-W-GloVe-1,BERT --out heat --json

      malaprop explain "a moving, funny film" --against "a moving, dull film" --victim BERT --out heat

      malaprop explain "a moving, funny film" --attack gs-ec --victim BiLSTM-Attention --set vocabulary=2000 --out heat
    """
    from malaprop.core.errors import DataError, SettingError
    from malaprop.core.settings import overrides
    from malaprop.reports.heat import print_heat, reach, write_heat
    from malaprop.runs.importance import wordnet_substitutes
    from malaprop.runs.victims import victim as open_victim

    specs = o.listed(victim) or ()
    if not specs:
        raise SettingError("--victim names no victim")
    if out is not None and out.exists() and not out.is_dir():
        raise SettingError(f"--out {out} is a file; give a folder")
    if against is not None and attack is not None:
        raise SettingError("--against and --attack both give the second text; choose one")
    if premise is not None and not premise.strip():
        raise DataError("the premise is empty; give a sentence, or leave --premise out for a single text")
    made = None if attack is None else _recipe(attack, overrides(set_ or []))
    others = _substitutes(wordnet_substitutes, quiet) if substitutes else None
    heats: list[Heat] = []
    sights: list[AttentionSight] = []
    for spec in specs:
        opened = open_victim(spec, device=device, precision=precision, quiet=quiet)
        wanted = _label(opened, label)
        if attention or against is not None or attack is not None:
            after = (against, made)
            sights += _sights(opened, _source(text, premise), after, seed=seed, label=wanted, attention=attention)
        heats.append(_heat(opened, _source(text, premise), wanted, others))
        if not quiet:
            print_heat(heats[-1])
            _print_sights(sights[-1:])
    if label is None and len({heat["label"] for heat in heats}) > 1:
        o.say("the victims give different labels, and each is explained for its own; --label sets one for all", quiet)
    if out is not None:
        o.say(f"heat map: {write_heat(heats, out)}", quiet)
        _write_sights(sights, out, quiet)
    spread = {heat["victim"]: round(reach(heat), 3) for heat in heats}
    summary = {"command": "explain", "out": None if out is None else str(out), "victims": heats, "spread": spread}
    o.finish({**summary, **_summary(sights)}, json)


def _label(victim: Victim, given: str | None) -> int | None:
    """The victim's number of a label; names are its own, whatever their case."""
    from malaprop.core.errors import SettingError

    names = victim.label_names
    numbers = {name.casefold(): number for number, name in enumerate(names)}
    if given is None or given.strip().casefold() in numbers:
        return None if given is None else numbers[given.strip().casefold()]
    if given.strip().isdecimal():
        return int(given)
    if names:
        known = ", ".join(names)
        raise SettingError(
            f"{victim.name} has the labels {known}; --label takes one of them or a number, got {given!r}"
        )
    raise SettingError(f"{victim.name} has no names for its labels; --label takes a number from 0, got {given!r}")


def _source(text: str, premise: str | None) -> str | dict[str, str]:
    return text if premise is None else {"premise": premise, "hypothesis": text}


def _recipe(name: str, settings: dict[str, Any]) -> Any:
    from malaprop.runs.api import recipe

    return recipe(name, **settings)


def _substitutes(find: Any, quiet: bool) -> Any:
    from malaprop.core.errors import AssetError

    try:
        return find()
    except AssetError as error:
        o.say(f"no substitutes: {error}", quiet)
        return None


def _heat(victim: Victim, source: str | dict[str, str], label: int | None, others: Any) -> Heat:
    from typing import cast

    from malaprop.runs.importance import importance

    (found,) = importance(victim, [source], label=label, substitutes=others)
    return cast("Heat", found.to_dict())


def _sights(victim: Victim, source: Any, after: tuple[str | None, Any], **how: Any) -> list[AttentionSight]:
    """The text beside the one that --against gives or --attack finds; none where the attack fails."""
    from malaprop.analysis.sights import compare_inside

    found = compare_inside(victim, source, against=after[0], attack=after[1], **how)
    if found is None:
        o.say(f"{after[1].name} finds no adversarial text for {victim.name}")
    return [] if found is None else [found]


def _print_sights(sights: list[AttentionSight]) -> None:
    from malaprop.reports.attention import print_sight

    for sight in sights:
        print_sight(sight)


def _write_sights(sights: list[AttentionSight], out: Path, quiet: bool) -> None:
    from malaprop.reports.attention import write_sights

    if sights:
        o.say(f"attention and states: {write_sights(sights, out)}", quiet)


def _summary(sights: list[AttentionSight]) -> dict[str, Any]:
    from dataclasses import asdict

    return {"sights": [asdict(sight) for sight in sights]} if sights else {}
