"""Presets: recipes with other defaults and names of their own, after another toolkit or the authors' code."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from malaprop.attacks.attack import Attack
from malaprop.attacks.recipes import chars, forms, masked, words


def preset(name: str, recipe: Callable[..., Attack], about: str, **settings: Any) -> Callable[..., Attack]:
    """Return the recipe with these settings as its defaults, which a caller can still override."""
    given = inspect.signature(recipe)
    own = [p.replace(default=settings.get(p.name, p.default)) for p in given.parameters.values()]
    if wrong := settings.keys() - given.parameters.keys():
        raise TypeError(f"{name}: {recipe.__name__} takes no {', '.join(sorted(wrong))}")

    def make(**more: Any) -> Attack:
        return replace(recipe(**{**settings, **more}), name=name)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = about
    vars(make)["__signature__"] = given.replace(parameters=own)
    return make


pwws_paper = preset(
    "pwws:paper",
    words.pwws,
    "Ren et al. 2019, without a fallback, proper nouns as nouns; OpenAttack's PWWS is this variant too.",
    fallback=False,
    proper=True,
)
pwws_textattack = preset(
    "pwws:textattack",
    words.pwws,
    "Ren et al. 2019 as TextAttack has it: synonyms of any part of speech, all queried at each step, which must gain.",
    peer=True,
    unknown="[UNK]",  # whatever the victim's own is
)
textfooler_paper = preset(
    "textfooler:paper",
    words.textfooler,
    "Jin et al. 2019 by the letter: words of a cosine of at least 0.7, sentence similarity for texts of any length.",
    cosine=0.7,
    least=0,
    among=None,
    fallback=False,
)
textfooler_original = preset(
    "textfooler:original",
    words.textfooler,
    "Jin et al. 2019 as the authors' code has it: a cosine of 0.5, no sentence similarity under 15 words.",
    among=None,
    fallback=False,
)
textfooler_textattack = preset(
    "textfooler:textattack",
    words.textfooler,
    "Jin et al. 2019 as TextAttack has it: as the authors' code, but words are ranked by the true label's loss alone.",
    among=None,
    peer=True,
)
genetic_paper = preset(
    "genetic:paper",
    words.genetic,
    "Alzantot et al. 2018 with the language model that keeps the likelier half of a word's neighbours.",
    language_model=True,
    until=False,
)
genetic_textattack = preset(
    "genetic:textattack",
    words.genetic,
    "Alzantot et al. 2018 as TextAttack has it: weaker parents are likelier, and children may exceed the share.",
    peer=True,
)
genetic_openattack = preset(
    "genetic:openattack",
    words.genetic,
    "Alzantot et al. 2018 as OpenAttack has it: no bound on how many words change.",
    share=1.0,
    until=False,
)
deepwordbug_textattack = preset(
    "deepwordbug:textattack",
    chars.deepwordbug,
    "Gao et al. 2018 as TextAttack has it: four random edits a word, tried once, and stop words stay.",
    fallback=False,
)
textbugger_textattack = preset(
    "textbugger:textattack",
    chars.textbugger,
    "Li et al. 2019 as TextAttack has it: look-alike letters, and of all that turn the label the most similar text.",
    peer=True,
)
textbugger_openattack = preset(
    "textbugger:openattack",
    chars.textbugger,
    "Li et al. 2019 as OpenAttack has it: without a sentence encoder, and one neighbour of a word.",
    similarity=None,
    neighbours=1,
)
pruthi_textattack = preset(
    "pruthi:textattack",
    chars.pruthi,
    "Pruthi et al. 2019 as TextAttack has it: one random letter added at each place, and more keys are neighbours.",
    peer=True,
)
morpheus_textattack = preset(
    "morpheus:textattack",
    forms.morpheus,
    "Tan et al. 2020 as TextAttack searches: the best inflection of all words at each step, whether it gains or not.",
    peer=True,
)
checklist_textattack = preset(
    "checklist:textattack",
    forms.checklist,
    "Ribeiro et al. 2020 as TextAttack searches: all remaining rewrites queried at each step, names place by place.",
    peer=True,
)
bad_characters_textattack = preset(
    "bad-characters:textattack",
    chars.bad_characters,
    "Boucher et al. 2022 as TextAttack has it by default: one homoglyph in a text; it ends when the goal is reached.",
    kinds="homoglyphs",
    most=1,
)
faster_genetic_textattack = preset(
    "faster-genetic:textattack",
    words.faster_genetic,
    "Jia et al. 2019 as TextAttack has it: weaker parents are likelier, and children may exceed the share.",
    peer=True,
)
iga_textattack = preset(
    "iga:textattack",
    words.iga,
    "Wang et al. 2021 as TextAttack has it: neighbours of the word that stands there by now, weaker parents likelier.",
    peer=True,
)
pso_textattack = preset(
    "pso:textattack",
    words.pso,
    "Zang et al. 2020 as TextAttack has it: the best replacements are queried again for every text that mutates.",
    anew=True,
)
kuleshov_textattack = preset(
    "kuleshov:textattack",
    words.kuleshov,
    "Kuleshov et al. 2018 as TextAttack has it: success is a true label's probability below 0.7.",
    peer=True,
)
input_reduction_textattack = preset(
    "input-reduction:textattack",
    words.input_reduction,
    "Feng et al. 2018 as TextAttack has it: places are ranked once, and words go one by one; no beam.",
    peer=True,
)
bae_textattack = preset(
    "bae:textattack",
    masked.bae,
    "Garg and Ramakrishnan 2020 as TextAttack has it: the text is read as changed so far; a similarity of 0.936.",
    similarity=0.936338023,
    peer=True,
)
bert_attack_textattack = preset(
    "bert-attack:textattack",
    masked.bert_attack,
    "Li et al. 2020 as TextAttack has it: 8 words a place, the text read as changed so far.",
    count=8,
    peer=True,
)
clare_textattack = preset(
    "clare:textattack",
    masked.clare,
    "Li et al. 2021 as TextAttack has it: all moves are queried again after each one.",
    peer=True,
)
viper_openattack = preset(
    "viper:openattack",
    chars.viper,
    "Eger et al. 2019 as OpenAttack has it by default: one neighbour of each letter, the letter with an accent.",
    near=1,
)
