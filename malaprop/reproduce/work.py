"""Claims put to the test: steps are run once each, what is done is kept, and every row is read from records."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from malaprop.core.catalogue import unknown
from malaprop.core.errors import MalapropError, SettingError, plain
from malaprop.records.claims import ClaimRow, ClaimsRecord
from malaprop.records.documents import write_whole
from malaprop.reproduce.claim import SIZES, Claim, Paper, Step
from malaprop.reproduce.papers import PAPERS

DONE = "done.json"
_FULL = "at full size alone: give --size full"
Run = Callable[[Sequence[str], Path], str]  # a command's words and the file for what it prints -> why it failed, or ""
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """`run` runs one command; `fresh` false takes records as they are, and runs nothing."""

    root: Path
    size: str
    run: Run
    jobs: int = 1
    fresh: bool = True
    say: Say = print

    def claims(self, ids: Sequence[str]) -> ClaimsRecord:
        """Every row that is asked for, in the order of the papers; the record is written as rows come."""
        chosen = chosen_of(ids)
        failed = self._steps(chosen) if self.fresh else {}
        rows = tuple(self._row(paper, claim, failed) for paper, claim in chosen)
        return ClaimsRecord(size=self.size, rows=rows, failed=failed)

    def listed(self, ids: Sequence[str]) -> ClaimsRecord:
        """The rows without figures: what would be run."""
        rows = []
        for paper, claim in chosen_of(ids):
            rows.append(self._made(paper, claim, claim.instead or _FULL, "not done"))
        return ClaimsRecord(size=self.size, rows=tuple(rows))

    def _steps(self, chosen: Sequence[tuple[Paper, Claim]]) -> dict[str, str]:
        """Runs what the claims need, each step once; gives why steps failed, which costs the others nothing."""
        wanted = steps_of(chosen)
        failed: dict[str, str] = {}
        for number, step in enumerate(wanted, start=1):
            lines = step.lines(self.size, self.root, self.jobs)
            if lines and (away := [name for name in step.needs if name in failed]):
                failed[step.name] = f"it needs {away[0]}, which failed: {failed[away[0]]}"
            elif lines and not self._is_done(step, lines):
                self.say(f"[{number}/{len(wanted)}] {step.name}")
                if reason := self._do(step, lines):
                    failed[step.name] = reason
                    self.say(f"{step.name} failed: {reason}")
        return failed

    def _do(self, step: Step, lines: Sequence[Sequence[str]]) -> str:
        """Runs the commands that have not ended well before, up to the first that fails; says why that did."""
        folder = self.root / step.name
        folder.mkdir(parents=True, exist_ok=True)
        done = self._done(step, lines)
        for number, words in enumerate(lines[len(done) :], start=len(done)):
            self.say(f"  malaprop {shlex.join(words)}")
            if reason := self.run(words, folder / f"output-{number}.txt"):
                return reason
            done.append(list(words))
            write_whole(folder / DONE, json.dumps(done) + "\n")
        return ""

    def _is_done(self, step: Step, lines: Sequence[Sequence[str]]) -> bool:
        return len(self._done(step, lines)) == len(lines)

    def _done(self, step: Step, lines: Sequence[Sequence[str]]) -> list[list[str]]:
        """Which of these very commands have ended well before: the first ones, as each may need those before it."""
        try:
            held = json.loads((self.root / step.name / DONE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return []
        same = takewhile(lambda pair: pair[0] == pair[1], zip(map(list, lines), held, strict=False))
        return [words for words, _ in same]

    def _lines(self, paper: Paper, claim: Claim) -> list[list[str]]:
        """The commands behind a claim, those that its step needs first."""
        wanted = steps_of([(paper, claim)])
        if not wanted or not wanted[-1].commands.get(self.size):
            return []
        return [words for step in wanted for words in step.lines(self.size, self.root, self.jobs)]

    def _row(self, paper: Paper, claim: Claim, failed: dict[str, str]) -> ClaimRow:
        return self._made(paper, claim, *self._read(claim, bool(self._lines(paper, claim)), failed))

    def _made(self, paper: Paper, claim: Claim, ours: str, verdict: str) -> ClaimRow:
        step = next((step for step in paper.steps if step.name == claim.step), None)
        return ClaimRow(
            id=claim.id,
            paper=paper.title,
            claim=claim.claim,
            theirs=claim.theirs,
            ours=ours,
            verdict=verdict,
            about=step.about.get(self.size, "") if step else "",
            commands=tuple(f"malaprop {shlex.join(words)}" for words in self._lines(paper, claim)),
        )

    def _read(self, claim: Claim, there: bool, failed: dict[str, str]) -> tuple[str, str]:
        if claim.read is None:
            return claim.instead, "not done"
        if not there:
            return _FULL, "not done"
        if claim.step in failed:
            return failed[claim.step], "not done"
        try:
            found = claim.read(self.root)
        except MalapropError as error:
            return plain(error), "not done"
        except (ValueError, LookupError, TypeError, ArithmeticError) as error:  # one odd record costs one row
            return f"the record lacks what is read from it ({type(error).__name__}: {plain(error)[:100]})", "not done"
        return found.ours, found.verdict


def chosen_of(ids: Sequence[str]) -> list[tuple[Paper, Claim]]:
    """The claims of these ids: U2, a paper's letter, or all."""
    known = {claim.id.casefold(): (paper, claim) for paper in PAPERS for claim in paper.claims}
    letters = {paper.letter.casefold() for paper in PAPERS}
    wanted: set[str] = set()
    for given in ids:
        name = given.strip().casefold()
        if name == "all":
            wanted.update(known)
        elif name in letters:
            wanted.update(key for key in known if key[0] == name)
        elif name in known:
            wanted.add(name)
        else:
            raise unknown("claim", given, [claim.id for _, claim in known.values()])
    if not wanted:
        raise SettingError("no claim was named; give ids such as U2 or H4, a paper's letter, or all")
    return [pair for key, pair in known.items() if key in wanted]


def steps_of(chosen: Sequence[tuple[Paper, Claim]]) -> list[Step]:
    """What these claims are read from, and what that needs, each once and after what it needs."""
    found: dict[str, Step] = {}

    def add(paper: Paper, name: str) -> None:
        step = next(step for step in paper.steps if step.name == name)
        for before in step.needs:
            add(paper, before)
        found.setdefault(name, step)

    for paper, claim in chosen:
        if claim.step:
            add(paper, claim.step)
    return list(found.values())


def check_size(size: str) -> str:
    if size not in SIZES:
        raise unknown("size", size, SIZES)
    return size
