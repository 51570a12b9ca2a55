"""malaprop study hotflip: attack a model that reads characters and harden it, as in the HotFlip paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from malaprop.core.errors import SettingError
from malaprop.frame.study.run_options import BudgetOptions, OutputOptions, RunOptions, width_option
from malaprop.frame.study.selection import Selection
from malaprop.frame.study.settings import opt
from malaprop.frame.study.shared_tasks import attack_share, epoch_line
from malaprop.frame.study.study import View
from malaprop.frame.study.training_tasks import train_named

if TYPE_CHECKING:
    from malaprop.data.base import Examples
    from malaprop.frame.tasks.task import Inputs, Share, Task
    from malaprop.frame.tasks.worker_context import WorkerContext
    from malaprop.papers.hotflip.record import HotFlipRecord
    from malaprop.papers.hotflip.summary import Cell, HotFlipDesign

PLAIN = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class HotFlip:
    """Attack a model that reads characters, harden it in several ways, and write the HotFlip paper's figures.

    The same --out resumes an interrupted study: it trains and attacks only what is missing.

    Examples:

      malaprop study hotflip --data reviews.csv --n 200 --out runs/study

      malaprop study hotflip --methods hotflip,miyato-virtual --set epochs=4 --jobs 4
    """

    command: ClassVar[str] = "study hotflip"

    model: str = opt("CharCNN-LSTM", "A zoo model that reads characters. See malaprop list models.")
    methods: tuple[str, ...] = opt(
        ("hotflip", "miyato", "blackbox"),
        "Training methods to compare, such as hotflip. Also miyato (adversarial training on embeddings), "
        "miyato-virtual, and blackbox (training on texts with 20% random character changes). hotflip:0.1 flips 10% of "
        "the characters of each training text.",
        free=True,
    )
    confidences: tuple[float, ...] = opt(
        (0.0, 0.5, 0.9),
        "Least probabilities of the wrong label. One run for each value; 0: any wrong label is a success.",
        free=True,
    )
    beam: int = opt(10, "Width of the beam search.", min=1)
    closes: str = opt(
        "word",
        "What may not be edited again after an edit. word: the whole word. character: only the edited character, which "
        "is the other reading of the paper's bound; training with hotflip then flips 20% of the characters instead of "
        "10%, also several in one word.",
        choices=("word", "character"),
    )
    vary: tuple[str, ...] = opt(
        (),
        "Further attacks on the plain model. beam-flip-delete and beam-flip-insert use these operations alone; "
        "beam-neighbours also locks the characters beside an insertion; beam-anchored adds each estimate to the text's "
        "own loss, not to the estimates before it; beam-wide has width 30. With --closes character also "
        "beam-one-a-word and beam-two-a-word, which allow that many edits of a word, and beam-flips-two-a-word, which "
        "does so with flips alone.",
        free=True,
    )
    exact: int = opt(0, "Texts to attack with exact losses as well; slow.", min=0)
    training: Mapping[str, Any] = opt(
        {}, "A setting of training or network, name=value. Repeat it for several.", name="set"
    )
    texts: Selection = Selection(n=760)
    width: int = width_option()
    where: RunOptions = RunOptions()
    spending: BudgetOptions = BudgetOptions()
    saving: OutputOptions = OutputOptions()

    @property
    def design(self) -> HotFlipDesign:
        from malaprop.papers.hotflip.summary import HotFlipDesign

        floors = tuple(sorted(set(self.confidences)))
        return HotFlipDesign(
            methods=self.methods, vary=self.vary, confidences=floors, width=self.beam, exact=self.exact,
            closes=self.closes,
        )  # fmt: skip

    def check(self) -> None:
        from malaprop.core.catalogue import unknown
        from malaprop.papers.hotflip.summary import PER_WORD, VARIANTS
        from malaprop.zoo import names as zoo

        if not self.confidences or not all(0 <= floor < 1 for floor in self.confidences):
            given = ",".join(f"{floor:g}" for floor in self.confidences)
            raise SettingError(f"--confidences takes numbers from 0 to below 1, as 0,0.5,0.9, got {given!r}")
        for method in self.methods:
            make_training_method(method)
        for name in self.vary:
            if name not in VARIANTS:
                raise unknown("variant", name, VARIANTS)
            if name in PER_WORD and self.closes != "character":
                raise SettingError(f"--vary {name} needs --closes character; with word each word is edited once anyway")
        spec, _ = zoo.parse(self.model)
        if spec.units != "character":
            raise SettingError(
                f"the study attacks a model that reads characters, and {spec.name} does not; name one that reads "
                "characters (CharCNN-LSTM, LSTM-C-Random-1 ...)"
            )
        self.texts.examples(trains=True)  # raise on a faulty file before a model is trained

    def plan(self) -> Iterator[Task]:
        from malaprop.frame.tasks.outputs import OwnFolder, RunFolder
        from malaprop.frame.tasks.task import Task

        for model in self.design.models:
            yield Task(name=f"models/{model}", work=partial(self.train, model), output=OwnFolder())
        for cell in self.design.cells():
            yield Task(
                name=f"runs/{cell.model}/{cell.name}", work=partial(self.attack, cell), output=RunFolder(),
                after=(f"models/{cell.model}",), holds=(cell.model,), items=partial(self.examples, cell),
                alone=cell.few,
            )  # fmt: skip

    def train(self, model: str, context: WorkerContext, inputs: Inputs) -> Iterator[Any]:
        """Train one model: the plain one, or one by a training method."""
        from malaprop.frame.study.training_methods import Hardening
        from malaprop.frame.tasks.outputs import Note
        from malaprop.zoo.train import TrainingInput

        del inputs
        parts = context.keep("parts of the data", self.texts.splits)
        card = train_named(
            context, self.model, parts, context.folder,
            given=TrainingInput(settings=self.training), seed=self.texts.seed,
            hardening=None if model == PLAIN else Hardening(model, make_training_method(model, self.closes)),
            listen=lambda epoch: context.note(epoch_line(epoch)),
        )  # fmt: skip
        yield Note(f"right on {card.figures['test_accuracy']:.1%} of the test texts")

    def examples(self, cell: Cell, inputs: Inputs) -> Examples:
        """Return the texts of one attack, with the labels as the model numbers them."""
        from malaprop.core.victim import VictimDescription
        from malaprop.data.matching import agree
        from malaprop.training.card import read_card

        card = read_card(inputs[f"models/{cell.model}"])
        texts = replace(self.texts, n=self.exact) if cell.few else self.texts
        about = VictimDescription(name=card.name, labels=len(card.labels), label_names=card.labels)
        return agree(texts.examples(trains=True), about)

    def attack(self, cell: Cell, context: WorkerContext, inputs: Inputs, share: Share) -> Iterator[Any]:
        """Run one attack; if it is timed, attack one text first, so that start-up does not count."""
        from malaprop.frame.runs.local import run
        from malaprop.frame.runs.make_attack import recipe

        made = recipe(cell.recipe, **cell.settings)
        target = context.victim(inputs[f"models/{cell.model}"])
        if cell.few:
            few = list(share.items)
            share = replace(share, items=few)
            list(run(made, target, few[:1], seed=self.texts.seed))
        yield from attack_share(context, made, target, share, seed=self.texts.seed, width=self.width)

    def gather(self, root: Path) -> HotFlipRecord:
        from malaprop.frame.records.run import Run
        from malaprop.frame.runs.victims import device_of
        from malaprop.papers.hotflip.summary import gather

        data = Run.read(root / "runs" / PLAIN / "flips").data
        return gather(root, self.design, data=data, device=device_of(self.where.device))

    def view(self, record: HotFlipRecord) -> View:
        rates = {h.name: {"error": h.error.to_dict(), "success": h.success.to_dict()} for h in record.hardened}
        rows = [
            {"model": h.name, "error": h.error.value, "success": h.success.value, "epochs": h.epochs}
            for h in record.hardened
        ]
        return View(rows=rows, summary={"kind": "hotflip", "models": rates})


def _flipping(method: str, share: str, closes: str) -> dict[str, Any]:
    """Return the settings of hotflip training that differ from its defaults."""
    by_character = closes == "character"
    try:
        given = {"r": float(share)} if share else {"r": 0.2} if by_character else {}
    except ValueError:
        raise SettingError(f"--methods hotflip:SHARE takes a share such as 0.1, got {method!r}") from None
    return {**given, **({"once": False} if by_character else {})}


def make_training_method(method: str, closes: str = "word") -> Any:
    """Make a training method by name; with `closes="character"` hotflip flips 20% of the characters by default."""
    from malaprop.frame.study.training_methods import DEFENCES

    plain, _, share = method.partition(":")
    name, _, kind = plain.partition("-")
    if (kind and plain != "miyato-virtual") or (share and plain != "hotflip"):
        raise SettingError(
            f"--methods takes hotflip, hotflip:SHARE, miyato, miyato-virtual and blackbox, got {method!r}"
        )
    if name == "hotflip":
        return DEFENCES[name](**_flipping(method, share, closes))
    return DEFENCES[name](**({"virtual": True} if kind else {}))
