"""Self-training as options of a command that trains: texts without labels, and the victim that labels them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from malaprop.core.errors import SettingError
from malaprop.frame.study.settings import opt

if TYPE_CHECKING:
    from malaprop.features.hardening.self_training import TeacherLabels
    from malaprop.frame.tasks.task import Inputs
    from malaprop.frame.tasks.worker_context import WorkerContext
    from malaprop.training.splits import Splits

ADDED = "unlabelled"  # the task that labels them
_SURE = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfTraining:
    """Texts that are added to the training part with the labels that a teacher gives them."""

    unlabelled: Path | None = opt(
        None,
        "More texts to train on, without labels, which --teacher gives them: a CSV/TSV/JSONL/Parquet file with a text "
        "column, or a .txt with a text a line.",
    )
    teacher: Any = opt(None, "With --unlabelled: the victim that labels the texts, as malaprop audit takes it.")
    sure: float | None = opt(
        None, "With --unlabelled: the probability that the teacher's answer must have; 0.9 if not given."
    )

    @property
    def wanted(self) -> bool:
        return self.unlabelled is not None

    def check(self) -> None:
        """Raise where one of the options is missing or has no use."""
        if self.unlabelled is not None and self.teacher is None:
            raise SettingError(
                "--unlabelled wants a --teacher, the victim that labels its texts; as --teacher models/plain"
            )
        for name in ("teacher", "sure"):
            if self.unlabelled is None and getattr(self, name) is not None:
                raise SettingError(f"--{name} has no use without --unlabelled FILE, texts without labels")
        if self.sure is not None and not 0 < self.sure <= 1:
            raise SettingError(f"--sure is a probability above 0 and up to 1, got {self.sure:g}")

    def refuse(self, method: str) -> None:
        """Raise SettingError where one of these options is given to a method that does not use it."""
        for name in ("unlabelled", "teacher", "sure"):
            if getattr(self, name) is not None:
                raise SettingError(f"--{name} is no option of harden {method}; name one method, as harden swaps")

    def read(self, data: Splits, column: str | None) -> list[str]:
        """Read the texts without labels; refuse data that they cannot be added to."""
        from malaprop.data.files import load_texts
        from malaprop.features.hardening.self_training import check_single

        assert self.unlabelled is not None
        check_single(data)
        return load_texts(self.unlabelled.expanduser(), text=column)

    def label(self, context: WorkerContext, inputs: Inputs) -> Iterator[TeacherLabels]:
        """Label the texts with the teacher; the labels are kept, so that a resumed training has the same texts."""
        from malaprop.features.hardening.self_training import label_texts

        data, texts = inputs["texts"], inputs["more"]
        named = isinstance(self.teacher, (str, os.PathLike))
        victim = context.victim(inputs["teacher"])
        teacher = os.fspath(self.teacher) if named else victim.name
        context.note(f"{teacher} is asked about {len(texts):,} texts of {self.unlabelled}")
        found = label_texts(
            victim, data, texts, file=str(self.unlabelled), teacher=teacher,
            sure=_SURE if self.sure is None else self.sure,
        )  # fmt: skip
        context.note(f"{found.describe()}; they are added to {len(data.train):,} training texts")
        yield found
