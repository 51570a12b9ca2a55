"""malaprop explain: which words a victim's answer hangs on."""

from __future__ import annotations

from typing import Annotated

import typer

from malaprop.cli import options as o


def explain(
    text: Annotated[str, typer.Argument(help="The text to explain; of a pair, the hypothesis.")],
    victim: Annotated[str, typer.Option(help="What audit takes; several, separated by commas, share one heat map.")],
    premise: Annotated[str | None, typer.Option(help="Of a pair, the premise.")] = None,
    label: Annotated[
        int | None, typer.Option(help="The label to explain; what the victim says if not given.", min=0)
    ] = None,
    substitutes: Annotated[bool, typer.Option(help="Weigh WordNet synonyms of every word too.")] = True,
    device: o.Device = "auto",
    precision: o.Precision = "auto",
    out: o.Out = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Show how much each word of a text, and each synonym in its place, moves a victim's answer.

    A word's importance is the log-likelihood of the label with the word, less that with an unknown word instead.

    Examples:

      malaprop explain "a moving, funny film" --victim LSTM-W-GloVe-1

      malaprop explain "a man sleeps" --premise "a man runs" --victim ./nli --label 2 --out heat

      malaprop explain "a moving, funny film" --victim LSTM-W-GloVe-1,BERT --out heat --json
    """
    from typing import cast

    from malaprop.core.errors import AssetError, SettingError
    from malaprop.reports.heat import Heat, print_heat, reach, write_heat
    from malaprop.runs.importance import importance, wordnet_substitutes
    from malaprop.runs.victims import victim as open_victim

    specs = [name.strip() for name in victim.split(",") if name.strip()]
    if not specs:
        raise SettingError("--victim names no victim")
    if out is not None and out.exists() and not out.is_dir():
        raise SettingError(f"--out {out} is a file; give a folder")
    source = text if premise is None else {"premise": premise, "hypothesis": text}
    others = None
    if substitutes:
        try:
            others = wordnet_substitutes()
        except AssetError as error:
            o.say(f"no substitutes: {error}", quiet)
    heats = []
    for spec in specs:
        opened = open_victim(spec, device=device, precision=precision, quiet=quiet)
        (found,) = importance(opened, [source], label=label, substitutes=others)
        heats.append(cast(Heat, found.to_dict()))
        if not quiet:
            print_heat(heats[-1])
    if len({heat["label"] for heat in heats}) > 1:
        o.say("the victims give different labels, and each is explained for its own; --label sets one for all", quiet)
    page = None if out is None else write_heat(heats, out)
    if page is not None:
        o.say(f"heat map: {page}", quiet)
    spread = {heat["victim"]: round(reach(heat), 3) for heat in heats}
    summary = {"command": "explain", "out": None if out is None else str(out), "victims": heats, "spread": spread}
    o.finish(summary, json)
