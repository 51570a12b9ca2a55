"""Gather an NLTK data folder for the peers from the data on this machine and from packaged assets."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from malaprop.core.errors import AssetError

# What the recipes open. The tagger comes as JSON: the older pickle is never read.
CORPORA = ("wordnet", "stopwords")
TAGGERS = ("averaged_perceptron_tagger_eng", "universal_tagset")
RESOURCES: Mapping[str, str] = dict.fromkeys(CORPORA, "corpora") | dict.fromkeys(TAGGERS, "taggers")
PARTS = {"data.noun": "n", "data.verb": "v", "data.adj": "a", "data.adv": "r"}  # of speech, by WordNet's files
_STRAY = 0.01  # of a wordnet's senses that may be in no file of WordNet: a few of the Chinese ones are
# What a recipe needs that is not listed.
MOST: Mapping[str, tuple[str, ...]] = {"TextAttack": (*CORPORA, *TAGGERS), "OpenAttack": ("wordnet", TAGGERS[0])}
NEEDED: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "TextAttack": {
        "pwws": CORPORA,
        "textfooler": ("stopwords", *TAGGERS),
        "textfooler-untagged": ("stopwords",),
        "textfooler-similar": ("stopwords", *TAGGERS),
        "deepwordbug": ("stopwords",),
        "genetic": ("stopwords",),
    },
    "OpenAttack": {
        "textfooler": TAGGERS[:1],
        "genetic": TAGGERS[:1],
    },
}


def gather(out: Path, sources: list[Path], stop_words: frozenset[str] | None = None) -> Path:
    """Fill `out` with each resource from the first source that has it, as a zip or a folder; return `out`.

    A source is an NLTK data folder, or one that holds a WordNet database in a folder `wordnet`. The stop words, where
    no source has them, are written from the given list.
    """
    for name, kind in RESOURCES.items():
        target = out / kind / name
        if target.exists():
            continue
        for source in sources:
            if _copy(source, kind, name, target):
                break
    stop = out / "corpora" / "stopwords" / "english"
    if stop_words is not None and not stop.exists():
        stop.parent.mkdir(parents=True, exist_ok=True)
        stop.write_text("\n".join(sorted(stop_words)) + "\n", encoding="utf-8")
    wordnet = out / "corpora" / "wordnet"
    if wordnet.exists() and not (wordnet / "index.sense").exists():
        (wordnet / "index.sense").touch()  # NLTK opens it for other versions of WordNet; empty is enough for English
    for path in (out, *out.rglob("*")):
        path.chmod(path.stat().st_mode & ~0o022 | 0o200)  # NLTK refuses files that other accounts may write to
    return out


def write_wordnets(out: Path, omw: Path, languages: Mapping[str, str]) -> None:
    """Write our copy of Open Multilingual WordNet where NLTK 3.10 reads it; `languages` are its codes by ours."""
    for code, theirs in languages.items():
        target = out / "corpora" / "omw-2.0" / code / f"wn-data-{theirs}.tab"
        target.parent.mkdir(parents=True, exist_ok=True)
        rows = (line.split("\t") for line in (omw / f"{code}.txt").read_text(encoding="utf-8").split("\n"))
        lemmas = [f"{sense}\t{theirs}:lemma\t{word}\n" for sense, *words in rows for word in words]
        target.write_text("".join(lemmas), encoding="utf-8")


def check_senses(out: Path, omw: Path, languages: Iterable[str]) -> None:
    """Raise if the gathered WordNet is not the one whose senses our copy of Open Multilingual WordNet names.

    Another copy of WordNet 3.0 has other offsets, and the peers would end texts in an error for the fault of our data.
    """
    known = {sense for file, part in PARTS.items() for sense in _senses(out / "corpora" / "wordnet" / file, part)}
    for code in languages:
        rows = (omw / f"{code}.txt").read_text(encoding="utf-8").split("\n")
        named = {row.partition("\t")[0] for row in rows if row}
        if len(named - known) > _STRAY * len(named):
            raise AssetError(
                f"the WordNet found lacks {len(named - known):,} of the {len(named):,} senses in that of {code}; "
                f"unset MALAPROP_DATA and NLTK_DATA to use the packaged one"
            )


def _senses(file: Path, part: str) -> Iterator[str]:
    """Yield the senses of a WordNet file as offset and part of speech."""
    with file.open(encoding="utf-8") as lines:
        yield from (f"{line[:8]}-{part}" for line in lines if line[:8].isdigit())


def read_wordnets() -> None:
    """Let NLTK 3.10, in a peer's Python, read what `write_wordnets` wrote: until then it knows of English alone.

    Our wordnets have the senses of the English one beside them, which NLTK takes for another version's.
    """
    from nltk.corpus import wordnet  # type: ignore[import-untyped,import-not-found,unused-ignore]

    wordnet.add_omw()
    wordnet.map30 = None


def lacks(sources: list[Path], *names: str) -> list[str]:
    """Return the resources that none of the sources has."""
    return [
        name
        for name in names
        if not any(place.exists() for source in sources for place in _places(source, RESOURCES[name], name))
    ]


def check(folder: Path, tool: str, recipe: str) -> None:
    """Raise if the folder lacks a resource that the tool's recipe opens."""
    needed = NEEDED[tool].get(recipe, MOST[tool])
    missing = [name for name in needed if not (folder / RESOURCES[name] / name).exists()]
    if missing:
        raise AssetError(
            f"{tool}'s {recipe} needs NLTK data {', '.join(missing)}: put it in $MALAPROP_DATA/nltk_data or NLTK_DATA"
        )


def _copy(source: Path, kind: str, name: str, target: Path) -> bool:
    for found in _places(source, kind, name):
        if found.is_dir():
            shutil.copytree(found, target)
            return True
        if found.is_file() and found.suffix == ".zip":
            _unpack(found, target.parent)
            return target.exists()
    return False


def _places(source: Path, kind: str, name: str) -> tuple[Path, ...]:
    """Return the paths where a source may have a resource."""
    return source / kind / name, source / name, source / kind / f"{name}.zip"


def _unpack(packed: Path, folder: Path) -> None:
    try:
        with zipfile.ZipFile(packed) as archive:
            for member in archive.namelist():
                if PurePosixPath(member).is_absolute() or ".." in PurePosixPath(member).parts:
                    raise AssetError(f"{packed} holds the member {member!r}, which points outside of it; get it anew")
            archive.extractall(folder)
    except zipfile.BadZipFile:
        raise AssetError(f"{packed} is not a zip archive; get it anew") from None
