"""The report: one HTML file that needs nothing else, made from records alone."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from malaprop.core.errors import RecordError
from malaprop.records import Outcome, Run, find_runs
from malaprop.records.attention import AttentionStudy
from malaprop.records.certified import Certified
from malaprop.records.claims import Claims
from malaprop.records.defences import Trial
from malaprop.records.diagnosis import Diagnosis
from malaprop.records.documents import write_whole
from malaprop.records.ensembles import Ensembles
from malaprop.records.hotflip import Study
from malaprop.records.humans import HumanScores, find_scores
from malaprop.records.natural import Natural
from malaprop.records.naturaltext import NaturalText
from malaprop.records.oneword import Study as OneWord
from malaprop.records.store import outcomes_of
from malaprop.records.transfer import Transfer
from malaprop.records.translation import TranslationStudy, find_studies, is_translation
from malaprop.records.tuning import Tuning
from malaprop.reports import sections
from malaprop.reports.attention import attention_studies
from malaprop.reports.certified import certificates
from malaprop.reports.claims import write_claims
from malaprop.reports.defences import trials
from malaprop.reports.ensembles import teams
from malaprop.reports.entries import Entry, entries
from malaprop.reports.hotflip import studies
from malaprop.reports.humans import people
from malaprop.reports.markup import Markup, escape, join, tag
from malaprop.reports.natural import naturals, write_natural
from malaprop.reports.oneword import one_word
from malaprop.reports.payload import LIMIT, Payload, payload
from malaprop.reports.rules import diagnoses
from malaprop.reports.style import style
from malaprop.reports.transfer import headline as transferred_headline
from malaprop.reports.transfer import transfers
from malaprop.reports.translation import NO_MATRIX, translations
from malaprop.reports.translation import headline as translated_headline
from malaprop.reports.tuning import tunings

TITLE = "Robustness report"
_SLOT = re.compile(r"\{\{(\w+)\}\}")


def _template(name: str) -> str:
    return files("malaprop.reports").joinpath("templates", name).read_text(encoding="utf-8")


def _fill(template: str, values: Mapping[str, str]) -> str:
    """Each {{name}} by its value, in one pass: a value that looks like a slot stays as it is."""
    return _SLOT.sub(lambda found: values[found[1]], template)


def _policy(script: str) -> str:
    """Nothing from anywhere, and of scripts only ours, by its hash."""
    digest = b64encode(sha256(script.encode()).digest()).decode()
    allowed = (f"script-src 'sha256-{digest}'", "style-src 'unsafe-inline'", "img-src data:")
    return "; ".join(("default-src 'none'", *allowed, "base-uri 'none'", "form-action 'none'"))


def _shown(data: Payload) -> str:
    if data.shown == data.total:
        return f"All {data.total:,} outcomes are here."
    return (
        f"{data.shown:,} of {data.total:,} outcomes are here, to keep this file small: successes first, then errors, "
        "failures and skipped texts, the runs taking turns. The rates above count all; outcomes.jsonl holds the rest."
    )


def render(
    runs: Sequence[tuple[Run, Sequence[Outcome]]],
    title: str = TITLE,
    limit: int = LIMIT,
    humans: Sequence[HumanScores] = (),
    hotflip: Sequence[Study] = (),
    carried: Sequence[Transfer | Ensembles] = (),
    taught: Sequence[Diagnosis] = (),
    translated: Sequence[TranslationStudy] = (),
    natural: Sequence[Natural | NaturalText] = (),
    oneword: Sequence[OneWord] = (),
    looked: Sequence[AttentionStudy] = (),
    tested: Sequence[Trial | Certified | Tuning] = (),
) -> str:
    """The whole page. `limit` bounds the bytes of the examples; beyond it a sample is shown, and the page says so."""
    if not runs:
        raise RecordError("a report needs at least one run, got none")
    found = entries(runs)
    labelled = [entry for entry in found if not is_translation(entry.run)]
    data = payload(found, limit)
    script = _template("report.js")
    return _fill(
        _template("report.html"),
        {
            "policy": escape(_policy(script)),
            "title": escape(title),
            "style": style(),
            "headline": _headline(labelled, carried, translated),
            "facts": sections.header(found),
            "matrix": sections.matrix(labelled) if labelled else tag("p", NO_MATRIX),
            "victims": sections.victims(labelled),
            "humans": people(humans),
            "studies": join(
                _tested(tested),
                translations(translated),
                studies(hotflip),
                one_word(oneword),
                attention_studies(looked),
                diagnoses(taught),
                naturals(natural),
            ),
            "carried": _carried(carried),
            "shown": escape(_shown(data)),
            "errors": sections.errors(found),
            "settings": sections.settings(found),
            "data": data.json,
            "script": script,
        },
    )


def _headline(
    labelled: Sequence[Entry], carried: Sequence[Transfer | Ensembles], translated: Sequence[TranslationStudy]
) -> Markup:
    """A study's result, else the strongest attack."""
    moved = [record for record in carried if isinstance(record, Transfer)]
    if moved:
        return transferred_headline(moved[0])
    return sections.headline(labelled) if labelled else translated_headline(translated)


def _tested(found: Sequence[Trial | Certified | Tuning]) -> Markup:
    """Defence tests, then certificates that were made apart from them, then searches for settings."""
    return join(
        trials([record for record in found if isinstance(record, Trial)]),
        certificates([record for record in found if isinstance(record, Certified)]),
        tunings([record for record in found if isinstance(record, Tuning)]),
    )


def _carried(found: Sequence[Transfer | Ensembles]) -> Markup:
    """Transfer studies, then ensembles."""
    return join(
        transfers([record for record in found if isinstance(record, Transfer)]),
        teams([record for record in found if isinstance(record, Ensembles)]),
    )


def write_report(folders: Iterable[Path], out_path: Path, title: str = TITLE) -> Path:
    """The report on every run folder at or below the given ones, written whole or not at all."""
    asked = [Path(folder) for folder in folders]
    if claims := [said for folder in asked if (said := Claims.read(folder))]:
        return write_claims(claims, out_path)
    found = find_runs(asked)
    natural: list[Natural | NaturalText] = [record for folder in asked if (record := Natural.read(folder))]
    natural += [text for folder in asked if (text := NaturalText.read(folder))]
    if natural and not found:
        return write_natural(natural, out_path)
    if not found:
        raise RecordError(f"no run below {', '.join(map(str, asked)) or 'no folder'}; give a folder that a run wrote")
    humans = [HumanScores.read(path) for path in find_scores(asked)]
    hotflip = [flips for folder in asked if (flips := Study.read(folder))]
    oneword = [study for folder in asked if (study := OneWord.read(folder))]
    runs = [(Run.read(folder), outcomes_of(folder)) for folder in found]
    carried: list[Transfer | Ensembles] = [moved for folder in asked if (moved := Transfer.read(folder))]
    carried += [team for folder in asked if (team := Ensembles.read(folder))]
    taught = [one for folder in asked if (one := Diagnosis.read(folder))]
    tested: list[Trial | Certified | Tuning] = [trial for folder in asked if (trial := Trial.read(folder))]
    tested += [proof for folder in asked if (proof := Certified.read(folder))]
    tested += [search for folder in asked if (search := Tuning.read(folder))]
    page = render(
        runs,
        title,
        tested=tested,
        humans=humans,
        hotflip=hotflip,
        oneword=oneword,
        looked=[look for folder in asked if (look := AttentionStudy.read(folder))],
        carried=carried,
        taught=taught,
        translated=find_studies(asked),
        natural=natural,
    )
    return write_whole(out_path, page)
