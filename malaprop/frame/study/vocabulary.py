"""The vocabulary of options: an option of several commands has one name, one help text and one section of `--help`.

An option finds its entry by its name; a command may override the help in its own settings class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# the sections of --help, in their order
VICTIMS, HOW, TEXTS, LIMITS, MACHINE, OUTPUT = SECTIONS = (
    "What is attacked", "How", "Which examples", "Limits", "Where it runs", "Output",
)  # fmt: skip

VICTIM = (
    "The model: a function, folder, name or address. module:attribute (a function: list of "
    "texts to scores), a folder written by train, a zoo name (LSTM-W-GloVe-1, BERT ...), an http(s) address, a "
    "Hugging Face folder or hub name, an ONNX file or folder, an sklearn pipeline (.skops), a language model with a "
    "prompt (causal:FOLDER, causal:smollm2, openai:MODEL@http://host/v1), ensemble:A+B, or any of these behind a "
    "defence: five(BERT)."
)
SEVERAL = "Repeat it, or separate several by commas."
ATTACK = "Recipes such as pwws or textfooler. See malaprop list recipes."
ATTACKS = f"Recipes and suites, such as pwws or quick. See malaprop list recipes and list suites. {SEVERAL}"


@dataclass(frozen=True, slots=True)
class Term:
    """The section and help of an option; only --help-all shows `rare` ones."""

    section: str
    help: str = ""
    rare: bool = False


def look_up(name: str) -> Term:
    """Return the entry of a name; an option without one belongs to the section "How"."""
    return VOCABULARY.get(name, Term(HOW))


VOCABULARY: Mapping[str, Term] = {
    # what is attacked
    "victim": Term(VICTIMS, VICTIM),
    "defence": Term(
        VICTIMS,
        "A defence around the victim, such as five. Settings after colons: fuse:samples=8:seed=fresh; none for none. "
        "See malaprop list defences.",
    ),
    "labels": Term(
        VICTIMS,
        "The victim's labels in its order. By the names that the data has, with commas; matched by name if not given.",
    ),
    "prompt": Term(VICTIMS),
    "shots": Term(VICTIMS, rare=True),
    "label_words": Term(VICTIMS, rare=True),
    "panel": Term(VICTIMS, rare=True),
    "train_data": Term(VICTIMS, rare=True),
    "train_set": Term(VICTIMS, rare=True),
    "zoo": Term(VICTIMS, rare=True),
    # how
    "attack": Term(HOW, ATTACK),
    "set": Term(HOW, "A setting of the recipe, as name=value. May be repeated."),
    "budget": Term(HOW, "Query budget: the most queries for one text."),
    "measure": Term(HOW, rare=True),
    "keep": Term(HOW, rare=True),
    # which examples
    "data": Term(
        TEXTS,
        "A dataset's name, a file, or hub:NAME. mr, imdb, entailment-synthetic, a CSV/TSV/JSONL/Parquet file with "
        "text,label (or premise,hypothesis,label), or hub:NAME.",
    ),
    "split": Term(
        TEXTS,
        "train, validation, test or all. Of a file auto is the test part where a victim was trained on that file, and "
        "all of it where none was.",
    ),
    "n": Term(TEXTS, "How many texts, drawn by the seed. all (or 0) takes all."),
    "seed": Term(TEXTS, "The same seed gives the same outcomes."),
    "text_column": Term(TEXTS, "The text column, if not text. Two names with a comma for pairs."),
    "label_column": Term(TEXTS, "The label column, if not label."),
    "fields": Term(
        TEXTS,
        "The fields of a text that may change: premise, hypothesis or both; of a pair the hypothesis if not given. "
        "prompt is the instruction of a language model, changed once for all texts.",
        rare=True,
    ),
    # limits
    "max_queries": Term(LIMITS, "The most queries of the whole run. Over all victims and attacks."),
    "max_minutes": Term(LIMITS, "The longest time for the whole run, in minutes."),
    "max_cost": Term(LIMITS, "The most money for the whole run. In the currency of the prices."),
    "max_tokens": Term(LIMITS, "The most tokens in the whole run, of requests and answers together.", rare=True),
    "price_in": Term(LIMITS, "Price of a million tokens of requests.", rare=True),
    "price_out": Term(LIMITS, "Price of a million tokens of answers.", rare=True),
    "dry_run": Term(
        LIMITS, "Print what the run would ask and cost. Attacks a few texts to find out, and writes nothing."
    ),
    # where it runs
    "device": Term(MACHINE, "cpu, cuda or auto."),
    "precision": Term(
        MACHINE,
        "fp32, bf16, int8 (CPUs) or auto, for transformers: fewer bits are faster where the device is made for them, "
        "and what they find is confirmed in fp32; other models compute in fp32.",
        rare=True,
    ),
    "jobs": Term(MACHINE, "How many processes work side by side. One if not given; on Ray one for each GPU or core."),
    "width": Term(MACHINE, "How many examples are attacked side by side; changes only the speed.", rare=True),
    "cache": Term(MACHINE, rare=True),
    "engine": Term(MACHINE, "local: this machine; ray: a Ray cluster, or one started on this machine.", rare=True),
    "address": Term(
        MACHINE, "With --engine ray: HOST:PORT of a cluster's head, or auto for the one running here.", rare=True
    ),
    # output
    "out": Term(OUTPUT),
    "resume": Term(OUTPUT),
    "json": Term(OUTPUT, "Make the last line of standard output one JSON object."),
    "quiet": Term(OUTPUT, "Print no progress and no table."),
    "track": Term(OUTPUT, "Send figures, settings and the report to mlflow, wandb or tensorboard, too.", rare=True),
}
