"""Run our side: the same recipe through the library, in a Python process of its own, like the peer's."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

from malaprop.attacks.recipes import RECIPES as LIBRARY
from malaprop.core.ask import Steps
from malaprop.core.example import Example
from malaprop.core.text import Ints
from malaprop.core.victim import Victim
from malaprop_bench import child, forked
from malaprop_bench.measured import Ended, Measured, Row, read_rows, write_rows
from malaprop_bench.metered import WARM
from malaprop_bench.peer_textattack import VARIANTS
from malaprop_bench.recording import Recording
from malaprop_bench.roster import OPENATTACK, TEXTATTACK, PeerRecipe, find, names_of

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack, Candidates
    from malaprop.attacks.trial import Trial
    from malaprop.engine.service import Service


LIMIT = 600  # seconds for one recipe of ours
COMPARED = tuple(dict.fromkeys((*names_of(TEXTATTACK), *names_of(OPENATTACK), *VARIANTS)))
RECIPES = tuple(dict.fromkeys((*COMPARED, *(name for name in LIBRARY if ":" not in name))))  # of ours alone too
AS_OPENATTACK = " (as OpenAttack)"  # suffix of a recipe's name: ours in that peer's variant, not TextAttack's
DEFAULTS = " (our defaults)"  # suffix of a recipe's name: ours with its own defaults, not in the peer's variant


@dataclass(slots=True)
class Watch:
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """The candidates of an attack, with a watch on the time to find them."""

    inner: Candidates
    watch: Watch

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        steps = self.inner.words(trial, slots)
        answer: Any = None
        while True:
            began = perf_counter()
            try:
                ask = steps.send(answer)
            except StopIteration as stop:
                found: list[Ints] = stop.value
                return found
            finally:
                self.watch.seconds += perf_counter() - began
            answer = yield ask


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedLookup:
    """A service that looks words up, with a watch on its time."""

    inner: Service
    watch: Watch

    def begin(self, asks: Sequence[Sequence[Any]]) -> Any:
        return self.inner.begin(asks)

    def finish(self, pending: Any) -> list[list[Any]]:
        began = perf_counter()
        try:
            return self.inner.finish(pending)
        finally:
            self.watch.seconds += perf_counter() - began


def folder(name: str, data: str) -> str:
    """Return the victim's name for every process: a zoo model's folder, trained first if needed, or the name itself."""
    from malaprop.data import load
    from malaprop.zoo import names as zoo
    from malaprop.zoo.cache import find_or_train

    if Path(name).exists() or not zoo.is_name(name):
        return name

    return str(find_or_train(name, data, read=load))


def has_stock(spec: str) -> bool:
    """Return whether the peer's own Hugging Face wrapper can read the victim."""
    return (Path(spec) / "config.json").is_file()


def victim(spec: str, precision: str = "fp32") -> Victim:
    from malaprop.frame.runs.load_victim import load

    return load(spec, precision=precision)


def lower_precision(spec: str) -> bool:
    """Return whether the victim can be scored in fewer bits: a transformers model can."""
    return has_stock(spec)


def build(recipe: str) -> Attack:
    """Build the library's recipe in the peer's variant, so that both tools search alike, or with our own defaults."""
    name = recipe.removesuffix(DEFAULTS).removesuffix(AS_OPENATTACK)
    variant = name if name in VARIANTS else ""
    entry = entry_of(name, OPENATTACK if recipe.endswith(AS_OPENATTACK) else TEXTATTACK)
    if recipe.endswith(DEFAULTS):
        ours: Attack = LIBRARY[entry.recipe]()
        return replace(ours, languages=(entry.language,))
    settings = {} if variant == "textfooler-similar" else entry.settings
    made: Attack = LIBRARY[entry.ours](**settings)
    without = ("SamePart",) if variant == "textfooler-untagged" else entry.without
    kept = tuple(c for c in made.constraints if type(c).__name__ not in without)
    return replace(made, constraints=kept, languages=(entry.language,))


def entry_of(name: str, tool: str = TEXTATTACK) -> PeerRecipe:
    """Return the roster's entry of a recipe: the tool's, or the other tool's if it has none."""
    name = "textfooler" if name in VARIANTS else name
    found = find(tool, name) or find(TEXTATTACK, name) or find(OPENATTACK, name)
    return found or PeerRecipe(tool="", name=name, theirs="", ours=name)


def attack_all(attack: Attack, victim: Victim, rows: Sequence[Row], *, seed: int, width: int) -> Measured:
    """Attack the rows with empty caches of words, tags and scores; keep the texts that the model read."""
    from malaprop import __version__
    from malaprop.attacks.attack import Own
    from malaprop.attacks.candidates.lookup import SERVICE as SYNONYMS
    from malaprop.engine.service import Scoring
    from malaprop.frame.runs.local import run as run_local
    from malaprop.frame.runs.services import services

    warm = WARM[attack.languages[0]]
    label = int(victim.predict([(warm,)])[0].argmax())  # a text that the victim gets wrong is not attacked
    list(run_local(attack, victim, [Example("warm", {"text": warm}, label)]))
    watch = Watch()
    seen = Recording(victim)
    known = services(seen.victim)
    known[SYNONYMS] = TimedLookup(inner=known[SYNONYMS], watch=watch)
    looked_up = not isinstance(attack.candidates, Own)  # else the search finds them itself
    timed = replace(attack, candidates=Timed(inner=attack.candidates, watch=watch)) if looked_up else attack
    examples = [Example(f"row {number}", {"text": text}, label) for number, (text, label) in enumerate(rows)]
    began, spent = perf_counter(), process_time()
    found = {o.id: o for o in run_local(timed, seen.victim, examples, seed=seed, width=width, services=known)}
    wall, processor = perf_counter() - began, process_time() - spent
    outcomes = [found[e.id] for e in examples]
    scoring = known["victim"]
    return Measured(
        tool=f"malaprop {__version__}",
        threads=torch_threads(),
        wall_s=wall,
        processor_s=processor,
        model_s=scoring.clock.victim if isinstance(scoring, Scoring) else 0.0,
        lookup_s=watch.seconds,
        forwarded=sum(o.queries.forwarded for o in outcomes),
        unique=sum(o.queries.unique for o in outcomes),
        texts=seen.texts(),
        outcomes=tuple(
            Ended(status=o.status, text=(o.adversarial or o.original).text, queries=o.queries.asked) for o in outcomes
        ),
    )


def torch_threads() -> int:
    import torch

    return torch.get_num_threads()


def run(
    spec: str,
    rows: Sequence[Row],
    recipe: str,
    folder: Path,
    *,
    threads: int,
    seed: int,
    width: int,
    precision: str = "fp32",
) -> Measured:
    """Attack the rows in a fresh process, so that no cache of an earlier run helps."""
    out = folder / "own.json"
    out.unlink(missing_ok=True)
    given = [spec, str(write_rows(rows, folder / "own.jsonl")), recipe, str(out)]
    options = ["--threads", str(threads), "--seed", str(seed), "--width", str(width)]
    options += ["--precision", precision]
    env = child.environment(threads, {})
    child.run(
        [sys.executable, "-m", __name__, *given, *options],
        env,
        seconds=LIMIT,
        what=f"our {recipe} on {Path(spec).name}",
    )
    return Measured.read(out)


def run_each(spec: str, rows: Path, walks: Sequence[str], out: Path, *, threads: int, seed: int, width: int) -> None:
    """Attack with each of the walks (RECIPE:N for the first N rows) from one start; `out` gets a file for each."""
    options = ["--threads", str(threads), "--seed", str(seed), "--width", str(width)]
    command = [sys.executable, "-m", __name__, spec, str(rows), ",".join(walks), str(out), *options]
    child.run(command, child.environment(threads, {}), seconds=LIMIT * len(walks), what="our recipes")


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("victim")
    parser.add_argument("rows", type=Path)
    parser.add_argument("recipe", help="one, or several separated by commas; behind RECIPE:N the first N rows alone")
    parser.add_argument("out", type=Path, help="a file, or a folder for several recipes")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--precision", default="fp32")
    options = parser.parse_args(given)
    import torch

    torch.set_num_threads(options.threads)
    model = victim(options.victim, options.precision)
    rows = read_rows(options.rows)

    def one(recipe: str, out: Path) -> None:
        name, _, count = recipe.partition(":")
        some = rows[: int(count)] if count else rows
        attack_all(build(name), model, some, seed=options.seed, width=options.width).write(out)

    if options.out.suffix:
        one(options.recipe, options.out)
    else:
        forked.run_each(options.recipe.split(","), options.out, one, seconds=LIMIT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
