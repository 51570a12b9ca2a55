"""The work of malaprop translate: data and victim joined, runs written, tables and reports made of them."""

from __future__ import annotations

import json as _json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from malaprop.attacks.translation.goals import BleuDrop, Goal, KeywordAppears
from malaprop.attacks.translation.replacements import REPLACEMENTS, Replacements
from malaprop.attacks.translation.sweep import WordSweep
from malaprop.attacks.translation.typo import OneTypo
from malaprop.cli import options as o
from malaprop.cli.progress import count_bar, outcomes_bar
from malaprop.core.catalogue import unknown
from malaprop.core.errors import RecordError, SettingError, VictimError
from malaprop.data.base import Dataset
from malaprop.models.translation.translator import Translator
from malaprop.models.victims.seq2seq import load as load_translator
from malaprop.records.documents import write_whole
from malaprop.records.translation import TranslationRecord, TranslationRun, TranslationSight
from malaprop.runs.victims import device_of
from malaprop.studies.selection import Selection
from malaprop.translation.campaign import Attack, check_pairs, write
from malaprop.translation.sights import sights
from malaprop.translation.study import gather

GOALS = ("keyword", "bleu")
_LINES = "translations.jsonl"
_AT_ONCE = 256  # sources translated between two moves of the bar


def goals_of(goal: str, keywords: Sequence[str], *, drop: float, free: bool) -> list[Goal]:
    """One goal for each keyword, or the one of BLEU."""
    if goal not in GOALS:
        raise unknown("goal", goal, GOALS)
    if goal == "bleu":
        if keywords:
            raise SettingError(f"--goal bleu takes no --keyword, got {', '.join(keywords)}; leave one of them out")
        return [BleuDrop(share=drop)]
    if not keywords:
        raise SettingError("--goal keyword needs a word: --keyword WORD, or --goal bleu")
    return [KeywordAppears(word=word, free=free) for word in dict.fromkeys(keywords)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A victim, sentences, and where the runs go."""

    translator: Translator
    data: Dataset
    words: Sequence[str]  # that may be swept over
    folder: Path
    seed: int
    width: int
    beam: int
    maps: int  # successes whose attention is shown
    resume: bool
    quiet: bool
    seen: list[TranslationSight] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        victim: str,
        data: str,
        folder: Path,
        *,
        n: int,
        split: str,
        seed: int,
        width: int,
        device: str,
        beam: int,
        resume: bool,
        quiet: bool,
        maps: int = 0,
    ) -> Work:
        whole = check_pairs(Selection(data=data, split=split, n=0).pairs([victim]))
        translator = load_translator(victim, device=device_of(device), beam=beam)
        words = translator.words
        if not words:
            from malaprop.models.translation.train import words_of

            words = words_of(example.fields["source"] for example in whole)
        return cls(
            translator=translator,
            data=whole.sample(n or None, seed),
            words=words,
            folder=folder,
            seed=seed,
            width=width,
            beam=beam,
            maps=maps,
            resume=resume,
            quiet=quiet,
        )

    def search(self, goals: Sequence[Goal], kind: str, *, words: int, sweep: int, tries: int, replace: str) -> None:
        """A run for each goal; several have a folder each."""
        replacements: Replacements = REPLACEMENTS[replace](**({"words": self.words} if replace == "vocabulary" else {}))
        for goal in goals:
            ready = goal.ready(lambda texts: self.translator.translate(texts))
            self._spelled(ready)
            made = WordSweep(
                goal=ready,
                replacements=replacements,
                guided=self.translator.guides,
                words=words,
                sweep=sweep or max(1, len(self.words)),
                tries=tries,
            )
            at = self.folder if len(goals) == 1 else self.folder / o.slug(ready.name)
            parts = {"words": words, "sweep": made.sweep, "tries": tries, "replace": replace, "guided": made.guided}
            extra = {"drop": ready.share} if isinstance(ready, BleuDrop) else {}
            free = {"free": ready.free} if isinstance(ready, KeywordAppears) else {}
            self._write(made, at, ready.name, {"kind": kind, **parts, **extra, **free})
            self._study().write(self.folder)  # several keywords take long: what is done is shown

    def _spelled(self, goal: Goal) -> None:
        if goal.lead is not None and not self.translator.spells(goal.lead.word):
            raise SettingError(
                f"{self.translator.name} cannot spell {goal.lead.word!r}: it holds letters that its target vocabulary "
                "lacks; choose another word"
            )

    def typos(self) -> None:
        self._write(OneTypo(), self.folder, "typos", {"kind": "typos"})

    def _write(self, attack: Attack, folder: Path, name: str, parts: dict[str, Any]) -> None:
        with outcomes_bar(name, len(self.data), self.quiet) as seen:
            found = write(
                attack,
                self.translator,
                self.data,
                folder,
                name=name,
                parts={**parts, "beam": self.beam},
                seed=self.seed,
                width=self.width,
                resume=self.resume,
                seen=seen,
            )
        errors = [outcome for outcome in found if outcome.status == "error"]
        if errors and len(errors) == len(found):
            raise VictimError(f"all {len(errors)} sentences ended in an error: {errors[0].reason}; see {folder}")
        self.seen.extend(sights(name, self.translator, found, self.maps))

    def _study(self) -> TranslationRecord:
        return replace(gather([self.folder]), sights=tuple(self.seen))

    def finish(self, command: str, json: bool) -> None:
        """The record over all runs, the table, the report."""
        from malaprop.reports.page import write_report
        from malaprop.reports.translation import terminal

        study = self._study()
        record = study.write(self.folder)
        report = write_report([self.folder], self.folder / "report.html")
        if not self.quiet:
            print(terminal(study))
            o.say(f"figures in {record}; report: {report}")
        rows = [_summary(run) for run in study.runs]
        o.finish({"command": command, "out": str(self.folder), "report": str(report), "runs": rows}, json)


def _summary(run: TranslationRun) -> dict[str, Any]:
    scores = {
        name: None if found is None else {"value": found.value, "low": found.low, "high": found.high}
        for name, found in (("before", run.before), ("after", run.after), ("drop", run.drop))
    }
    plain = {name: getattr(run, name) for name in ("attack", "victim", "data", "skipped", "errors", "asked")}
    return {**plain, "success": run.success.to_dict(), "bleu": scores}


def run(
    victim: str,
    texts: Sequence[str],
    data: str | None,
    *,
    n: int,
    beam: int,
    split: str,
    seed: int,
    device: str,
    out: Path | None,
    quiet: bool,
) -> dict[str, Any]:
    """Translations of texts or of a dataset, printed and written; BLEU where there are references."""
    if bool(texts) == (data is not None):
        raise SettingError("say what to translate: --text SENTENCE or --data PAIRS, one of the two")
    if out is not None and (out / _LINES).exists():
        raise RecordError(f"{out / _LINES} exists already; choose another --out")
    translator = load_translator(victim, device=device_of(device), beam=beam)
    sources, references = list(texts), [""] * len(texts)
    if data is not None:
        found = check_pairs(Selection(data=data, split=split, n=n, seed=seed).pairs([victim]))
        sources = [example.fields["source"] for example in found]
        references = [example.fields["target"] for example in found]
    cut = sum(bool(translator.too_long(source)) for source in sources)
    outputs: list[str] = []
    with count_bar("translating", len(sources), quiet) as move:
        for at in range(0, len(sources), _AT_ONCE):
            outputs += translator.translate(sources[at : at + _AT_ONCE])
            move(len(sources[at : at + _AT_ONCE]))
    if cut:
        o.say(
            f"{cut} of {len(sources)} sources are longer than {translator.name} reads; it was given their beginning",
            quiet,
        )
    if out is not None:
        rows = [
            {"source": source, "translation": output, **({"reference": reference} if reference else {})}
            for source, output, reference in zip(sources, outputs, references, strict=True)
        ]
        write_whole(out / _LINES, "".join(_json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    if not quiet and (texts or out is None):
        for output in outputs:
            print(output)
    scored = _scored(outputs, references, seed) if data is not None else {}
    if scored:
        o.say("BLEU {value:.2f} ({low:.2f}-{high:.2f})".format(**scored["bleu"]), quiet)
    return {"victim": translator.name, "n": len(sources), "cut": cut, **scored}


def _scored(outputs: Sequence[str], references: Sequence[str], seed: int) -> dict[str, Any]:
    from malaprop.models.translation import bleu

    counts = bleu.counts(outputs, references)
    low, high = bleu.interval(counts, seed)
    return {"bleu": {"value": bleu.from_counts(counts.sum(0)), "low": low, "high": high}}
