"""On the robustness of self-attentive models (Hsieh et al. 2019)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from malaprop.core.errors import RecordError
from malaprop.features.explain.record import AttentionLayer, AttentionModel, AttentionRecord
from malaprop.features.translation.record import TranslationRecord, TranslationRun
from malaprop.frame.records.intervals import above, differ, gap_text, short, sign, worst
from malaprop.frame.records.summary import Rate
from malaprop.papers.attentive.oneword_record import OneWordRecord
from malaprop.papers.claims.by_paper import commands, translators
from malaprop.papers.claims.by_paper.attention_causes import (
    DEPTH,
    FINE_TUNED,
    FULL,
    LENGTH,
    NEAREST,
    ONE_WORD,
    PAIRS,
    SMALLER,
    TYPOS,
    YELP,
    explain_choice,
    explain_depth,
    explain_typos,
    explain_words,
    list_varied,
)
from malaprop.papers.claims.claim import Claim, ClaimStep, Doing, Paper, Reading, order
from malaprop.papers.claims.kept_records import need

_READABLE = ("perplexity", "grammar")  # the less the better
_SPELLED = ("random", "list", "asmin-gr", "asmax-gr", "gs-gr", "gs-ec")


def _recurrent(name: str) -> bool:
    return "LSTM" in name


def _success(record: OneWordRecord, model: str, recipe: str) -> Rate:
    cell = record.cell(model, recipe)
    if cell is None or cell.reason:
        raise RecordError(f"the study has no {recipe} on {model}")
    return cell.success


def _percent(record: OneWordRecord, model: str, recipe: str) -> str:
    """Texts broken, of random words the trials that work, which is what the paper counts."""
    broken, cell = _success(record, model, recipe), record.cell(model, recipe)
    if cell is not None and cell.share is not None:
        return f"{100 * cell.share.value:.2g} of the trials"
    return f"{100 * broken.value:.0f}"


def _one_word(*folders: str) -> Callable[[Path], Reading]:
    """The LSTM falls more often than self-attention, and the weakest word is worth more than the most attended one; on
    all data of which there is a record."""

    def read(root: Path) -> Reading:
        records = [found for folder in folders if (found := OneWordRecord.read(root / folder)) is not None]
        if not records:
            need(OneWordRecord.read, root / folders[0])
        each = [_judge_one_word(record) for record in records]
        varied = explain_words(root, folders)
        why = [_explain_one_word(record, halves=not varied) for record in records]
        why.append(varied or "The vocabulary and how much of a text is read have not been varied.")
        return Reading(
            ours="; ".join(one.ours for one in each), verdict=worst(one.verdict for one in each), why=" ".join(why)
        )

    return read


def _explain_one_word(record: OneWordRecord, *, halves: bool) -> str:
    """Between which models and words the difference lies, and whether it is one of length or of confidence."""
    names = [model.name for model in record.models]
    first = next(name for name in names if _recurrent(name))
    weakest = {name: _success(record, name, "gs-gr") for name in names}
    beside = ", ".join(f"{name} {gap_text(weakest[first], weakest[name])}" for name in names if name != first)
    found = ", ".join(f"{n} {gap_text(weakest[n], _success(record, n, 'asmax-gr'))}" for n in names)
    right = ", ".join(f"{model.name} {100 * model.accuracy.value:.1f}%" for model in record.models)
    told = (
        f"On {record.data}: broken by gs-gr, the LSTM less {beside}; by gs-gr less asmax-gr, {found}; right without an "
        f"attack, {right}."
    )
    split = ". Of the ".join(_halves(record, *each) for each in _HALVES)
    return f"{told} By halves of each model's texts, gs-gr broke of the {split}." if halves else told


_HALVES = (
    ("shorter", "length", 0),
    ("longer", "length", 1),
    ("less sure", "confidence", 0),
    ("surer", "confidence", 1),
)


def _halves(record: OneWordRecord, word: str, kind: str, at: int) -> str:
    cells = [cell for model in record.models if (cell := record.cell(model.name, "gs-gr")) is not None]
    rates = [(cell.model, cell.halves[kind][at]) for cell in cells if kind in cell.halves]
    return f"{word} {', '.join(f'{model} {rate.hits} of {rate.total}' for model, rate in rates) or 'not counted'}"


def _judge_one_word(record: OneWordRecord) -> Reading:
    names = [model.name for model in record.models]
    told = []
    for name in names:
        rates = ", ".join(f"{one} {_percent(record, name, one)}" for one in _SPELLED if one in record.recipes)
        told.append(f"{name}: {rates}")
    first = next((name for name in names if _recurrent(name)), None)
    rest = [name for name in names if not _recurrent(name)]
    if first is None or not rest:
        raise RecordError("the study wants an LSTM and a model of self-attention")
    verdicts = [above(_success(record, first, "gs-gr"), _success(record, name, "gs-gr")) for name in rest]
    verdicts += [above(_success(record, n, "gs-gr"), _success(record, n, "asmax-gr")) for n in names]
    named = ", ".join(f"{name} {short(_success(record, name, 'gs-gr'))}" for name in names)
    ours = f"{record.data}, {'; '.join(told)} (% of {record.texts}); gs-gr: {named}"
    return Reading(ours=ours, verdict=worst(verdicts))


def _nearer(root: Path) -> Reading:
    """GS-EC takes, of the words that GS-GR finds, the nearest: that it is as successful and nearer cannot fail here.

    What can is that its texts read better, by perplexity and by grammar, which stand in for people.
    """
    records = [found for folder in _COMPARED if (found := OneWordRecord.read(root / folder)) is not None]
    record = records[0] if records else need(OneWordRecord.read, root / YELP)
    pairs = [a for a in record.against if (a.first, a.second) == ("gs-gr", "gs-ec")]
    near = [a for a in pairs if a.measure == "distance"]
    if not near:
        raise RecordError("the study has no distances of gs-gr and gs-ec")
    told = [f"{a.model} {a.gap.value:+.3g} ({a.gap.low:+.3g} to {a.gap.high:+.3g}) of {a.before:.3g}" for a in near]
    read = [a for a in pairs if a.measure in _READABLE]
    shown = [f"{a.measure} of {a.model} {a.gap.value:+.3g} ({a.gap.low:+.3g} to {a.gap.high:+.3g})" for a in read]
    ours = f"nearer by construction, L1 in the victim's own vector: {', '.join(told)}"
    verdict = worst(sign(-a.gap.value, -a.gap.high, -a.gap.low) for a in read) if read else "by construction"
    within = _compare_curves(record)
    ours = f"{ours}{f'; {within}' if within else ''}; readability: {', '.join(shown) or 'not measured'}"
    both = [
        f"{a.measure.capitalize()} of {a.model}: {a.before:.3g} and {a.after:.3g}, lower in {a.lower}" for a in read
    ]
    why = f"What stands in for readers, of GS-GR and GS-EC on texts that both broke. {'. '.join(both)}. "
    return Reading(ours=ours, verdict=verdict, why=why + explain_choice(root))


def _compare_curves(record: OneWordRecord) -> str:
    """What each breaks within the distance that GS-GR needs for half of its successes."""
    found = {(curve.model, curve.recipe): curve.points for curve in record.curves}
    told = []
    for model in record.models:
        one, two = (found.get((model.name, recipe)) for recipe in ("gs-gr", "gs-ec"))
        if one and two:
            bound, (first, second) = one[4][0], (points[4][1] for points in (one, two))
            told.append(f"{model.name} {bound:.3g}: {first.hits} and {second.hits} of {first.total}")
    return f"broken within the median distance of GS-GR, by it and by GS-EC: {', '.join(told)}" if told else ""


def _read_translations(root: Path, kind: str) -> tuple[TranslationRun, TranslationRun]:
    """Of the LSTM and of the Transformer."""
    out = []
    for name in translators.NAMES:
        record = need(TranslationRecord.read, root / "translation" / kind / name)
        out.append(record.runs[0])
    return out[0], out[1]


def _keyword(root: Path) -> Reading:
    lstm, transformer = _read_translations(root, "keyword")
    ours = f"LSTM {short(lstm.success)}, Transformer {short(transformer.success)}"
    words = ", ".join(
        f"{name} {run.changed_words:.2f} words and {run.asked:.0f} queries"
        for name, run in (("LSTM", lstm), ("Transformer", transformer))
        if run.changed_words is not None and run.asked is not None
    )
    why = f"The LSTM less the Transformer {gap_text(lstm.success, transformer.success)}; a success takes {words}."
    return Reading(ours=ours, verdict=above(lstm.success, transformer.success), why=why)


def _typos(root: Path) -> Reading:
    told, falls = [], []
    for name, found in zip(("LSTM", "Transformer"), _read_translations(root, "typos"), strict=True):
        if found.before is None or found.after is None or found.drop is None:
            raise RecordError("the record has no BLEU before and after")
        told.append(f"{name} {found.before} to {found.after}")
        falls.append(found.drop)
    verdicts = [sign(fall.value, fall.low, fall.high) for fall in falls]
    gap = differ(*falls)
    why = (
        f"BLEU lost by the LSTM {falls[0]}, by the Transformer {falls[1]}: a difference of {gap.value:+.2f} "
        f"({gap.low:+.2f} to {gap.high:+.2f}). {explain_typos(root)}"
    )
    return Reading(ours=f"BLEU, {', '.join(told)}", verdict=worst((*verdicts, above(*falls))), why=why)


def _sides(root: Path) -> tuple[list[AttentionModel], list[AttentionModel]]:
    """Models under attack: recurrent ones, and those of self-attention."""
    record = need(AttentionRecord.read, root / "attention")
    attacked = [model for model in record.models if model.edits == record.recipe]
    sides = [m for m in attacked if _recurrent(m.name)], [m for m in attacked if not _recurrent(m.name)]
    if not all(sides):
        raise RecordError("the study wants an LSTM and a model of self-attention")
    return sides


def _first(model: AttentionModel) -> AttentionLayer:
    """The first layer; number 0 is what it reads."""
    for layer in model.layers:
        if layer.number == 1:
            return layer
    raise RecordError(f"the study has no first layer of {model.name}")


def _sparse(root: Path) -> Reading:
    """Last layer with last layer, and, as a second figure, the states of other words behind the first layer."""
    lstms, rest = _sides(root)
    told = [
        f"{m.name}: R_e of the last layer {short(m.layers[-1].relative)}, mean over layers {short(m.layered)}, "
        f"on other words after layer 1 {short(_first(m).elsewhere)}"
        for m in (*lstms, *rest)
    ]
    verdicts = [above(_first(lstms[0]).elsewhere, _first(m).elsewhere) for m in rest]
    verdicts += [above(lstms[0].layers[-1].relative, m.layers[-1].relative) for m in rest]
    why = "By layer, R_e and the share of the other words' states that move. " + ". ".join(
        f"{m.name}: "
        + ", ".join(f"{one.number}: {one.relative.value:.2f}, {one.elsewhere.value:.2f}" for one in m.layers)
        for m in (*lstms, *rest)
    )
    return Reading(ours="; ".join(told), verdict=worst(verdicts), why=f"{why}. {explain_depth(root)}")


def _theorem(root: Path) -> Reading:
    record = need(AttentionRecord.read, root / "attention")
    if not record.bounds:
        raise RecordError("the study has no simulation of Theorem 1")
    over = [bound for bound in record.bounds if bound.mean > bound.bound]
    tails = sum(tail.share > tail.markov for bound in record.bounds for tail in bound.tails)
    worst_case = max(record.bounds, key=lambda bound: bound.mean / bound.bound)
    ours = (
        f"{len(record.bounds)} settings: the mean is above the bound in {len(over)}, a tail above Markov's in {tails}; "
        f"nearest {worst_case.mean:.3g} of {worst_case.bound:.3g} ({worst_case.where})"
    )
    return Reading(ours=ours, verdict="holds" if not over and not tails else "fails")


def _stays(root: Path) -> Reading:
    lstms, others = _sides(root)
    shifts = [(m.name, _first(m).shift) for m in (*lstms, *others)]
    told = "; ".join(f"{name}: {short(shift)}" for name, shift in shifts)
    first = _first(lstms[0]).shift
    verdicts = [above(first, shift) for m in others if first and (shift := _first(m).shift)]
    why = "By layer, the share of attention that moves. " + ". ".join(
        f"{m.name}: " + ", ".join(f"{one.number}: {short(one.shift)}" for one in m.layers if one.shift is not None)
        for m in (*lstms, *others)
    )
    return Reading(ours=f"share of attention that moves, first layer: {told}", verdict=worst(verdicts), why=f"{why}.")


# --- the settings, fixed before the run

_IMDB = "oneword/imdb"
_REVIEWS = (YELP, _IMDB, "oneword/mr", f"{YELP}-mpnet", f"{_IMDB}-mpnet")
_COMPARED = (YELP, "oneword/mr")  # whose texts were held up to readers' stand-ins, at full and at small size
_JUDGED = ("gs-gr", "asmax-gr")  # what the verdict hangs on
_BEFORE = (_JUDGED, (*_JUDGED, "random", "list"), _SPELLED)  # done in this order where asking is dear
_SMALL: dict[str, Any] = {"n": 40, "vocabulary": 300, "trials": 100, "jobs": "{jobs}", "out": "{here}"}
# 1,000 random trials of each of 100 texts are the 10^5 of the paper.
# LIST has the paper's list: the 8 nearest words of counter-fitted vectors, here our own.
# A keyword is forced in by the words that fit best of 2,000; at small size of 200, as a CPU takes minutes for those.
_FORCED: dict[str, dict[str, Any]] = {
    "small": {"keyword": ("chien",), "n": 40, "sweep": 200, "tries": 8},
    "full": {"keyword": ("Hund",), "n": 200},
}
_MISSPELT = {"small": 200, "full": 1000}  # sentences
_READ = f"{LENGTH} tokens of each text, 5,000 words"


def _reviews(name: str, data: str, shown: str, **more: Any) -> ClaimStep:
    """One-word attacks on an LSTM, a fine-tuned encoder and a Transformer that all read as much of a text."""
    study = order(
        "study oneword", models=("BiLSTM-Attention", "{here}/start/BERT", "Transformer-3"), data=data,
        set={"limit": LENGTH, "near": 8}, measure=("similarity", *_READABLE), **FULL, **more,
    )  # fmt: skip
    tuned = commands.train("BERT", data=data, settings=FINE_TUNED, out="{here}/start/BERT")
    about = f"an LSTM, MiniLM, all of it fine-tuned, and a Transformer on {shown}, {_READ}"
    return ClaimStep(name=name, does={"full": (tuned, study)}, about={"full": about})


def _beside_mpnet(base: str, data: str, shown: str) -> ClaimStep:
    """The LSTM of such a study beside an encoder of twelve layers: first what is judged, then the paper's other rows.

    The Transformer without pre-training has its rows there; the attention and embedding attacks that no claim reads are
    left out, as MPNet is eight times as dear to ask as MiniLM.
    """
    both: dict[str, Any] = {
        "models": (f"{{root}}/{base}/models/BiLSTM-Attention", "{here}/start/MPNet"), "data": data, "set": {"near": 8},
        **FULL,
    }  # fmt: skip
    tuned = commands.train("MPNet", data=data, settings=FINE_TUNED, out="{here}/start/MPNet")
    studies = (order("study oneword", recipes=recipes, **both) for recipes in _BEFORE)
    about = f"the same LSTM beside MPNet, all of it fine-tuned, on {shown}, {_READ}"
    return ClaimStep(name=f"{base}-mpnet", does={"full": (tuned, *studies)}, about={"full": about}, needs=(base,))


def _translate(size: str, typos: int = 0) -> tuple[Doing, ...]:
    """A keyword is forced into translations, or words of each sentence are misspelt."""
    misspelt: dict[str, Any] = {"n": _MISSPELT[size], **({"typos": typos} if typos > 1 else {})}
    command, own = ("translate typos", misspelt) if typos else ("translate attack", _FORCED[size])
    both = {"data": translators.PAIRS[size], "resume": True}
    return tuple(
        order(command, victim=translators.place(one), out=f"{{here}}/{one}", **both, **own) for one in translators.NAMES
    )


ATTENTIVE = Paper(
    letter="S",
    title="On the robustness of self-attentive models",
    steps=(
        ClaimStep(
            name="oneword/mr",
            does={
                "small": (
                    order(
                        "study oneword",
                        models=("BiLSTM-Attention", "Transformer-3"),
                        data="mr",
                        set={"epochs": 3},
                        measure=_READABLE,
                        **_SMALL,
                    ),
                )
            },
            about={"small": "an LSTM and a Transformer of three epochs, packaged reviews, 300 words"},
        ),
        _reviews(YELP, "yelp", "Yelp"),
        _reviews(_IMDB, "imdb-full", "a part of IMDB", recipes=_SPELLED),
        _beside_mpnet(YELP, "yelp", "Yelp"),
        _beside_mpnet(_IMDB, "imdb-full", "a part of IMDB"),
        ClaimStep(
            name=PAIRS,
            does={
                "small": (
                    order(
                        "study oneword",
                        models=("Pair-BiLSTM-Attention", "Pair-Transformer"),
                        data="entailment-synthetic",
                        set={"epochs": 3},
                        **_SMALL,
                    ),
                ),
                "full": (
                    commands.train("BERT", data="mnli", settings=FINE_TUNED, out="{here}/start/BERT"),
                    order(
                        "study oneword",
                        models=("Pair-BiLSTM-Attention", "{here}/start/BERT", "Pair-Transformer"),
                        data="mnli",
                        set={"limit": LENGTH, "near": 8},
                        **FULL,
                    ),
                ),
            },
            about={
                "small": "an LSTM and a Transformer on made pairs, 300 words",
                "full": "an LSTM, MiniLM, all of it fine-tuned, and a Transformer on a part of MNLI, 5,000 words",
            },
        ),
        ClaimStep(
            name="attention",
            does={
                "small": (
                    order(
                        "study attention",
                        models=("BiLSTM-Attention", "Transformer-3"),
                        data="mr",
                        n=60,
                        set={"vocabulary": 200},
                        jobs="{jobs}",
                        out="{here}",
                    ),
                ),
                "full": (
                    order(
                        "study attention",
                        data="yelp",
                        n=150,
                        set={"vocabulary": 5000},
                        jobs="{jobs}",
                        out="{here}",
                        models=(
                            "{root}/oneword/yelp/models/BiLSTM-Attention",
                            "{root}/oneword/yelp/models/Transformer-3",
                            "{root}/oneword/yelp/start/BERT",
                        ),
                    ),
                ),
            },
            about={
                "small": "an LSTM and a Transformer, packaged reviews, 200 words",
                "full": "the models of the one-word attacks on Yelp, 5,000 words",
            },
            needs=("oneword/yelp",),
        ),
        *translators.TRAINED,
        *(
            ClaimStep(
                name=f"translation/{kind}",
                does={size: _translate(size, typos) for size in translators.PAIRS},
                about=translators.ABOUT,
                needs=tuple(map(translators.step, translators.NAMES)),
            )
            for kind, typos in (("keyword", 0), ("typos", 1))
        ),
        *list_varied(_translate),
    ),
    claims=(
        Claim(
            id="S1",
            claim="one changed word: an LSTM falls more often than self-attention; the weakest word is worth most",
            theirs="Yelp, LSTM / BERT / not pre-trained: ASMAX-GR 62/17/35, GS-GR 79/52/53, GS-EC 78/50/53 (%)",
            steps=(*_REVIEWS, *ONE_WORD[YELP]),
            varies=tuple(ONE_WORD[YELP]),
            read=_one_word(*_REVIEWS),
            fails="on some data the LSTM falls less often than self-attention to the weakest word, or that word is "
            "worth less than the most attended one, beyond the intervals",
        ),
        Claim(
            id="S2",
            claim="the same of entailment",
            theirs="MultiNLI, LSTM / BERT: ASMAX-GR 78/54, GS-GR 95/75, GS-EC 95/75 (%)",
            steps=(PAIRS, *ONE_WORD[PAIRS], *SMALLER),
            varies=(*ONE_WORD[PAIRS], *SMALLER),
            read=_one_word(PAIRS),
            fails="the LSTM falls less often than self-attention, or the weakest word is worth less than the most "
            "attended one, beyond the intervals",
        ),
        Claim(
            id="S3",
            claim="GS-EC is as successful as GS-GR, closer, and reads better",
            theirs="readability .55 against 1.0; people right on 64.6% and 68.8%",
            steps=(*_COMPARED, NEAREST),
            varies=(NEAREST,),
            read=_nearer,
            fails="its texts have a larger perplexity or more mistakes than those of GS-GR, beyond the interval; that "
            "it is as successful and closer cannot fail here",
        ),
        Claim(
            id="S4",
            claim="three words force a keyword into a translation, of an LSTM more often than of a Transformer",
            theirs="27.5% against 10.5%",
            steps=("translation/keyword",),
            read=_keyword,
            fails="it is forced into the Transformer's more often, beyond the intervals",
        ),
        Claim(
            id="S5",
            claim="one typo a sentence lowers BLEU, of an LSTM more",
            theirs="LSTM 25.10 to 13.44, Transformer 34.90 to 26.02",
            steps=("translation/typos", *TYPOS),
            varies=tuple(TYPOS),
            read=_typos,
            fails="BLEU rises, or falls more for the Transformer, beyond the intervals",
        ),
        Claim(
            id="S6",
            claim="one changed word moves few states after the first layer of self-attention, all of an LSTM",
            theirs="R_e .83 LSTM, .56 BERT",
            steps=("attention", DEPTH),
            varies=(DEPTH,),
            read=_sparse,
            fails="the LSTM's last layer moves less, or other words behind its first layer, beyond the intervals",
        ),
        Claim(
            id="S7",
            claim="Theorem 1: attention scores move by at most C delta / sqrt(d) on average, with Markov's tail",
            theirs="proved",
            steps=("attention",),
            read=_theorem,
            fails="in some setting the mean is above the bound, or a tail above Markov's",
        ),
        Claim(
            id="S8",
            claim="under attack the attention of an LSTM shifts, that of BERT stays",
            theirs="Figures 1 to 3",
            steps=("attention",),
            read=_stays,
            fails="in the first layer less of the LSTM's attention moves, beyond the intervals",
        ),
    ),
)
