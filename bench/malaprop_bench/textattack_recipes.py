"""Build TextAttack's own recipes, with our resources in place of its downloads.

Run by the peer's Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from malaprop_bench.nltk_data import read_wordnets
from malaprop_bench.roster import TEXTATTACK, find


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """The resources of a recipe: our stop words, and the folder of our masked language model."""

    stop_words: Sequence[str] | None = None
    masked_lm: Path | None = None


def build_recipe(recipe: str, model: Any, given: Resources) -> Any:
    """Build a recipe by its name in `roster`."""
    stand_in_taggers()
    stand_in_homoglyphs()
    made = OWN[recipe](model) if recipe in OWN else _stock(recipe, model, given)
    return _agree(made, model, given.stop_words)


def _stock(recipe: str, model: Any, given: Resources) -> Any:
    """Build a recipe by its own class, after replacing the names that would download something."""
    entry = find(TEXTATTACK, recipe)
    assert entry is not None
    module = _module_of(entry.theirs)
    for name, stand_in in _stand_ins(given).items():
        if hasattr(module, name):
            setattr(module, name, stand_in)
    return getattr(module, entry.theirs).build(model)


def _module_of(name: str) -> Any:
    return import_module(getattr(import_module("textattack.attack_recipes"), name).__module__)


def _stand_ins(given: Resources) -> dict[str, Any]:
    """Return our replacements by the names that recipes import."""
    transformations = import_module("textattack.transformations")
    encoder = encoder_class()
    out: dict[str, Any] = {
        "UniversalSentenceEncoder": encoder,
        "SBERT": lambda model_name, **more: encoder(**more),  # noqa: ARG005
        "GPT2": no_constraint,
        "LearningToWriteLanguageModel": no_constraint,
        "WordSwapHowNet": partial(_by_part, transformations.WordSwapHowNet),
        "WordSwapWordNet": partial(_in_language, transformations.WordSwapWordNet),
        "ChineseWordSwapHowNet": partial(_swap, _chinese_synonyms),
        "ChineseWordSwapMaskedLM": partial(_swap, lambda word: []),  # noqa: ARG005
        "ChineseHomophoneCharacterSwap": partial(_swap, _chinese_homophones),
    }
    if given.masked_lm is not None:
        import transformers

        folder = str(given.masked_lm)
        load_model = transformers.AutoModelForMaskedLM.from_pretrained
        load_tokenizer = transformers.AutoTokenizer.from_pretrained
        out["WordSwapMaskedLM"] = partial(_with_default, transformations.WordSwapMaskedLM, folder)
        out["transformers"] = SimpleNamespace(
            AutoModelForCausalLM=SimpleNamespace(from_pretrained=lambda _: load_model(folder)),
            AutoTokenizer=SimpleNamespace(from_pretrained=lambda _: load_tokenizer(folder)),
        )
    return out


def _with_default(kind: Callable[..., Any], folder: str, **given: Any) -> Any:
    return kind(**{"masked_language_model": folder, **given})


def _in_language(kind: Any, language: str = "eng") -> Any:
    """Return TextAttack's WordNet transformation in a language that NLTK has read, by NLTK's code for it."""
    if language != "eng":
        read_wordnets()
    return kind({"esp": "spa"}.get(language, language))


def _swap(find: Callable[[str], Sequence[str]]) -> Any:
    """Return a transformation that puts what `find` gives in a word's place."""
    base: Any = import_module("textattack.transformations").WordSwap

    class Swap(base):  # type: ignore[misc,unused-ignore]
        def _get_replacement_words(self, word: str) -> list[str]:
            return list(find(word))

    return Swap()


def _chinese_synonyms(word: str, most: int = 5) -> Sequence[str]:
    """Return as many of our synonyms as the recipe takes of HowNet's nearest words."""
    from malaprop.assets.languages import open_language

    return open_language("zh").synonyms(word, wide=True)[:most]


def _chinese_homophones(word: str, most: int = 3) -> list[str]:
    """Return the word with each of its characters in turn as one of the first that sound alike, as the recipe does."""
    table = import_module("malaprop.assets.chinese").homophones()
    return [
        word[:place] + other + word[place + 1 :]
        for place, sign in enumerate(word)
        for other in table.get(sign, ())[:most]
    ]


def no_constraint(**_: Any) -> Any:
    """Return a constraint that every text passes, in place of one that is left out."""
    base: Any = import_module("textattack.constraints").Constraint

    class Free(base):  # type: ignore[misc,unused-ignore]
        def _check_constraint(self, text: Any, original: Any) -> bool:  # noqa: ARG002
            return True

    return Free(compare_against_original=True)


def encoder_class() -> Any:
    """Return our sentence encoder as a TextAttack constraint; windows, thresholds and metrics are TextAttack's own.

    The transformers library computes it, as in TextAttack.
    """
    base: Any = import_module("textattack.constraints.semantics.sentence_encoders").SentenceEncoder
    from malaprop.assets import store
    from malaprop.models.encoders.encoder import SentenceEncoder

    encoder = SentenceEncoder(store.locate("minilm"), fast=False)

    class Encoder(base):  # type: ignore[misc,unused-ignore]
        def encode(self, sentences: list[str]) -> Any:
            return encoder.encode(sentences)

    return Encoder


def stand_in_taggers() -> None:
    """Put NLTK's tagger in place of flair's and lists of names in place of its recogniser: both would be downloaded."""
    texts = import_module("textattack.shared.attacked_text").AttackedText
    texts.pos_of_word_index, texts.ner_of_word_index = _tag_of_word, _entity_of_word


def _tag_of_word(text: Any, index: int) -> str:
    """Return the universal part-of-speech tag of a word in its text."""
    import nltk  # type: ignore[import-untyped,import-not-found,unused-ignore]

    if "universal_tags" not in text.attack_attrs:
        text.attack_attrs["universal_tags"] = [tag for _, tag in nltk.pos_tag(text.words, tagset="universal")]
    return str(text.attack_attrs["universal_tags"][index])


def _entity_of_word(text: Any, index: int, model_name: str = "") -> SimpleNamespace:
    """Return the entity type of a word, person or place, if lists of names have it in any case.

    Of English those are ours, of other languages TextAttack's own.
    """
    if model_name.startswith("flair/"):
        return _foreign_entity(text.words[index], "french" if "french" in model_name else "spanish")
    alike = import_module("malaprop.assets.alike")

    def has(groups: Sequence[Sequence[str]]) -> bool:
        return any(word == name.lower() for group in groups for name in group)

    word = text.words[index].lower()
    kind = "S-PER" if has(alike.names()) else "S-LOC" if has(alike.places()) else "O"
    return SimpleNamespace(value=kind, score=1.0)


def _foreign_entity(word: str, language: str) -> SimpleNamespace:
    data = import_module("textattack.shared.data")
    people = {*data.PERSON_NAMES[f"first-{language}"], *data.PERSON_NAMES[f"last-{language}"]}
    places = {*data.NAMED_ENTITIES[f"country-{language}"], *data.NAMED_ENTITIES["city"]}
    kind = "S-PER" if word in people else "S-LOC" if word in places else "O"
    return SimpleNamespace(value=kind, score=1.0)


def stand_in_homoglyphs() -> None:
    """Write the table of homoglyphs that TextAttack opens but its wheel lacks, from its own pairs."""
    module: Any = import_module("textattack.transformations.word_swaps.word_swap_homoglyph_swap")
    kind = module.WordSwapHomoglyphSwap
    if getattr(kind, "complete", False):
        return
    plain = kind.__init__

    def begin(self: Any, *args: Any, **given: Any) -> None:
        module.open = lambda *_, **__: StringIO("")
        plain(self, *args, **given)
        self.homos_intentional = {letter: [other] for letter, other in self.homos.items()}

    kind.__init__, kind.complete = begin, True


def _by_part(kind: Any) -> Any:
    """Return TextAttack's HowNet transformation with WordNet's synonyms of a word's part of speech."""
    made = kind.__new__(kind)
    made.max_candidates, made.candidates_bank = -1, Synonyms()
    made.pos_dict = {"ADJ": "a", "NOUN": "n", "ADV": "r", "VERB": "v"}
    return made


class Synonyms(dict[str, Any]):
    """Synonyms by word and part of speech, looked up at first use."""

    def __missing__(self, word: str) -> dict[str, list[str]]:
        from nltk.corpus import wordnet  # type: ignore[import-untyped,import-not-found,unused-ignore]

        found: dict[str, list[str]] = {
            part: sorted(
                {n for sense in wordnet.synsets(word, pos=part) for n in sense.lemma_names() if "_" not in n} - {word}
            )
            for part in "anrv"
        }
        self[word] = found
        return found


def _textfooler(model: Any, *, tagged: bool = True, similar: bool = False) -> Any:
    """Build TextFooler without a sentence encoder, which ours leaves out as well, or with ours."""
    t = _parts()
    rules = [t.RepeatModification(), t.StopwordModification(), t.WordEmbeddingDistance(min_cos_sim=0.5)]
    rules += [t.PartOfSpeech(allow_verb_noun_swap=True)] if tagged else []
    rules += [sentence_constraint()] if similar else []
    search = t.GreedyWordSwapWIR(wir_method="delete")
    return t.Attack(t.UntargetedClassification(model), rules, t.WordSwapEmbedding(max_candidates=50), search)


def _genetic(model: Any) -> Any:
    """Build the genetic attack without its language model, which ours leaves out as well."""
    t = _parts()
    near = t.WordEmbeddingDistance(max_mse_dist=0.5, compare_against_original=False)
    rules = [t.RepeatModification(), t.StopwordModification(), t.MaxWordsPerturbed(max_percent=0.2), near]
    search = t.AlzantotGeneticAlgorithm(pop_size=60, max_iters=20, post_crossover_check=False)
    return t.Attack(t.UntargetedClassification(model), rules, t.WordSwapEmbedding(max_candidates=8), search)


def _morpheus(model: Any) -> Any:
    """Build Morpheus against a classifier; TextAttack's attacks a translator."""
    t = _parts()
    rules = [t.RepeatModification(), t.StopwordModification()]
    return t.Attack(t.UntargetedClassification(model), rules, t.WordSwapInflections(), t.GreedySearch())


def _bad_characters(model: Any) -> Any:
    """Build the homoglyph attack towards the other label of two: an attack for each label."""
    recipe = import_module("textattack.attack_recipes").BadCharacters2021
    by_label = [recipe.build(model, "targeted_classification", target_class=1 - label) for label in (0, 1)]
    return ByLabel(by_label)


class ByLabel:
    """An attack for each label of the text."""

    def __init__(self, attacks: Sequence[Any]) -> None:
        self.attacks = attacks
        self.pre_transformation_constraints: list[Any] = []

    def attack(self, text: str, label: int) -> Any:
        return self.attacks[label].attack(text, label)

    def clear_cache(self) -> None:
        for attack in self.attacks:
            attack.clear_cache()


OWN: dict[str, Callable[[Any], Any]] = {
    "textfooler": _textfooler,
    "textfooler-untagged": partial(_textfooler, tagged=False),
    "textfooler-similar": partial(_textfooler, similar=True),
    "genetic": _genetic,
    "morpheus": _morpheus,
    "bad-characters": _bad_characters,
}


def _parts() -> SimpleNamespace:
    """Return the classes of TextAttack that these recipes use."""
    where = {
        "textattack": ("Attack",),
        "textattack.constraints.grammaticality": ("PartOfSpeech",),
        "textattack.constraints.overlap": ("MaxWordsPerturbed",),
        "textattack.constraints.pre_transformation": ("RepeatModification", "StopwordModification"),
        "textattack.constraints.semantics": ("WordEmbeddingDistance",),
        "textattack.goal_functions": ("UntargetedClassification",),
        "textattack.search_methods": ("AlzantotGeneticAlgorithm", "GreedySearch", "GreedyWordSwapWIR"),
        "textattack.transformations": ("WordSwapEmbedding", "WordSwapInflections"),
    }
    return SimpleNamespace(
        **{name: getattr(import_module(module), name) for module, names in where.items() for name in names}
    )


def sentence_constraint(floor: float = 0.7, least: int = 15) -> Any:
    """Return our sentence encoder as a TextAttack constraint, with the defaults of our textfooler."""
    from textattack.constraints import Constraint  # type: ignore[import-not-found,unused-ignore]

    from malaprop.assets import store
    from malaprop.models.encoders.encoder import SentenceEncoder

    encoder = SentenceEncoder(store.locate("minilm"), fast=False)

    class Similar(Constraint):  # type: ignore[misc,unused-ignore]
        def _check_constraint_many(self, texts: list[Any], original: Any) -> list[Any]:
            if len(original.words) < least or not texts:
                return texts
            first, *rest = encoder.encode([text.text for text in (original, *texts)])
            for text, vector in zip(texts, rest, strict=True):
                text.attack_attrs["similarity_score"] = float(first @ vector)
            return [text for text in texts if text.attack_attrs["similarity_score"] >= floor]

        def _check_constraint(self, text: Any, original: Any) -> bool:
            return bool(self._check_constraint_many([text], original))

    return Similar(compare_against_original=True)


def _agree(attack: Any, model: Any, stop_words: Sequence[str] | None) -> Any:
    """Let both tools change the same words, and replace words by the victim's own token for unknown ones."""
    unknown = getattr(model.model, "unknown", None) or getattr(getattr(model, "tokenizer", None), "unk_token", None)
    search: Any = getattr(attack, "search_method", None)
    if unknown and hasattr(search, "unk_token"):
        search.unk_token = unknown  # its own [UNK] is three words to a victim that reads words
    if stop_words is not None:
        for constraint in attack.pre_transformation_constraints:
            if type(constraint).__name__ == "StopwordModification":
                constraint.stopwords = set(stop_words)
    return attack
