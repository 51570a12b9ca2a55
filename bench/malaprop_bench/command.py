"""The command malaprop bench: measure speed, beside the peers that are installed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from malaprop.core.errors import SettingError
from malaprop.frame.command import options as o
from malaprop.frame.command.settings_command import command
from malaprop.frame.study.settings import opt
from malaprop.frame.study.vocabulary import SEVERAL

if TYPE_CHECKING:
    from malaprop_bench.throughput import Setting


_LANES = 8
VICTIM, RECIPE = "CNN-W-GloVe-1", "pwws"  # of --throughput, where none is named


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchCommand:
    """Time our attacks beside TextAttack's and OpenAttack's and beside bare forward passes, on the same victims, texts
    and threads.

    Examples:

      malaprop bench --only pwws,CNN-W-GloVe-1

      malaprop bench --throughput --victim shape:all --data ag_news --n 1000 --device cuda --width 1024

      malaprop bench --scorers
    """

    victim: tuple[str, ...] | None = opt(
        None,
        "Zoo names; each is attacked with all of --attack. With --throughput: folders, zoo names, or fresh models of a "
        "shape: shape:minilm, shape:bert-base, shape:bilstm, shape:lstm, shape:cnn; shape:transformers for all of "
        f"those, shape:all for all shapes; {VICTIM} if not given. {SEVERAL}",
        old=("victims",),
        repeat=True,
    )
    attack: tuple[str, ...] | None = opt(
        None,
        f"Recipes of peers: pwws, bae, clare, or all. With --throughput: one; {RECIPE} if not given. {SEVERAL}",
        old=("recipes", "recipe"),
        repeat=True,
    )
    only: tuple[str, ...] = opt(
        (), "One cell, as recipe,victim: pwws,CNN-W-GloVe-1. May be repeated.", repeat=True, whole=True
    )
    n: int = opt(100, "How many examples, drawn by the seed.", min=1)
    threads: int = opt(1, "CPU threads, the same for all.", min=1)
    peer: Path | None = opt(
        None, "Python of the environment that holds TextAttack; .venv-peers if not given.", rare=True
    )
    openattack: Path | None = opt(None, "Python of the environment that holds OpenAttack; .venv-openattack.", rare=True)
    seconds: float = opt(30.0, "Most seconds for one cell of one peer.")
    repeats: int = opt(1, "Runs of a cell; the middle one counts.", min=1)
    precision: str = opt(
        "auto",
        "auto (on a GPU bf16 for transformers, fp32 for word models), fp32, bf16 or int8; of the comparison fp32, or "
        "fp32,int8 for rows in both.",
    )
    together: bool = opt(
        False,
        "Start each tool once for all recipes of a victim: many recipes in little time, by processor time.",
        rare=True,
    )
    measure: tuple[str, ...] = opt(
        (), "With --together, of successes: similarity, perplexity, separated by commas.", rare=True
    )
    resume: bool = opt(False, "Keep the cells that --out already holds.")
    throughput: bool = opt(False, "No peer: texts a second of --attack on --victim.")
    data: str = opt("mr")
    device: str = opt("auto")
    width: int = opt(256, min=1)
    lanes: int | None = opt(
        None,
        "With --throughput: 2 advances one half of the texts while the device works for the other, up to 8; what suits "
        "the victim if not given.",
        min=1,
        rare=True,
    )
    train_seconds: float = opt(20.0, "With --throughput: training of a fresh shape.", min=0, rare=True)
    predicted: bool = opt(False, "With --throughput: take the victim's own answers for the labels.", rare=True)
    scorers: bool = opt(False, "Only what each incremental scorer saves. Over whole forward passes; no peer runs.")
    fill: Path | None = opt(
        None,
        "No run: fill the tables of a Markdown page, or of all in a folder, from the JSON they name.",
        rare=True,
    )
    seed: int = opt(0, min=0)
    out: Path | None = opt(None, "Folder for what is written; made if it is missing.")
    json: bool = opt(False)
    quiet: bool = opt(False)

    @property
    def recipe(self) -> str:
        """Return the recipe of --throughput; raise if --attack names several."""
        found = self.attack or (RECIPE,)
        if len(found) > 1:
            raise SettingError(f"--throughput takes one --attack, got {len(found)}: {', '.join(found)}")
        return found[0]

    def check(self) -> None:
        if self.lanes is not None and self.lanes > _LANES:
            raise SettingError(f"--lanes is at most {_LANES}, got {self.lanes}")


def measure_speed(asked: BenchCommand) -> None:
    """Fill a page, or measure throughput, scorers or the comparison with peers, as the options choose."""
    asked.check()
    out, json, quiet = asked.out, asked.json, asked.quiet
    if asked.fill is not None:
        from malaprop_bench.page import fill as refill

        o.finish({"command": "bench", "filled": refill(asked.fill)}, json)
    elif asked.throughput:
        from malaprop_bench import throughput as t

        victims = ",".join(asked.victim or (VICTIM,))
        setting = t.Setting(
            victim=victims, data=asked.data, n=asked.n, recipe=asked.recipe, device=asked.device,
            precision=asked.precision, width=asked.width, lanes=asked.lanes, seed=asked.seed, repeats=asked.repeats,
            train_seconds=asked.train_seconds, predicted=asked.predicted,
        )  # fmt: skip
        _throughput(setting, t.named(victims), out, json, quiet)
    elif asked.scorers:
        from malaprop_bench import savings

        saved = savings.measure(threads=asked.threads, seed=asked.seed)
        _show(savings.HEAD, savings.rows(saved), quiet)
        _kept(out, "scorers", saved, json)
    else:
        _compare(asked)


def _compare(asked: BenchCommand) -> None:
    """Compare our attacks with those of the peers."""
    from malaprop_bench import compare
    from malaprop_bench.bout import Terms

    terms = Terms(
        n=asked.n, threads=asked.threads, seconds=asked.seconds, data=asked.data, seed=asked.seed, width=asked.width,
        repeats=asked.repeats, together=asked.together, measures=asked.measure,
        precisions=("fp32",) if asked.precision == "auto" else o.split_names(asked.precision) or (),
    )  # fmt: skip
    plan = compare.plan(victims=asked.victim, recipes=asked.attack, only=asked.only)
    given = {"TextAttack": asked.peer, "OpenAttack": asked.openattack}
    folder = o.out_folder(asked.out, "bench")
    table = compare.bench(
        folder, plan, terms, given=given, resume=asked.resume, say=compare.silent if asked.quiet else None
    )
    o.say(f"tables in {folder}", asked.quiet)
    o.finish({"command": "bench", "out": str(folder), **table}, asked.json)


def _throughput(setting: Setting, victims: list[str], out: Path | None, json: bool, quiet: bool) -> None:
    """Measure victims one after the other; show and write each at once, and go on with the others if one fails."""
    from dataclasses import replace

    from malaprop.core.errors import VictimError, plain
    from malaprop_bench import throughput as t

    if len(victims) == 1:
        held = t.measure(setting).to_dict()
        _show(t.HEAD, [t.row(held)], quiet)
        _kept(out, "throughput", held, json)
        return
    rows, failed = [], {}
    for victim in victims:
        try:
            rows.append(t.measure(replace(setting, victim=victim)).to_dict())
        except Exception as error:  # noqa: BLE001 - the others are still to be measured
            failed[victim] = plain(error)[:300]
            o.say(f"{victim}: {failed[victim]}")
            continue
        _show(t.HEAD, [t.row(held) for held in rows], quiet, last=len(rows) > 1)
        if out is not None:
            from malaprop_bench.page import append

            append(o.out_folder(out), "throughput", rows[-1])
    if not rows:
        raise VictimError(f"nothing could be measured ({failed[victims[0]]})")
    o.finish({"command": "bench", "rows": rows, "failed": failed}, json)


def _show(head: tuple[str, ...], rows: list[list[str]], quiet: bool, *, last: bool = False) -> None:
    """Print the table, or only its last line if the others have been printed."""
    from malaprop_bench.table import lines

    for line in lines(head, rows)[-1 if last else 0 :]:
        o.say(line, quiet)


def _kept(out: Path | None, name: str, held: dict[str, Any], json: bool) -> None:
    """Append a line to out/NAME.jsonl if there is a folder, and print the JSON line."""
    if out is not None:
        from malaprop_bench.page import append

        append(o.out_folder(out), name, held)
    o.finish({"command": "bench", **held}, json)


bench = command(BenchCommand, measure_speed)
