"""The services that attacks ask, such as the victim, encoders and taggers; each is loaded at its first use."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from malaprop.attacks.candidates.lookup import SERVICE as SYNONYMS
from malaprop.attacks.candidates.lookup import Thesaurus
from malaprop.attacks.constraints.language import LOG_PROBABILITY
from malaprop.attacks.encoders import ENCODERS, TOKENS, service_of
from malaprop.core.ask import MASKED_LM, NEXT_WORD, PARSER, TRANSLATOR, WRITER
from malaprop.core.budget import BudgetClient
from malaprop.core.capability import Capability
from malaprop.core.errors import SettingError, VictimError
from malaprop.core.judgement import JUDGE
from malaprop.core.text import Text
from malaprop.core.victim import Victim
from malaprop.engine.paid import Charged, Counted, Paid
from malaprop.engine.service import (
    FunctionService,
    GradientService,
    InsightService,
    Scoring,
    Service,
    UncachedScoring,
    count_texts,
)
from malaprop.frame.runs.judges import Find, open_named
from malaprop.frame.runs.victims import victim as victim_of


@cache
def _tagger() -> Any:
    from malaprop.assets.tagger import open_tagger

    return open_tagger("light")  # the same tags with and without spaCy installed, at a tenth of its time


@cache
def _encoder(name: str, device: str = "cpu") -> Any:
    from malaprop.models.encoders.encoder import open_encoder

    return open_encoder(name, device=device)


@cache
def _language_model() -> Any:
    from malaprop.models.encoders.language_model import open_language_model

    return open_language_model()


@cache
def _masked_lm(name: str, device: str) -> Any:
    from malaprop.models.encoders.masked_lm import open_masked_lm

    return open_masked_lm(name, device=device)


@cache
def _filling(name: str, device: str) -> Service:
    """Return a masked language model on a device, opened at its first use."""
    return FunctionService(lambda clozes: _masked_lm(name, device).fill(clozes), size=lambda cloze: len(cloze.text))


@cache
def _judge(device: str) -> Any:
    from malaprop.models.encoders.judge import open_judge

    return open_judge(device=device)


@cache
def _judging(device: str) -> Service:
    """Return the packaged judge of meaning on a device, opened at its first use."""
    return FunctionService(lambda asked: _judge(device).kept(asked), size=lambda one: len(one.changed))


def _open_for_all(opener: Any, name: str, device: str) -> Any:
    """Open a model that every example asks: where it cannot be opened, none can be attacked and the run ends."""
    try:
        return opener(name, device=device)
    except VictimError as error:
        raise SettingError(str(error)) from None


@cache
def _translator(name: str, device: str) -> Any:
    from malaprop.frame.rooms import added, load
    from malaprop.models.translators import open_command

    if (found := open_command(name)) is not None:
        return found
    for place in added("translators").values():
        return _open_for_all(load(place), name, device)
    raise SettingError(f"no translator is called {name!r}; expected fast:en-pt or command:PROGRAM ARGUMENTS")


@cache
def _translating(name: str, device: str) -> Service:
    """Return a translator, opened at its first use."""
    return FunctionService(lambda texts: _translator(name, device).translate(texts), size=len)


@cache
def _writer(name: str, device: str) -> Any:
    from malaprop.models.llm.write import open_writer

    return _open_for_all(open_writer, name, device)


@cache
def _writing(name: str, device: str) -> Service:
    """Return a language model that answers prompts, opened at its first use."""
    return FunctionService(lambda prompts: _writer(name, device).write(prompts))


# services of which there are others by name, as masked-lm:NAME
_BY_NAME = {MASKED_LM: _filling, TRANSLATOR: _translating, WRITER: _writing}


class Services(dict[str, Service]):
    """Services by name; a masked language model, a writer and the like is added when its name is first looked up.

    `find` loads the models that a judge asks; where a run counts queries, it counts theirs too.
    """

    device = "cpu"
    find: Find | None = None
    purse: BudgetClient | None = None  # the run's budget, which answers of a writer are charged to

    def get(self, name: str, default: Any = None) -> Any:
        kind, colon, rest = name.partition(":")
        if name not in self and colon and kind in _BY_NAME:
            found = _BY_NAME[kind](rest, self.device)
            self[name] = Charged(found, self.purse) if kind == WRITER and self.purse is not None else found
        if name not in self and colon and kind == JUDGE:
            find = self.find or partial(victim_of, device=self.device)
            judge = open_named(rest, lambda: _judge(self.device), find)
            self[name] = FunctionService(judge.kept, size=lambda one: len(one.changed))
        return super().get(name, default)


@cache
def _grammar() -> Any:
    from malaprop.assets.measures import open_checker

    return open_checker()


def _parse(texts: Sequence[str]) -> list[Any]:
    """Return the tokens of each sentence; nothing where no parser is installed."""
    from malaprop.assets.parser import open_parser

    parser = open_parser()
    return [()] * len(texts) if parser is None else parser.parse(texts)


def _count_slips(texts: Sequence[str]) -> list[int]:
    from malaprop.assets.inflection import count_slips
    from malaprop.assets.wordnet import open_wordnet

    return [count_slips(open_wordnet(), text) for text in texts]


def tags(texts: Sequence[Text]) -> list[list[str]]:
    """Return the part of speech of every slot; each field is tagged on its own."""
    strings: list[str] = []
    spans: list[list[tuple[int, int]]] = []
    for text in texts:
        rows: list[list[tuple[int, int]]] = [[] for _ in text.names]
        for field, span in zip(text.field_of_slots().tolist(), text.spans(), strict=True):
            rows[field].append(span)
        strings += text.values()
        spans += rows
    found = iter(_tagger().tags(strings, spans))
    return [[tag for _ in text.names for tag in next(found)] for text in texts]


@cache
def shared() -> dict[str, Service]:
    """Return the services that do not depend on the victim; their memory serves every run of the process."""
    return {
        "tags": FunctionService(
            tags, key=lambda text: (text.values(), tuple(text.spans())), size=lambda text: text.slots
        ),
        **{service_of(name): _encoding(name, "cpu") for name in ENCODERS},
        **{f"{service_of(name)}/rough": _sketching(name, "cpu") for name in ENCODERS},
        "language-model": FunctionService(lambda texts: _language_model().perplexity(texts).tolist(), size=len),
        LOG_PROBABILITY: FunctionService(lambda texts: _language_model().log_probability(texts).tolist(), size=len),
        NEXT_WORD: FunctionService(lambda asks: _language_model().next_words(asks), size=lambda ask: len(ask.text)),
        SYNONYMS: Thesaurus(),
        "grammar": FunctionService(lambda texts: _grammar().mistakes(texts)),
        "agreement": FunctionService(_count_slips),
        TOKENS: _encoding_tokens("cpu"),
        MASKED_LM: _filling("", "cpu"),
        JUDGE: _judging("cpu"),
        PARSER: FunctionService(_parse, size=len),
    }


@cache
def _encoding(name: str, device: str) -> Service:
    """Return a sentence encoder on a device, opened at its first use."""
    return FunctionService(lambda texts: _encoder(name, device).encode(texts), size=len)


@cache
def _encoding_tokens(device: str) -> Service:
    """Return the service that gives MiniLM's vectors of a text's tokens."""
    return FunctionService(lambda texts: _encoder("minilm", device).encode_tokens(texts), size=len, remember=2_000)


@cache
def _sketching(name: str, device: str) -> Service:
    """Return a faster, approximate encoder for choices that rough vectors settle; `use` has none and stays exact."""
    if name == "use":
        return _encoding(name, device)
    return FunctionService(lambda texts: _encoder(name, device).sketch(texts), size=len)


def shared_on(device: str) -> Services:
    """Return the services that do not depend on the victim, with the models among them on this device."""
    made = Services(shared())
    if device.startswith("cuda"):
        made.device = device
        made[MASKED_LM] = _filling("", device)
        made[JUDGE] = _judging(device)
        made[TOKENS] = _encoding_tokens(device)
        for name in ENCODERS:
            made[service_of(name)] = made[f"{service_of(name)}/rough"] = _encoding(name, device)
    return made


def services(victim: Victim) -> Services:
    """Return all services for attacks on one victim; gradients, attention and the like only if it offers them."""
    scoring, parts = Scoring(victim), victim.parts
    made = shared_on(victim.device)
    made |= {"victim": scoring, "verify": UncachedScoring(victim)}
    if (gradients := parts.get(Capability.GRADIENTS)) is not None:
        made["gradient"] = GradientService(gradients, scoring)
    if (attention := parts.get(Capability.ATTENTION)) is not None:
        made["attention"] = InsightService(lambda looks: attention.focus(looks), scoring)
    if (embeddings := parts.get(Capability.EMBEDDINGS)) is not None:
        made["embeddings"] = InsightService(lambda looks: embeddings.apart(looks), scoring)
        made["toward"] = InsightService(lambda looks: embeddings.toward(looks), scoring)
    if (padding := parts.get(Capability.PADDING)) is not None:
        made["padding"] = InsightService(lambda looks: padding.blanked(looks), scoring)
    if isinstance(victim, Paid) and (client := victim.purse) is not None:
        made.purse = client
        inner = {name: made[name] for name in ("attention", "embeddings", "toward", "padding") if name in made}
        made |= {name: Counted(service, client, count_texts) for name, service in inner.items()}
        made |= {"gradient": Counted(made["gradient"], client)} if "gradient" in made else {}
    return made
