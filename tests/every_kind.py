"""A small record of every kind, for tests that hold for all of them."""

from __future__ import annotations

from sample_attention import study as attention
from sample_study import STUDY as HOTFLIP

from malaprop.attacks.rule_files import Rule
from malaprop.core.budget import Limits
from malaprop.features.answering.record import AnsweredExample, AnsweringRecord, AnsweringRun, Points
from malaprop.features.audit.check_record import BarResult, CheckRecord
from malaprop.features.audit.leaderboard import LeaderboardEntry, LeaderboardRecord
from malaprop.features.defending.certified_record import Certificate, CertifiedRecord
from malaprop.features.defending.detection_record import DetectedRun, DetectionRecord
from malaprop.features.defending.evaluation_record import DefenceAttacked, DefenceRow, DefencesRecord
from malaprop.features.hardening.tuning_record import TunedAccuracy, TuningRecord, TuningTrial
from malaprop.features.humans.record import Accuracy, HumansRecord
from malaprop.features.profile.record import NoisePoint, ProfileEntry, ProfileRecord, QueriesToBreak, WorstPoint
from malaprop.features.tagging.entities import EntityF1
from malaprop.features.tagging.record import TaggedExample, TaggedToken, TaggingClass, TaggingRecord, TaggingRun
from malaprop.features.translation.record import Bleu, TranslationRecord, TranslationRun
from malaprop.frame.records.autoharden import AutoHardenRecord, AutoTrial
from malaprop.frame.records.intervals import Estimate, Gain
from malaprop.frame.records.paired_texts import CheckRow, MarkedRun, NewlyBroken
from malaprop.frame.records.spending import SpendingRecord
from malaprop.frame.records.summary import Rate, Spread
from malaprop.frame.records.trained import TrainedModel, TrainedRecord
from malaprop.papers.attentive.oneword_record import OneWordCell, OneWordMean, OneWordModel, OneWordRecord
from malaprop.papers.claims.record import ClaimRow, ClaimsRecord
from malaprop.papers.natural.record import ImageRunFigures, NaturalRecord
from malaprop.papers.natural.text_record import NaturalTextRecord, SentenceResult, TextRunFigures
from malaprop.papers.universal.ensembles_record import ChosenEnsemble, EnsemblesRecord
from malaprop.papers.universal.record import TransferModel, TransferRecord
from malaprop.papers.universal.rules.record import (
    DiagnosisRecord,
    LabelRules,
    MeasuredCell,
    MeasuredRecord,
    MeasuredRules,
    MinedRecord,
    RuleLine,
    ShrinkageFigures,
    Sighting,
)

HALF, NONE = Rate(1, 2), Spread(None, None)
_COUNTS = {"success": 1, "failed": 1, "skipped": 0, "error": 0}
_MODEL = TransferModel(
    name="one", spec="m:one", number=None, traits=None, second=None, second_spec=None, counts=_COUNTS, drawn=1,
    asked=9, forwarded=8,
)  # fmt: skip
_ATTACKED = DefenceAttacked(accuracy=HALF, success=HALF, asked=Spread(3.0, 3.0), changed=Spread(0.5, 0.5))
_SCORE = Estimate(50.0, 40.0, 60.0)
_GAIN = Gain(value=0.5, low=0.0, high=1.0)
_LINES = [
    Certificate(id="1", label=1, prediction=1, hits=9, lower=0.8, words=4, changeable=4, radius=1),
    Certificate(id="2", label=0, prediction=1, hits=5, lower=0.4, words=4, changeable=4, radius=None),
]
_BOTH = TunedAccuracy(clean=HALF, adversarial=Rate(0, 2))

RECORDS = {
    "mined": MinedRecord(
        method="exact", victims=("a",), data="toy", labels=("neg", "pos"), seed=0, texts=2, left_out=1,
        reasons={"empty": 1}, replacements=3, weighed=2, rules=1, by_label={"pos": 1}, seconds={"finding": 0.1},
        shrinkage=ShrinkageFigures(strength=0.5), processor_seconds=0.1, agreement={"rank": None},
        strongest=(Rule(label="pos", word="good", to="<b>fine</b>", salience=1.0, count=1, mean=1.0, number=1),),
    ),
    "claims": ClaimsRecord(
        size="small", rows=(ClaimRow(id="U1", paper="P", claim="c", theirs="1", ours="2", verdict="holds"),)
    ),
    "transfer": TransferRecord(
        recipe="homoglyph", data="toy", data_spec="toy.csv", trained_on="", texts=2, wanted=5, seed=0, split="test",
        columns={"text": None}, settings={"r": 0.5}, labels=("a", "b"), models=(_MODEL,), hits=((None,),),
        totals=((None,),), before=((None,),), carried=((None,),), pairs=Estimate(0.5, float("nan"), 1.0),
    ),
    "ensembles": EnsemblesRecord(
        recipe="homoglyph", data="toy", texts=2, wanted=5, seed=0, models=("one",), unseen=(), upper=None, lower=None,
        chosen=(ChosenEnsemble(size=1, how="exact", members=("one",), fitness=0.5, counts=_COUNTS, drawn=1, hits=(1,),
                       totals=(2,), outside=None, common=None, unseen=None),),
    ),
    "check": CheckRecord(
        passed=False, max_drop=0.05, alpha=0.01, baseline="base", notes=("a note",), settings={"n": 2, "data": "t"},
        rows=(CheckRow(victim="v", attack="typos", now=Rate(0, 2), before=Rate(2, 2), lost=2, won=0, p=0.25, worse=True,
                       broken=(NewlyBroken(id="1", text="a <b> film", adversarial="a fjlm"),)),),
        bars=(BarResult(name="accuracy", bound=0.5, row="v, typos", found=HALF),), digests={"1": "ab", "2": "cd"},
        runs=(MarkedRun(victim="v", attack="typos", marks={"1": "broken", "2": "wrong"}),),
    ),
    "spending": SpendingRecord(
        state="budget", queries=9, tokens_in=90, tokens_out=9, cost=0.1, seconds=3.0, examples=2,
        limits=Limits(queries=10, price_in=1.0), reached="--max-queries 10",
    ),
    "humans": HumansRecord(
        study="s", created="", seed=0, ask=("label",), systems=("one",), pass_mark=0.7, invited=1, answered=1,
        left_out=(), counted=1, expected=1, readability=None, similarity=None, naturalness=None, meaning=None,
        agreement=(), validity=(),
        accuracy=(Accuracy(name="one", answers=HALF, majority=HALF, median=0.5, drop=None, median_drop=None),),
    ),
    "defences": DefencesRecord(
        victim="v", data="toy", attack="a", texts=2, labels=("a", "b"), premade="made",
        rows=(DefenceRow(name="none", about="", clean=HALF, premade=HALF, active=_ATTACKED, adaptive=None, worst=HALF,
                       gain=_GAIN, kept=_GAIN, cost=None, passes=1.0, verdict="the victim as it is"),),
    ),
    "certified": CertifiedRecord.of(
        _LINES, victim="v", data="toy", defence="ranmask", about="any words", samples=10, alpha=0.05, plain=HALF
    ),
    "detection": DetectionRecord(
        method="wdr", victim="v", fitted_on="toy", false_positives=0.05,
        runs=(DetectedRun(name="r", data="toy", auc=0.9, auc_low=0.8, auc_high=1.0, caught=HALF),),
    ),
    "tuning": TuningRecord(
        defence="fuse", victim="v", data="toy", recipe="a", sampler="plain", seed=0, plain=_BOTH,
        trials=(TuningTrial(number=0, settings={"samples": 3}, judged=_BOTH, seconds=1.0),),
    ),
    "translation": TranslationRecord(
        runs=(TranslationRun(attack="typos", kind="typos", victim="nmt", data="toy", success=HALF, skipped=0, errors=0,
                         before=Bleu(30.0, 20.0, 40.0)),)
    ),
    "tagging": TaggingRecord(
        runs=(TaggingRun(attack="a", goal="any", entities="keep", victim="v", data="toy", sentences=2, success=HALF,
                         skipped=0, errors=0, clean=EntityF1(60.0, 50.0, 70.0), attacked=EntityF1(40.0, 30.0, 50.0),
                         lost=EntityF1(20.0, 10.0, 30.0),
                         classes=(TaggingClass(name="PER", there=3, clean=60.0, attacked=40.0),)),),
        examples=(TaggedExample(attack="a", victim="v", id="1",
                                tokens=(TaggedToken("<Anna", "<Anna", "I-PER", "I-PER", "O"),)),),
    ),
    "answering": AnsweringRecord(
        runs=(AnsweringRun(attack="a", below=0.5, victim="v", data="toy", questions=2, success=HALF, skipped=0,
                           errors=0, clean=Points(60.0, 50.0, 70.0), attacked=Points(40.0, 30.0, 50.0),
                           lost=Points(20.0, 10.0, 30.0), exact_clean=50.0, exact_attacked=0.0, asked=9.0),),
        examples=(AnsweredExample(attack="a", victim="v", id="1", question="<Who?", true=("<Anna",),
                                  before=(("<Anna ", False), ("came", True)), after=(("<Anna ", False), ("left", True)),
                                  first="<Anna", last="left"),),
    ),
    "hotflip": HOTFLIP,
    "oneword": OneWordRecord(
        data="toy", task="sentiment", examined=2, common=2, texts=2, vocabulary=5, words=1, trials=3, seed=0,
        models=(OneWordModel(name="m", accuracy=HALF),),
        cells=(OneWordCell(model="m", recipe="gs-gr", success=HALF, measures={"x": OneWordMean(0.5, 0.4, 0.6, 2)}),),
    ),
    "attention": attention(),
    "leaderboard": LeaderboardRecord(
        data="toy", texts=2, attacks=("a", "b"),
        entries=(
            LeaderboardEntry(
                victim="v", clean=HALF, under_all=HALF, under={"a": HALF}, not_run={"b": "needs gradients"}
            ),
            LeaderboardEntry(victim="w", reason="no such folder"),
        ),
    ),
    "profile": ProfileRecord(
        data="toy", texts=2, words=4.0, seed=0, draws=1, attacks=("a", "b"), budget=None, surrogate="",
        changed={"casing": (0.2,)},
        entries=(
            ProfileEntry(
                victim="v", score=_SCORE, noise_score=_SCORE, worst_score=_SCORE, gap=None, clean=HALF, one_word=HALF,
                noise=(NoisePoint(share=0.2, accuracy=_SCORE, kinds={"casing": 0.5}),),
                worst=(WorstPoint(share=0.2, accuracy=HALF),), queries=QueriesToBreak(broken=HALF, median=3.0),
                transfer={"w": HALF},
            ),
            ProfileEntry(victim="w", reason="no such folder"),
        ),
    ),
    "diagnosis": DiagnosisRecord(
        rules="r.csv", data="toy", texts=2, labels=("a", "b"),
        found=(LabelRules(label="a", rules=1, falls=HALF, rises=HALF,
                       lines=(RuleLine(word="good", to="fine", salience=0.5, count=2, pmi=((1.0, 0.0), (0.0, 1.0)),
                                   seen=((2, 0), (0, 1)), sightings=(Sighting(text="good fun", start=0, end=4),)),)),),
    ),
    "measured": MeasuredRecord(
        data="toy", n=2, share=0.3, files=("r.csv",),
        cells=(MeasuredCell(rules="r", victim="v", success=HALF, words=Spread(0.25, 0.25), within={"0.3": HALF}),),
        wholes=(MeasuredRules(rules="r", mean=0.5, low=0.25, high=float("nan"), words=0.25, ahead=None),),
    ),
    "natural": NaturalRecord(
        data="digits", generator="vae",
        tried=(ImageRunFigures.of([], victim="mlp", search="hybrid", settings="", accuracy=HALF),),
        quality={"lost": float("nan")},
    ),
    "naturaltext": NaturalTextRecord(
        data="toy", generator="arae", goal="another label", items=1,
        tried=(TextRunFigures.of([], victim="v", search="hybrid", settings="", accuracy=HALF,
                            perplexity_original=float("nan"), perplexity_adversary=2.0),),
        shown={"v": (SentenceResult(id="1", status="failed", label="a", answer="a", fields={"text": "t"},
                                  field="text"),)},
    ),
    "autoharden": AutoHardenRecord(
        model="m", data="toy", attacks=("pwws",), texts=2, loss=2.0, budget=60.0, chosen="none", why="no gain",
        victim="m", trials=(AutoTrial(method="none", stage=2, epochs=0, clean=HALF, worst=HALF, gain=_GAIN),),
    ),
    "trained": TrainedRecord(
        command="train", models=(TrainedModel(name="m", data="toy", figures={"test_accuracy": 0.5, "epochs": 2}),),
    ),
}  # fmt: skip
