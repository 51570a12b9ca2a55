"""malaprop augment: perturbed copies of a dataset."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from malaprop.frame.command import options as o
from malaprop.frame.command.settings_command import command
from malaprop.frame.study.selection import Selection
from malaprop.frame.study.settings import opt, type_command
from malaprop.frame.study.vocabulary import VICTIM


@dataclass(frozen=True, slots=True, kw_only=True)
class AugmentCommand:
    """Write a dataset with perturbed copies of its texts, to train on. --split auto is train, and of a file all of it.

    Examples:

      malaprop augment --method switch --data reviews.csv --out more.csv

      malaprop augment --method switch:words=3:similarity=rank --victim BERT --copies 8 --out more.jsonl

      malaprop augment --method keyboard:r=0.05 --data mr --no-originals --out typos.csv
    """

    out: Path = opt(help="The file to write: .csv, .tsv or .jsonl. With text, label and the source.")
    method: str = opt(
        "switch",
        "How texts are changed, such as switch. switch (important words give way to neighbours), keyboard (slips to a "
        "neighbouring key), blackbox (characters changed at random); settings after a colon, as switch:words=3.",
    )
    copies: int = opt(4, "How many copies of each text.", min=1)
    victim: Any = opt(
        "LSTM-W-GloVe-1", f"switch: the victim that says which words are important. {VICTIM}", repeat=True
    )
    originals: bool = opt(True, "Write the unchanged texts too.")
    texts: Selection = Selection(n=0)
    device: str = opt("auto")
    json: bool = opt(False)
    quiet: bool = opt(False)

    def check(self) -> None:
        from malaprop.core.errors import SettingError

        data = Path(self.texts.data).expanduser()
        if self.texts.fields is not None:
            raise SettingError("--fields is not an option of augment: copies may change every field; leave it out")
        if self.out.exists() and data.exists() and self.out.samefile(data):
            raise SettingError(f"--out {self.out} is the data itself; give another file")
        if self.out.exists():
            raise SettingError(f"--out {self.out} exists already; delete it or give another file")


def write_copies(asked: AugmentCommand) -> None:
    """Run the command: write the copies and report the counts."""
    from malaprop.features.hardening.augment import augmenter, write

    make, texts = augmenter(asked.method, asked.copies), asked.texts
    asked.check()
    if texts.split == "auto" and not texts.is_file:
        texts = replace(texts, split="train")
    chosen = texts.held() if texts.n else texts.whole()
    o.tell(chosen.notes, asked.quiet)
    found = None
    if make.needs_victim:
        from malaprop.frame.runs.victims import device_of, victim

        found = victim(asked.victim, device=device_of(asked.device), quiet=asked.quiet)
    counts = write(
        asked.out, chosen, make, found, seed=texts.seed, originals=asked.originals,
        say=lambda line: o.say(line, asked.quiet),
    )  # fmt: skip
    if not asked.quiet:
        changed = f"{counts.rows:,} rows of {counts.texts:,} texts in {asked.out}"
        print(f"{changed}; {counts.bare:,} texts had nothing to change")
    o.suggest(type_command("train SPEC", data=asked.out), asked.quiet, asked.json)
    o.finish({"command": "augment", "out": str(asked.out), **counts._asdict()}, asked.json)


augment = command(AugmentCommand, write_copies)
