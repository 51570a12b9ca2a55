"""Generating natural adversarial examples (Zhao, Dua and Singh 2018)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from malaprop.core.errors import RecordError
from malaprop.records.natural import NaturalRecord, Tried
from malaprop.records.naturaltext import NaturalTextRecord
from malaprop.records.transfer import Estimate
from malaprop.reproduce.claim import Claim, Paper, Reading, Step
from malaprop.reproduce.papers.reading import need
from malaprop.reproduce.weigh import above, points, short, sign, worst

_HALF = Estimate(0.5, 0.5, 0.5)


def _tried(record: NaturalRecord, search: str) -> list[Tried]:
    found = [tried for tried in record.tried if tried.search == search]
    if not found:
        raise RecordError(f"the study has no {search} search")
    return found


def _found(root: Path) -> Reading:
    record = need(NaturalRecord.read, root / "natural" / "compare")
    rows = [tried for name in ("iterative", "hybrid", "boundary") for tried in _tried(record, name)]
    told = "; ".join(f"{tried.victim}, {tried.search}: {short(tried.success)}" for tried in rows)
    best = {victim: max((t.success for t in rows if t.victim == victim), key=lambda rate: rate.value)
            for victim in dict.fromkeys(t.victim for t in rows)}  # fmt: skip
    return Reading(ours=told, verdict=worst(above(rate, _HALF) for rate in best.values()))


def _faster(root: Path) -> Reading:
    record = need(NaturalRecord.read, root / "natural" / "compare")
    slow = {tried.victim: tried for tried in _tried(record, "iterative")}
    told, shows = [], []
    for quick in _tried(record, "hybrid"):
        other = slow.get(quick.victim)
        asked = (quick.asked.mean, other.asked.mean if other else None)
        apart = (quick.distance.mean, other.distance.mean if other else None)
        if None in asked or None in apart:
            continue
        times, far = asked[1] / asked[0], apart[0] / apart[1]  # type: ignore[operator]
        told.append(f"{quick.victim}: {times:.2f} times fewer queries at {far:.2f} of the distance")
        shows.append(times >= 2 and far <= 1.1)
    return Reading(ours="; ".join(told) or "found by neither", verdict=points(bool(shows) and all(shows)))


def _farther(root: Path) -> Reading:
    record = need(NaturalRecord.read, root / "natural" / "compare")
    accuracy = {tried.victim: tried.accuracy for tried in record.tried}
    told = "; ".join(
        f"{t.victim} ({100 * t.accuracy.value:.1f}% right): mean {t.distance.mean:.3f}"
        for t in _tried(record, "hybrid")
        if t.distance.mean is not None
    )
    verdicts = []
    for pair in record.pairs:
        better = accuracy[pair.two].value > accuracy[pair.one].value
        verdicts.append(above(pair.larger, _HALF) if better else above(_HALF, pair.larger))
        told += f"; {pair.two} needs the larger change in {short(pair.larger)}"
    return Reading(ours=told, verdict=worst(verdicts))


def _follows(root: Path) -> Reading:
    record = need(NaturalRecord.read, root / "natural" / "sweep")
    if not record.correlations:
        raise RecordError("the sweep has no correlation")
    told = "; ".join(
        f"{c.group}: {c.rho:.2f} ({c.low:.2f} to {c.high:.2f}) over {c.count}" for c in record.correlations
    )
    return Reading(
        ours=f"rank correlation, {told}", verdict=worst(sign(c.rho, c.low, c.high) for c in record.correlations)
    )


def _stays(root: Path) -> Reading:
    found = need(NaturalRecord.read, root / "natural" / "synthetic").synthetic
    if found is None or found.latent_apart.mean is None or found.plane_apart.mean is None:
        raise RecordError("the record has no synthetic manifold")
    ours = (
        f"mean distance from the curve: {found.latent_apart.mean:.3f} by latent search ({len(found.on_curve)} found), "
        f"{found.plane_apart.mean:.3f} by search in the plane ({len(found.off_curve)})"
    )
    return Reading(ours=ours, verdict=points(found.latent_apart.mean < found.plane_apart.mean))


def _sentences(root: Path) -> Reading:
    record = need(NaturalTextRecord.read, root / "sentences" / "compare")
    rows = [tried for tried in record.tried if tried.distance.mean is not None]
    told = "; ".join(
        f"{t.victim} ({100 * t.accuracy.value:.1f}% right): {t.distance.mean:.3f}, found {short(t.success)}"
        for t in rows
    )
    order = [t.distance.mean or 0.0 for t in sorted(rows, key=lambda t: t.accuracy.value)]
    shows = len(order) > 1 and all(a < b for a, b in pairwise(order))
    return Reading(ours=told, verdict=points(shows))


def _probed(root: Path) -> Reading:
    told, shows = [], []
    for name in ("word", "verb"):
        for tried in need(NaturalTextRecord.read, root / "sentences" / "probes" / name).tried:
            told.append(f"{name} on {tried.victim}: {short(tried.success)}")
            shows.append(above(tried.success, Estimate(0.0, 0.0, 0.0)))
    return Reading(ours="; ".join(told), verdict=worst(shows))


_WGAN = {
    "small": "train wgan --set width=16 --set dim=32 --set steps=500 --set critic_steps=3 --set rate=0.0005 "
    "--set inverter_steps=300 --out {here}/model",
    "full": "train wgan --data mnist-full --out {here}/model",
}
_COMPARED = {
    "small": "natural compare --victims forest,lenet --generator {root}/natural/wgan/model "
    "--searches hybrid,iterative,boundary --n 20 --set samples=50 --set boundary.samples=100 --out {here} --resume",
    "full": "natural compare --data mnist-full --victims forest,lenet --generator {root}/natural/wgan/model "
    "--searches hybrid,iterative,boundary --n 200 --out {here} --resume",
}
_SWEPT = {
    "small": "natural sweep --classifiers 12 --generator {root}/natural/wgan/model --n 10 --set samples=60 --epochs 5 "
    "--out {here} --resume",
    "full": "natural sweep --data mnist-full --classifiers 80 --generator {root}/natural/wgan/model --out {here} "
    "--resume",
}
_ARAE = "--generator {root}/sentences/arae/model"
# The pictures of Multi30k are those that SNLI's premises describe: the sentence model of one is put to the other.
_PROBED = tuple(
    f"natural --victim {{root}}/sentences/nmt/model --data multi30k {_ARAE} --force --probe {probe} --n 30 "
    f"--out {{here}}/{name} --resume"
    for name, probe in (("word", "word-appears:stehen"), ("verb", "verb-dropped"))
)


def _both(commands: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    return {size: (command,) for size, command in commands.items()}


LATENT = Paper(
    letter="N",
    title="Generating natural adversarial examples",
    steps=(
        Step(
            name="natural/wgan",
            commands=_both(_WGAN),
            about={"small": "packaged digits, a WGAN of 500 steps", "full": "all of MNIST"},
        ),
        Step(
            name="natural/compare",
            commands=_both(_COMPARED),
            about={
                "small": "packaged digits, a WGAN of 500 steps, 20 images",
                "full": "all of MNIST, 200 images",
            },
            needs=("natural/wgan",),
        ),
        Step(
            name="natural/sweep",
            commands=_both(_SWEPT),
            about={
                "small": "packaged digits, a WGAN of 500 steps, 12 classifiers",
                "full": "all of MNIST, 80 classifiers",
            },
            needs=("natural/wgan",),
        ),
        Step(
            name="natural/synthetic",
            commands=_both(dict.fromkeys(("small", "full"), "natural synthetic --out {here}")),
            about=dict.fromkeys(("small", "full"), "a curve in the plane"),
        ),
        Step(
            name="sentences/arae",
            commands={"full": ("train arae --data snli --out {here}/model",)},
            about={"full": "an ARAE of a part of SNLI"},
        ),
        Step(
            name="sentences/compare",
            commands={
                "full": (
                    f"natural compare --victims Pair-Average,Pair-LSTM,Pair-ESIM --data snli {_ARAE} --searches hybrid "
                    "--n 120 --out {here} --resume",
                )
            },
            about={"full": "an ARAE of a part of SNLI; three classifiers in place of the paper's"},
            needs=("sentences/arae",),
        ),
        Step(
            name="sentences/nmt",
            commands={"full": ("train nmt-lstm --data multi30k --out {here}/model",)},
            about={"full": "a translator of Multi30k"},
        ),
        Step(
            name="sentences/probes",
            commands={"full": _PROBED},
            about={"full": "an ARAE of a part of SNLI; a translator of Multi30k"},
            needs=("sentences/arae", "sentences/nmt"),
        ),
    ),
    claims=(
        Claim(
            id="N1",
            claim="iterative search in the latent space of a WGAN finds adversaries of a forest and of LeNet",
            theirs="Table 1",
            step="natural/compare",
            read=_found,
        ),
        Claim(
            id="N2",
            claim="hybrid shrinking search needs a quarter of the time at a similar distance",
            theirs="4 times",
            step="natural/compare",
            read=_faster,
        ),
        Claim(
            id="N3",
            claim="a more accurate classifier needs a larger change",
            theirs="forest 1.24 (90.45%), LeNet 1.61 (98.71%); LeNet the larger in 78%",
            step="natural/compare",
            read=_farther,
        ),
        Claim(
            id="N4",
            claim="the change follows accuracy over widths, dropouts and 80 classifiers",
            theirs="Figure 4",
            step="natural/sweep",
            read=_follows,
        ),
        Claim(
            id="N5",
            claim="of sentences too: the more accurate classifier needs the larger change",
            theirs="embeddings .12 (62.0%), LSTM .14 (69.6%), TreeLSTM .26 (89.0%)",
            step="sentences/compare",
            read=_sentences,
        ),
        Claim(
            id="N6",
            claim="translators can be probed for a word to appear or a verb to be dropped",
            theirs="Tables 4, 5, 11, 12",
            step="sentences/probes",
            read=_probed,
        ),
        Claim(
            id="N7",
            claim="on a synthetic manifold the latent search stays on it, search in the input leaves it",
            theirs="Figure 5",
            step="natural/synthetic",
            read=_stays,
        ),
        Claim(
            id="N8",
            claim="people find natural adversaries more natural than FGSM's",
            theirs="78%",
            instead="wants people: malaprop humans asks them; what a judge says of images is in docs/natural.md",
        ),
    ),
)
