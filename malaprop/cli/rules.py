"""malaprop rules: word swaps that break many models, and what they say about the data."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from malaprop.cli import options as o

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
RulesFile = Annotated[Path, typer.Argument(help="A .csv or .json file of rules, or a folder that holds rules.csv.")]
TrainData = Annotated[str, typer.Option(help="What zoo names among the victims are, or were, trained on.")]
Share = Annotated[float, typer.Option(help="Most words that may change, as a share of the text's.", min=0, max=1)]
Format = Annotated[str, typer.Option("--format", help="csv or json.")]
All = Annotated[bool, typer.Option("--all", help="Write rules that do not lower the label, too.")]


@app.callback()
def rules() -> None:
    """Universal word replacement rules: mine them from victims or counts, apply them, show what they tell."""


def _file(out: Path | None, format: str, *names: str) -> Path:
    from malaprop.core.catalogue import unknown

    if format not in ("csv", "json"):
        raise unknown("format", format, ("csv", "json"))
    return o.out_folder(out, False, "rules", *names) / f"rules.{format}"


def _shrink(given: str) -> float | None:
    from malaprop.core.errors import SettingError

    if given.strip().lower() == "auto":
        return None
    try:
        found = float(given)
    except ValueError:
        found = -1.0
    if not 0 <= found < float("inf"):
        raise SettingError(f"--shrink takes auto or a number from 0, got {given!r}")
    return found


@app.command("mine")
def mine(
    victims: Annotated[
        str,
        typer.Option(
            help="One or more, separated by commas: what --victim takes, folders of models, all63; their logits are "
            "averaged."
        ),
    ],
    data: o.Data = "mr",
    train_data: TrainData = "mr",
    n: o.CountOrAll = 0,
    method: Annotated[
        str,
        typer.Option(
            help="exact: every replaced text is scored; gradient: one forward and backward pass a text, to first order."
        ),
    ] = "exact",
    check: Annotated[
        int, typer.Option(help="Weigh so many texts both ways first, and say how far they agree; 0: none.", min=0)
    ] = 0,
    shrink: Annotated[
        str,
        typer.Option(
            help="auto, or K: salience = mean x count / (count + K); 0 leaves rules of few counts as they are."
        ),
    ] = "auto",
    all_: All = False,
    best: Annotated[
        bool, typer.Option("--best", help="Write of each word and label the strongest rule alone.")
    ] = False,
    least: Annotated[int, typer.Option(help="Leave out rules that were weighed less often.", min=0)] = 1,
    seed: o.Seed = 0,
    width: Annotated[int, typer.Option(help="Texts weighed side by side; changes the speed alone.", min=1)] = 128,
    split: o.Split = "train",
    text: o.TextColumn = None,
    label: o.LabelColumn = None,
    labels: o.Labels = None,
    fields: o.Fields = None,
    format: Format = "csv",
    device: o.Device = "auto",
    precision: o.Precision = "fp32",
    engine: o.Engine = "local",
    address: o.Address = None,
    workers: o.Workers = None,
    out: o.Out = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Find word swaps that lower a label's logit in the mean of several victims, over all training texts.

    The same --out goes on with what was killed.

    Examples:

      malaprop rules mine --victims LSTM-W-GloVe-1,CNN-W-GloVe-1 --data mr --out runs/uawr

      malaprop rules mine --victims LSTM-W-GloVe-1,CNN-W-GloVe-1 --method gradient --check 500
    """
    from malaprop.cli.rulebook import Mining

    path = _file(out, format, "mine", data)
    work = Mining(
        victims=o.listed(victims) or (), method=method, shrink=_shrink(shrink), every=all_, best=best, least=least,
        check=check, width=width, device=device, precision=precision, engine=engine, address=address, workers=workers,
        quiet=quiet, train_data=train_data,
    )  # fmt: skip
    texts = o.selection(data, split, n, seed, text=text, label=label, fields=fields, labels=labels)
    found = work.run(texts, path)
    if not quiet:
        labels = ", ".join(f"{name} {count:,}" for name, count in found["by_label"].items())
        print(f"{found['rules']:,} rules from {found['texts']:,} texts ({labels})")
        o.say(f"rules: {path}; next: malaprop rules show {path} --data {data}")
    o.finish({"command": "rules mine", **found}, json)


@app.command("pmi")
def pmi(
    data: o.Data = "mr",
    n: o.CountOrAll = 0,
    lift: Annotated[
        float | None,
        typer.Option(help="Bits added where a word and a label meet; log2(labels x words a text) if not given."),
    ] = None,
    all_: All = False,
    seed: o.Seed = 0,
    split: o.Split = "train",
    text: o.TextColumn = None,
    label: o.LabelColumn = None,
    fields: o.Fields = None,
    format: Format = "csv",
    out: o.Out = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Make rules from counts of words and labels alone, without any model: equation 2 of the paper.

    Examples:

      malaprop rules pmi --data mr --out runs/pmi
    """
    from malaprop.cli.rulebook import by_label, read
    from malaprop.core.errors import DataError
    from malaprop.records.rules import write_rules
    from malaprop.records.settings import keep_settings
    from malaprop.records.store import check_writable
    from malaprop.rules.pmi import pmi_rules

    path = _file(out, format, "pmi", data)
    check_writable(path.parent)
    texts = o.selection(data, split, n, seed, text=text, label=label, fields=fields)
    found = read(texts, quiet=quiet)
    made = pmi_rules(found.examples, found.labels, lift=lift, every=all_)
    if not made:
        raise DataError(f"no replacement in {found.name} lowers its label; give more texts")
    decisive = {"method": "pmi", "every": all_, "lift": lift, "data": found.name, "texts": asdict(texts)}
    keep_settings(path.parent, decisive | {"fingerprint": found.fingerprint})
    write_rules(made, path)
    if not quiet:
        print(f"{len(made):,} rules from {len(found):,} texts")
        o.say(f"rules: {path}; next: malaprop rules show {path} --data {data}")
    o.finish(
        {"command": "rules pmi", "out": str(path), "texts": len(found), "rules": len(made), "by_label": by_label(made)},
        json,
    )


@app.command("apply")
def apply(
    file: RulesFile,
    data: o.Data = "mr",
    n: o.CountOrAll = 0,
    share: Share = 0.3,
    seed: o.Seed = 0,
    split: o.Split = "auto",
    text: o.TextColumn = None,
    label: o.LabelColumn = None,
    fields: o.Fields = None,
    out: Annotated[Path, typer.Option(help="A .csv or .jsonl file, which --data takes again.")] = Path("changed.csv"),
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Put rules to texts, the strongest first; no victim is asked.

    Rows come in the order of the data, or as drawn with --n, with their fields, label and id and what was changed.

    Examples:

      malaprop rules apply runs/uawr --data mr --share 0.3 --out changed.csv
    """
    from malaprop.core.errors import DataError
    from malaprop.records.rules import read_rules
    from malaprop.rules.apply import apply_rules, check_kind, write_applied

    check_kind(out)
    rules = read_rules(file)
    texts = o.selection(data, split, n, seed, text=text, label=label, fields=fields)
    found = texts.held() if n else texts.whole()
    o.tell(found.notes, quiet)
    numbers = rules.numbers(found.labels)
    if lacking := [name for name in rules.labels if name not in numbers]:
        o.say(f"{found.name} lacks the labels {', '.join(lacking)}, which rules speak of", quiet)
    if bare := [name for at, name in enumerate(found.labels) if at in found.present and at not in numbers.values()]:
        o.say(f"no rule is for {', '.join(bare)}: those texts stay as they are", quiet)
    made = list(apply_rules(rules, found, found.labels, share=share))
    if made and all(one.reason for one in made):
        raise DataError(f"none of {len(made)} texts could be read: {made[0].reason}")
    path = write_applied(made, found.labels, out)
    touched = [one for one in made if one.changes]
    mean = sum(len(one.changes) / max(1, one.words) for one in made) / max(1, len(made))
    if not quiet:
        print(f"{len(touched):,} of {len(made):,} texts changed, {100 * mean:.1f}% of the words on average: {path}")
    o.finish(
        {"command": "rules apply", "out": str(path), "texts": len(made), "changed": len(touched), "share": mean}, json
    )


@app.command("show")
def show(
    file: RulesFile,
    data: o.Data = "mr",
    n: o.CountOrAll = 0,
    top: Annotated[int, typer.Option(help="Rules of each label, one a word.", min=1)] = 10,
    examples: Annotated[int, typer.Option(help="Texts of the data for each rule.", min=0)] = 1,
    least: Annotated[int, typer.Option(help="Leave out rules that were weighed less often.", min=0)] = 5,
    seed: o.Seed = 0,
    split: o.Split = "train",
    text: o.TextColumn = None,
    label: o.LabelColumn = None,
    fields: o.Fields = None,
    out: Annotated[
        Path | None, typer.Option(help="A folder with runs: diagnosis.json is written there, and the report shows it.")
    ] = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Show the strongest rules of each label, how their words go with the labels of the data, and texts with them.

    Examples:

      malaprop rules show runs/uawr --data mr --top 5

      malaprop rules show runs/uawr --data mr --out runs/first && malaprop report runs/first
    """
    from malaprop.cli.rulebook import read
    from malaprop.records.rules import read_rules
    from malaprop.reports.rules import terminal
    from malaprop.rules.diagnose import diagnose

    rules = read_rules(file)
    found = read(o.selection(data, split, n, seed, text=text, label=label, fields=fields), quiet=quiet)
    few = max((rule.count for rule in rules), default=0) < least  # a list of one's own has no counts
    made = diagnose(
        rules, found.examples, found.labels, data=found.name, top=top, texts=examples, least=0 if few else least
    )
    if made.lacking:
        o.say(f"{found.name} lacks the labels {', '.join(made.lacking)}, which rules speak of", quiet)
    if out is not None:
        o.say(f"record: {made.write(o.out_folder(out, False))}; malaprop report {out} shows it beside its runs", quiet)
    if not quiet:
        print(terminal(made))
    o.finish({"command": "rules show", **made.to_dict()}, json)


@app.command("measure")
def measure(
    files: Annotated[list[Path], typer.Argument(help="Files of rules; the first is what the others are held against.")],
    victims: Annotated[
        str, typer.Option(help="One or more, separated by commas: what --victim takes, folders of models, all63.")
    ],
    data: o.Data = "mr",
    train_data: TrainData = "mr",
    n: o.CountOrAll = 500,
    share: Share = 0.3,
    seed: o.Seed = 0,
    width: o.Width = 256,
    split: o.Split = "test",
    text: o.TextColumn = None,
    label: o.LabelColumn = None,
    labels: o.Labels = None,
    fields: o.Fields = None,
    device: o.Device = "auto",
    precision: o.Precision = "auto",
    out: o.Out = None,
    resume: o.Resume = False,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Put several files of rules to the same texts and victims, and say how far each carries.

    Examples:

      malaprop rules measure runs/pmi runs/uawr --victims LSTM-W-GloVe-1,BERT --n 500 --out runs/measured
    """
    from malaprop.cli.rulebook import measure as work
    from malaprop.reports.measured import terminal

    folder = o.out_folder(out, resume, "rules-measure", data)
    texts = o.selection(data, split, n, seed, text=text, label=label, fields=fields, labels=labels)
    found = work(
        files, o.listed(victims) or (), texts, folder, share=share, width=width, device=device, precision=precision,
        resume=resume, train_data=train_data, quiet=quiet,
    )  # fmt: skip
    if not quiet:
        print(terminal(found))
        o.say(f"runs in {folder}; see them with: malaprop report {folder}")
    o.finish({"command": "rules measure", "out": str(folder), **found.to_dict()}, json)
