"""What the commands attack and audit share: options of attacks, the task that checks a victim, and its runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from malaprop.core.errors import AssetError, RecordError, SettingError, VictimError
from malaprop.frame.study.run_options import RunOptions, width_option
from malaprop.frame.study.selection import Selection
from malaprop.frame.study.settings import opt
from malaprop.frame.study.shared_tasks import attack_share, slug

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack
    from malaprop.core.budget import Limits
    from malaprop.core.example import Example
    from malaprop.core.victim import Victim, VictimDescription
    from malaprop.data.base import Dataset, Examples
    from malaprop.frame.records.paired_texts import CleanAnswer
    from malaprop.frame.records.summary import Summary
    from malaprop.frame.runs.shared_change import SharedChange
    from malaprop.frame.tasks.task import Inputs, Share, Task
    from malaprop.frame.tasks.worker_context import WorkerContext


def validity_option(default: str = "paper") -> Any:
    """Return the option that says how far attacks must keep the meaning of texts."""
    return opt(
        default,
        "Keep the meaning: paper, valid, or strict. paper: the recipe as published. valid: "
        "constraints (guards) filter the replacements, and only a text that the judge of meaning accepts is a success. "
        "strict: as valid; the judge must accept the pair in both directions, and the text must be fluent and of known "
        "words.",
        choices=("paper", "valid", "strict"),
    )


def judge_option() -> Any:
    """Return the option that names another judge of meaning."""
    return opt(
        "",
        "A language model as the judge, or none. openai:MODEL@http://host/v1, causal:FOLDER or "
        "causal:smollm2, in place of the packaged judge; limits such as --max-queries count its answers too. With "
        "none, under --validity paper, nobody rates the successes: that takes most of the time of a fast attack.",
    )


def check_judge(validity: str, judge: str = "") -> None:
    """Fetch the judge of meaning where it is needed; raise if it cannot be had."""
    from malaprop.assets.measures import why_no_judge
    from malaprop.frame.runs.judges import NO_JUDGE

    if validity != "paper" and judge == NO_JUDGE:
        raise SettingError(f"--validity {validity} needs a judge of meaning; leave out --judge none")
    if validity != "paper" and (why := why_no_judge(judge, fetch=True)):
        raise AssetError(f"{why}; --validity paper attacks without it")


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """The settings for every attack of a command: budget, goal, measures, kept words, quality, cache, width."""

    budget: int | None = opt(None, min=1)
    goal: Any = opt(
        None,
        "What counts as success, such as targeted:LABEL. untargeted, label-only (the victim's confidence is hidden), "
        "targeted:LABEL[,MARGIN], confident:0.9, or moved:0.5 where the victim gives a number.",
    )
    measure: tuple[str, ...] | None = opt(
        None, "Measures of every success, separated by commas: similarity, perplexity, grammar, agreement, distance."
    )
    keep: tuple[str, ...] | None = opt(
        None,
        "What attacks must not change, separated by commas: words, phrases (New York), re:EXPRESSION, @FILE with one "
        "of these a line; may be repeated.",
        repeat=True,
    )
    validity: str = validity_option()
    judge: str = judge_option()
    judge_reference: tuple[str, ...] = opt(
        (),
        "Models of the task that the judge asks. Separated by commas; if they predict another label "
        "for a text, the judge lowers its probability. They are given as for --victim.",
    )
    quality: str | None = opt(
        None,
        "paper: as published; strict: replacements keep grammar and meaning better, and fewer attacks succeed.",
        rare=True,
    )
    language: str = opt(
        "auto",
        "The language of the texts, such as de. Or several, separated by commas. auto detects it; in a mixed file, "
        "for each text.",
    )
    cache: Path | None = opt(
        None,
        "A file that keeps the victim's answers, one a victim version; if not given, one of malaprop's own for victims "
        "that are paid for (prices, openai:). none: no answers are kept.",
        free=True,
    )
    width: int = width_option()

    def check(self, where: RunOptions, *attacks: Attack) -> None:
        """Raise for options that exclude each other, and for measures that this machine cannot compute."""
        from malaprop.assets.languages import parse_languages
        from malaprop.assets.measures import check_measures
        from malaprop.attacks.quality import check_quality
        from malaprop.frame.runs.judges import check_judge_name

        check_quality(self.quality, *attacks)
        check_judge_name(self.judge)
        parse_languages(self.language)
        if self.cache is not None and self.cache.name != "none" and where.engine == "ray":
            raise SettingError("--cache keeps answers in a file of one machine; leave it out with --engine ray")
        for attack in attacks:
            check_measures(attack.measures, encoder=attack.encoder)

    def fetch_judge(self) -> None:
        """Fetch the judge of meaning where it is needed, after all else was checked: it may take a download."""
        check_judge(self.validity, self.judge)

    def apply(self, attack: Attack) -> Attack:
        """Return the attack with these settings applied."""
        from malaprop.attacks.quality import check_quality, tighten
        from malaprop.frame.runs.make_attack import goal, protect

        check_quality(self.quality)
        wanted = goal(self.goal) if isinstance(self.goal, str) else self.goal
        made = tighten(attack) if self.quality == "strict" else attack
        return protect(made, self.keep).but(budget=self.budget, goal=wanted, measures=self.measure)

    def find_reader(self, texts: Examples) -> Inputs:
        """Return whether the judge of meaning can read these texts, and a line where it cannot though it is wanted."""
        from malaprop.assets.measures import why_no_judge
        from malaprop.frame.runs.cautions import describe_foreign
        from malaprop.frame.runs.judges import NO_JUDGE

        foreign = describe_foreign(texts, self.language)
        off = f"{foreign}: the guards and the judge of meaning read English, so they are off" if foreign else ""
        return {
            "foreign": bool(foreign),
            "rated": not foreign and self.judge != NO_JUDGE and not why_no_judge(self.judge),
            "off": "" if self.validity == "paper" else off,
        }

    def look_at(self, attack: Attack, data: Dataset, field: str) -> Inputs:
        """Return the languages of one field of the data, warnings on them, and whether the judge can read them."""
        from malaprop.frame.runs.cautions import describe_languages, describe_setting, find_languages

        plain = tuple(replace(one, fields={field: one.fields[field]}) for one in data)
        texts = replace(data, examples=plain, fields=(field,))
        languages, reader = find_languages(self.language, texts), self.find_reader(texts)
        lines = (*describe_languages(attack, languages), *describe_setting(self.language, texts), reader["off"])
        return {**reader, "languages": tuple(languages), "notes": tuple(filter(None, lines))}

    def keep_meaning(self, attack: Attack, reader: Inputs) -> Attack:
        """Return the attack at the validity; texts that the judge cannot read are attacked as the paper has it."""
        from malaprop.attacks.judge import Judge
        from malaprop.attacks.validity import set_validity

        validity = "paper" if reader["foreign"] else self.validity
        judge = Judge(name=self.judge, references=self.judge_reference)
        return set_validity(attack, validity, judge=judge, rated=reader["rated"])

    def open_judge(self, context: WorkerContext, victim: Victim, some: Sequence[Example]) -> list[VictimDescription]:
        """Load the models that the judge asks and describe its references; raise on one that cannot be asked."""
        from malaprop.frame.runs.judges import NO_JUDGE, check_reference, configure

        if self.judge not in ("", NO_JUDGE):
            self.open(context, configure(self.judge))
        found = [self.open(context, one) for one in self.judge_reference]
        for reference in found:
            check_reference(reference, victim)
        return [describe_labels(reference, some) for reference in found]

    def open(self, context: WorkerContext, thing: Any) -> Victim:
        """Load the victim; its answers are kept in the cache file if there is one."""
        return context.victim(thing, self.cache)


@dataclass(frozen=True, slots=True, kw_only=True)
class VictimChecked:
    """A loaded and checked victim's description; `cut` is a line on texts that it truncates.

    `references` are the models of the task that the judge of meaning asks.
    """

    about: VictimDescription
    cut: str = ""
    references: tuple[VictimDescription, ...] = ()


@dataclass(frozen=True, kw_only=True)
class DataReading:
    """The examples of a command. Only the driver reads them, once; pickled for a worker, this holds none."""

    selection: Selection
    victims: tuple[Any, ...] = ()
    trains: bool = False
    _matched: dict[str, Examples] = field(default_factory=dict, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {"selection": self.selection, "victims": (), "trains": self.trains, "_matched": {}}

    @cached_property
    def examples(self) -> Examples:
        return self.selection.examples(self.victims, trains=self.trains)

    def some(self, inputs: Inputs) -> Inputs:
        """Return the first texts, with which a victim is checked."""
        from malaprop.frame.runs.cautions import MOST

        del inputs
        return {"texts": list(islice(self.examples, MOST))}

    def first(self, look: str, most: int | None, inputs: Inputs) -> Inputs:
        """Return the texts to ask unchanged: all of them, or the first `most`."""
        return {"texts": list(islice(self.match(look, inputs), most))}

    def match(self, look: str, inputs: Inputs) -> Examples:
        """Return the examples with labels numbered as the victim of the task `look` numbers them."""
        from malaprop.data.matching import agree, are_numbers, check_labels, describe_match

        if look not in self._matched:
            about, asked = inputs[look].about, self.selection
            typed = isinstance(asked.data, str)  # in Python values, numeric labels are the victim's own numbers
            plain = not typed and not asked.labels and are_numbers(self.examples.labels)
            found = self.examples if plain else agree(self.examples, about)
            for reference in inputs[look].references:
                check_labels(found, reference)
            said = describe_match(found, about)
            self._matched[look] = replace(found, notes=(*found.notes, *([said] if said else [])))  # type: ignore[type-var]
        return self._matched[look]

    def open(self, look: str, inputs: Inputs) -> Examples:
        """Return the examples as `match` does, with the warnings about this attack among their notes."""
        found = self.match(look, inputs)
        return replace(found, notes=(*found.notes, *inputs["doubts"]))  # type: ignore[type-var]

    def doubt(self, attack: Attack, look: str, conditions: Conditions, inputs: Inputs) -> Inputs:
        """Return the languages of these texts, warnings about this attack on them, and whether the judge can read them.

        The warnings are of texts that are truncated, in a language that the attack lacks words of, or without spaces.
        """
        from malaprop.frame.runs.cautions import (
            describe_languages,
            describe_long_words,
            describe_setting,
            find_languages,
        )

        texts, reader = self.match(look, inputs), conditions.find_reader(self.match(look, inputs))
        languages = find_languages(conditions.language, texts)
        lines = (*describe_languages(attack, languages), *describe_setting(conditions.language, texts), reader["off"])
        found = (inputs[look].cut, *lines, describe_long_words(attack, texts))
        return {"doubts": tuple(filter(None, found)), "languages": tuple(languages), **reader}


def check_victim(
    conditions: Conditions, attacks: Sequence[Attack], context: WorkerContext, inputs: Inputs
) -> Iterator[VictimChecked]:
    """Load a victim where it will be attacked and describe it; raise if an attack needs what it does not offer."""
    from malaprop.core.capability import check
    from malaprop.frame.runs.cautions import describe_cut

    victim, some = conditions.open(context, inputs["victim"]), inputs["texts"]
    for attack in attacks:
        check(attack.name, attack.needs, victim.name, victim.offers, victim.withheld)
    about, references = describe_labels(victim, some), conditions.open_judge(context, victim, some)
    yield VictimChecked(about=about, cut=describe_cut(victim, some), references=tuple(references))


def describe_labels(victim: Victim, some: Sequence[Example]) -> VictimDescription:
    """Return a victim's description; one query counts its labels where it does not say them."""
    from malaprop.core.victim import VictimDescription
    from malaprop.data.matching import count_labels

    about = VictimDescription.of(victim)
    if about.labels is None:
        probe = [replace(one, fields=dict.fromkeys(one.fields, "a")) for one in some[:1]]  # no text of the user is sent
        about = replace(about, labels=count_labels(victim, probe))
    return about


def ask_all(conditions: Conditions, context: WorkerContext, inputs: Inputs) -> Iterator[CleanAnswer]:
    """Yield the victim's answers for all unchanged texts, without those that an earlier attempt has asked."""
    from malaprop.core.score import winner
    from malaprop.frame.records.paired_texts import CleanAnswer, check_same, mark_text
    from malaprop.frame.runs.local import ask_clean

    victim, texts = conditions.open(context, inputs["victim"]), inputs["texts"]
    marks = {one.id: mark_text(victim.fingerprint or victim.name, one.fields) for one in texts}
    check_same(context.before, marks)
    done = {row.id for row in context.before}
    left = (one for one in texts if one.id not in done)
    for one, row in ask_clean(victim, left, services=context.services(victim)):
        right = winner(row) == one.label if len(row) > 1 else None
        yield CleanAnswer(id=one.id, text=marks[one.id], scores=tuple(row.tolist()), right=right)


def run_attack(
    conditions: Conditions, attack: Attack, seed: int, clean: str, context: WorkerContext, inputs: Inputs, share: Share
) -> Iterator[Any]:
    """Attack a share of the examples; yield the run's description, its outcomes and the victim's notes.

    `clean` names the task that asked for all unchanged texts; empty if there is none.
    """
    from malaprop.frame.records.paired_texts import CleanAnswers
    from malaprop.frame.tasks.outputs import Note

    victim = conditions.open(context, inputs["victim"])
    width, doubts, attack = conditions.width, inputs["doubts"], attack.but(languages=inputs["languages"])
    known = context.hold(lambda: CleanAnswers.of(inputs[clean])) if clean else None
    attack = conditions.keep_meaning(attack, inputs)
    context.services(victim).find = partial(conditions.open, context)
    yield from attack_share(context, attack, victim, share, seed=seed, width=width, notes=doubts, clean=known)
    yield from (Note(line, once=True) for line in victim.notes)


def check_victim_task(
    name: str, victim: Any, conditions: Conditions, attacks: Sequence[Attack], reading: DataReading, **more: Any
) -> Task:
    """Return the task that checks one victim; its failure ends the study."""
    from malaprop.frame.tasks.outputs import Handover
    from malaprop.frame.tasks.task import Task

    work = partial(check_victim, conditions, tuple(attacks))
    return Task(
        name=name, work=work, output=Handover(), victims={"victim": victim}, holds=(name,), reads=reading.some,
        vital=True, **more,
    )  # fmt: skip


def clean_task(
    place: str, look: str, victim: Any, conditions: Conditions, reading: DataReading, limits: Limits, **more: Any
) -> Task:
    """Return the task that asks one victim for all unchanged texts first, for runs that a spending limit may end.

    It takes at most half of the allowed queries, so that some are left for attacks.
    """
    from malaprop.frame.records.paired_texts import FILE, CleanAnswer
    from malaprop.frame.tasks.outputs import GrowingFile
    from malaprop.frame.tasks.task import Task

    most = None if limits.queries is None else max(1, limits.queries // 2)
    return Task(
        name=f"{place}: all texts as they stand", work=partial(ask_all, conditions),
        output=GrowingFile(CleanAnswer, FILE), after=(look,), victims={"victim": victim}, holds=(look,),
        reads=partial(reading.first, look, most), vital=True, **more,
    )  # fmt: skip


def run_task(
    name: str, look: str, attack: Attack, victim: Any, conditions: Conditions, reading: DataReading, *,
    clean: str = "", after: tuple[str, ...] = (), **more: Any,
) -> Task:  # fmt: skip
    """Return the task of one attack on the victim that the task `look` checked; `clean` names a `clean_task`."""
    from malaprop.frame.tasks.outputs import RunFolder
    from malaprop.frame.tasks.task import Task

    work = partial(run_attack, conditions, attack, reading.selection.seed, clean)
    given = {"work": work, **more, "after": ((after or (look,)) + ((clean,) if clean else ()))}
    return Task(
        name=name, output=RunFolder(checks=True),
        victims={"victim": victim}, holds=(look,), reads=partial(reading.doubt, attack, look, conditions),
        items=partial(reading.open, look), **given,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFigures:
    """The figures of one run; `doubts` are the warnings that were known before it began."""

    folder: Path
    victim: str
    recipe: str
    data: str
    split: str
    n: int
    labels: tuple[str, ...]
    wall: float  # seconds of the last attempt
    summary: Summary
    doubts: tuple[str, ...] = ()
    drawn_from: int = 0  # the number of rows of which n were sampled
    state: str = "done"  # budget: a spending limit ended it, and rates are over the finished part

    @classmethod
    def of(cls, folder: Path, wall: float = 0.0) -> RunFigures:
        """Read the outcomes one by one; raise VictimError if most examples, or all that were attacked, are errors."""
        from malaprop.frame.records.run import Run
        from malaprop.frame.records.store import iter_outcomes
        from malaprop.frame.records.summary import Totals

        run = Run.read(folder)
        totals = Totals(iter_outcomes(folder), run.labels)
        many, errors = totals.counts.total(), totals.counts["error"]
        attacked = totals.counts["success"] + totals.counts["failed"]
        if errors > many / 2 or (errors and not attacked):  # what is left would say nothing about the victim
            reason, count = totals.reasons.most_common(1)[0]
            which = f"all {many}" if errors == many else f"{errors} of {many}"
            rest = "" if attacked or errors == many else ", and no other was attacked"
            raise VictimError(f"{which} examples ended in an error ({count} of them: {reason}){rest}; see {folder}")
        return cls(
            folder=folder, victim=run.victim, recipe=run.recipe, data=run.data, split=run.split, n=run.n,
            labels=run.labels, wall=wall, summary=totals.summary().cut_short(run), doubts=run.notes,
            state=run.state or "done", drawn_from=run.drawn_from,
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as `--json` and summary.json have them."""
        found = self.summary.to_dict()
        about = {name: getattr(self, name) for name in ("victim", "recipe", "data", "split", "labels")}
        state = {"state": self.state, "done": sum(self.summary.counts.values()), "wanted": self.n}
        state |= {"drawn_from": self.drawn_from} if self.drawn_from else {}
        warnings = [*self.doubts, *found["warnings"], *self._part()]
        return {**about, "wall": round(self.wall, 2), **state, **found, "warnings": warnings}

    def to_row(self) -> dict[str, Any]:
        """Return plain values for a row of a data frame."""
        figures = self.summary
        rates = {
            "clean": figures.clean, "under_attack": figures.under_attack, "success": figures.success,
            "robust_accuracy": figures.robust, "valid_success": figures.broken,
        }  # fmt: skip
        return {
            "victim": self.victim, "recipe": self.recipe, "data": self.data, "split": self.split,
            "n": sum(figures.counts.values()), **{name: rate.value for name, rate in rates.items()},
            "queries": figures.asked.mean, "changed": figures.changed_share.mean, "seconds": self.wall,
        }  # fmt: skip

    def write(self, folder: Path) -> None:
        """Write nothing: run.toml and the outcomes are the record."""

    def notes(self) -> list[str]:
        """Return lines that a user should read beside these figures."""
        return [
            *self._errors(),
            *(f"{self.recipe} on {self.victim}: {line}" for line in (*self.summary.warnings, *self._part())),
            *([f"{self.recipe} on {self.victim}: broken by {self.summary.breakers}"] if self.summary.by else []),
        ]

    def _errors(self) -> list[str]:
        """Return a line on the examples that ended in an error, with the three commonest reasons, if there are any."""
        reasons = list(self.summary.reasons.items())
        if not reasons:
            return []
        said = [f"{reason} ({count})" for reason, count in reasons[:3]] if reasons[1:] else [reasons[0][0]]
        said += [f"other reasons ({sum(count for _, count in reasons[3:])})"] if reasons[3:] else []
        errors, many = self.summary.counts["error"], sum(self.summary.counts.values())
        return [f"{errors} of {many} examples ended in an error: {'; '.join(said)}"]

    def _part(self) -> list[str]:
        """Return a line if the rates are over a part of the examples only."""
        if not self.summary.stopped:
            return []
        open_, clean = self.summary.success.unfinished, self.summary.clean
        return [
            f"{self.summary.stopped}; rates are over attacks that ended, and their intervals allow for {open_:,} that "
            f"did not; clean accuracy is over {clean.total:,} texts"
        ]


def read_times(root: Path) -> Mapping[str, float]:
    """Return the seconds of each task by the last line on its end in tasks.jsonl."""
    from malaprop.frame.tasks.events import read_log

    return {line["task"]: float(line["seconds"]) for line in read_log(root) if "ended" in line}


def summary_text(folders: Sequence[Path]) -> str:
    """Return the table of each victim as text, as wide as the terminal."""
    from io import StringIO

    from rich.console import Console

    from malaprop.frame.records.run import Run
    from malaprop.frame.records.store import outcomes_of
    from malaprop.frame.report.terminal import print_summary

    seen = Console()
    held = Console(file=StringIO(), width=seen.width, force_terminal=seen.is_terminal)
    print_summary([(Run.read(folder), outcomes_of(folder)) for folder in folders], held)
    text: str = held.file.getvalue()  # type: ignore[attr-defined]
    return text.rstrip("\n")


# --- tasks of attacks that make one change for all texts: search it on a panel of other texts, then apply it


def attack_tasks(
    name: str, look: str, attack: Attack, victim: Any, conditions: Conditions, reading: DataReading, **more: Any
) -> Iterator[Task]:
    """Yield the tasks of one attack on one victim: its run and, for a change shared by all texts, a search before it.

    The search writes its change to NAME.change.json.
    """
    if attack.together is None:
        yield run_task(name, look, attack, victim, conditions, reading, **more)
        return
    from malaprop.frame.runs.shared_change import SharedChange
    from malaprop.frame.tasks.outputs import JsonFile
    from malaprop.frame.tasks.task import Task

    search = f"{'/'.join(map(slug, name.split('/')))}.change"
    more.pop("clean", None)  # the texts are asked under the change alone
    after = tuple(more.pop("after", (look,)))
    kept = {key: more[key] for key in ("optional", "vital") if key in more}
    seed = reading.selection.seed
    yield Task(
        name=search, work=partial(find, conditions, attack, seed), output=JsonFile(SharedChange),
        victims={"victim": victim}, holds=(look,), after=after, reads=partial(read_panel, attack, look, reading),
        **kept,
    )  # fmt: skip
    yield run_task(
        name, look, attack, victim, conditions, reading, after=(*after, search), follows=True,
        work=partial(put, conditions, attack, seed, search), **more,
    )  # fmt: skip


def read_panel(attack: Attack, look: str, reading: DataReading, inputs: Inputs) -> Inputs:
    """Sample the panel from the training part by the seed, with labels numbered as the victim's."""
    from malaprop.data.matching import agree

    assert attack.together is not None
    texts, about = reading.selection, inputs[look].about
    if isinstance(texts.data, str):
        part = replace(texts, split="train", n=0).whole()
        found = agree(part.sample(attack.together.panel, texts.seed), about)
    else:  # values of Python have no parts
        found = reading.match(look, inputs)  # type: ignore[assignment]
    return {"panel": list(found)[: attack.together.panel]}


def find(
    conditions: Conditions, attack: Attack, seed: int, context: WorkerContext, inputs: Inputs
) -> Iterator[SharedChange]:
    """Search for the change in the worker that holds the victim."""
    from malaprop.frame.runs.shared_change import find_change

    victim = conditions.open(context, inputs["victim"])
    yield find_change(attack, victim, inputs["panel"], seed=seed, width=conditions.width)


def put(
    conditions: Conditions, attack: Attack, seed: int, search: str, context: WorkerContext, inputs: Inputs, share: Share
) -> Iterator[Any]:
    """Apply the change to a share of the examples."""
    from malaprop.core.victim import VictimDescription
    from malaprop.frame.runs.folder import describe
    from malaprop.frame.runs.shared_change import apply_change
    from malaprop.frame.tasks.outputs import Note

    victim, change = conditions.open(context, inputs["victim"]), inputs[search]
    if (change.victim, change.recipe) != (victim.fingerprint or victim.name, attack.name):
        raise RecordError(f"{search}.json is of {change.recipe} on another victim or prompt; choose another --out")
    notes = (*inputs["doubts"], change.describe())
    about = VictimDescription.of(victim)
    yield describe(attack, about, share.whole, seed=seed, width=conditions.width, notes=notes)
    yield from apply_change(victim, change, share.items, seed=seed)
    yield Note(change.describe())
    yield from (Note(line, once=True) for line in victim.notes)
