"""Every recipe of TextAttack 0.3.11 and OpenAttack 2.1.1, our recipe for the same attack, and where the two differ.

This list serves `malaprop bench --attack`, the table of recipes and the figures on each recipe's page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

TEXTATTACK, OPENATTACK = "TextAttack", "OpenAttack"
_ENCODER = "MiniLM in place of the Universal Sentence Encoder, on both sides"
_FIRST = (
    "theirs asks the encoder about every change before it asks the victim, ours about those alone that would be taken"
)
_MASKED = "our masked language model in place of BERT-base, on both sides"


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerRecipe:
    """One recipe of one tool, `name` on the command line and `theirs` in the tool.

    `ours` with `settings`, less the constraints named in `without`, is the recipe of the library that searches as the
    tool does. `exact` says that both are deterministic, so that they should end alike, text for text. `differs` gives
    the differences in words, `missing` the reason why the tool's recipe cannot run.
    """

    tool: str
    name: str
    theirs: str
    ours: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    exact: bool = False
    differs: str = ""
    missing: str = ""
    language: str = "en"  # of the texts that it is for

    @property
    def recipe(self) -> str:
        """Return our recipe's name without the preset, as users run it."""
        return self.ours.partition(":")[0]


def _textattack() -> Iterator[PeerRecipe]:
    def one(name: str, theirs: str, ours: str = "", **more: Any) -> PeerRecipe:
        return PeerRecipe(tool=TEXTATTACK, name=name, theirs=theirs, ours=ours, **more)

    bare = "without a language model, on both sides"
    yield one("pwws", "PWWSRen2019", "pwws:textattack", settings={"unknown": None}, exact=True)
    yield one(
        "textfooler",
        "TextFoolerJin2019",
        "textfooler:textattack",
        settings={"similarity": None},
        differs="without a sentence encoder, on both sides; ours has a word's part of speech from WordNet, theirs from "
        "tagging each changed text",
    )
    yield one("genetic", "GeneticAlgorithmAlzantot2018", "genetic:textattack", differs=f"random; {bare}")
    yield one("deepwordbug", "DeepWordBugGao2018", "deepwordbug:textattack", differs="random")
    yield one(
        "bae",
        "BAEGarg2019",
        "bae:textattack",
        differs=f"{_MASKED}; {_ENCODER}; {_FIRST}; theirs compares a window of 15 words, and has parts of speech from "
        "tagging each changed text",
    )
    yield one("bert-attack", "BERTAttackLi2020", "bert-attack:textattack", exact=True, differs=f"{_MASKED}; {_ENCODER}")
    yield one("clare", "CLARE2020", "clare:textattack", differs=f"{_MASKED}; {_ENCODER}")
    yield one(
        "a2t",
        "A2TYoo2021",
        "a2t",
        differs="MiniLM in place of a DistilBERT of its own, on both sides; ours has parts of speech from WordNet",
    )
    yield one("textbugger", "TextBuggerLi2018", "textbugger:textattack", differs=f"random; {_ENCODER}; {_FIRST}")
    yield one("pruthi", "Pruthi2019", "pruthi:textattack", differs="inserted letters are random")
    yield one(
        "faster-genetic",
        "FasterGeneticAlgorithmJia2019",
        "faster-genetic:textattack",
        without=("LikelyInPlace",),
        differs=f"random; {bare}",
    )
    yield one("iga", "IGAWang2019", "iga:textattack", differs="random")
    yield one(
        "pso", "PSOZang2020", "pso:textattack", differs="random; WordNet's synonyms in place of HowNet's, on both sides"
    )
    yield one("kuleshov", "Kuleshov2017", "kuleshov:textattack", without=("LikelyNext",), exact=True, differs=bare)
    yield one(
        "input-reduction",
        "InputReductionFeng2018",
        "input-reduction:textattack",
        exact=True,
    )
    yield one(
        "checklist", "CheckList2020", "checklist", differs="random; names and places by our own tables, on both sides"
    )
    yield one(
        "morpheus",
        "MorpheusTan2020",
        "morpheus:textattack",
        differs="against a classifier, on both sides, where theirs wants a translator",
    )
    yield one("seq2sick", "Seq2SickCheng2018BlackBox", "seq2sick", missing="it attacks translators alone")
    yield one(
        "bad-characters",
        "BadCharacters2021",
        "bad-characters:textattack",
        differs="random; the other label is the target",
    )
    yield one(
        "leap-swarm",
        "LEAP2023",
        "pso",
        differs="random; another attack than our `leap`: a particle swarm with Lévy flights, beside ours without them",
    )
    yield one(
        "hotflip",
        "HotFlipEbrahimi2017",
        "hotflip-word",
        missing="it reads the gradients of TextAttack's own LSTM alone; both on that one: "
        "[HotFlip](claims/hotflip.md#study)",
    )
    lists = "names and places by its own lists, as its recognisers would be downloaded"
    yield one("french", "FrenchRecipe", "pwws:textattack", language="fr", differs=lists)
    yield one(
        "spanish",
        "SpanishRecipe",
        "pwws:textattack",
        language="es",
        differs=f"theirs asks NLTK for the language `esp`, which is none, so it gets `spa` here; {lists}",
    )
    yield one(
        "chinese",
        "ChineseRecipe",
        "zh-mixed",
        language="zh",
        differs="five of our synonyms in place of HowNet's, three of our homophones for a character in place of a "
        "table that its package lacks, and no XLM-R; what stands for them would be downloaded",
    )


def _openattack() -> Iterator[PeerRecipe]:
    def one(name: str, theirs: str, ours: str = "", **more: Any) -> PeerRecipe:
        return PeerRecipe(tool=OPENATTACK, name=name, theirs=theirs, ours=ours, **more)

    again = "OpenAttack writes a text anew from its tokens in lower case, so texts differ"
    yield one("pwws", "PWWSAttacker", "pwws:paper", differs=again)
    yield one(
        "textfooler",
        "TextFoolerAttacker",
        "textfooler:original",
        settings={"similarity": None},
        differs=f"without a sentence encoder, on both sides; {again}",
    )
    yield one("genetic", "GeneticAttacker", "genetic:openattack", differs="random")
    yield one(
        "deepwordbug",
        "DeepWordBugAttacker",
        "deepwordbug",
        differs="random; theirs changes five words at once and asks once",
    )
    yield one("bae", "BAEAttacker", "bae", differs=f"{_MASKED}; {_ENCODER}; {again}")
    yield one("bert-attack", "BERTAttacker", "bert-attack", differs=f"{_MASKED}; {again}")
    yield one("pso", "PSOAttacker", "pso", differs="random; WordNet's synonyms in place of HowNet's, on both sides")
    yield one("textbugger", "TextBuggerAttacker", "textbugger:openattack", differs="random")
    yield one("viper", "VIPERAttacker", "viper:openattack", differs="random; accents are chosen by another table")
    yield one("fd", "FDAttacker", "fd", differs="random")
    yield one(
        "hotflip",
        "HotFlipAttacker",
        "hotflip-word",
        differs="theirs asks no gradient: it tries WordNet's synonyms in turn, and the last of each word stays",
    )
    yield one("trigger", "UATAttacker", "trigger", differs="theirs follows gradients")
    yield one(
        "geometry",
        "GEOAttacker",
        "geometry",
        missing="it cannot be imported with torch 1.9 or later; OpenAttack leaves it out",
    )
    for name, theirs, ours in (
        ("pwws", "PWWSAttacker", "pwws:textattack"),
        ("textfooler", "TextFoolerAttacker", "textfooler"),
        ("pso", "PSOAttacker", "pso"),
    ):
        more = "; without a sentence encoder, on both sides" if name == "textfooler" else ""
        yield one(
            f"chinese-{name}",
            theirs,
            ours,
            settings={"similarity": None} if more else {},
            language="zh",
            differs=f"theirs has the synonyms of Open Multilingual WordNet by jieba's part of speech{more}",
        )
    yield one(
        "chinese-pwws-cilin",
        "PWWSAttacker",
        "pwws:textattack",
        language="zh",
        differs="theirs with our Cilin in place of the one that it would download",
    )
    yield one("gan", "GANAttacker", missing="the weights of its generator, which are not to be had here")
    yield one("scpn", "SCPNAttacker", missing="the weights of its paraphrase model, which are not to be had here")


ROSTER: tuple[PeerRecipe, ...] = (*_textattack(), *_openattack())


def language_of(recipe: str) -> str:
    """Return the language of the texts that a peer's recipe is for."""
    return next((one.language for one in ROSTER if one.name == recipe), "en")


def names_of(tool: str) -> tuple[str, ...]:
    """Return the names of the tool's recipes that can run here."""
    return tuple(one.name for one in ROSTER if one.tool == tool and not one.missing)


def find(tool: str, name: str) -> PeerRecipe | None:
    """Return the tool's recipe of that name, or None if it has none that can run."""
    return next((one for one in ROSTER if (one.tool, one.name) == (tool, name) and not one.missing), None)
