"""The study on victims of one line: who is wrong about whose texts, what is done again, what is refused."""

from __future__ import annotations

import math
import pickle
import shutil
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import toy
from killed import until_done

import malaprop as mp
from malaprop.core.errors import SettingError, VictimError
from malaprop.core.victim import REJECTED
from malaprop.data.base import Dataset, load
from malaprop.frame.records.outcome import compare_key
from malaprop.frame.records.store import read_outcomes
from malaprop.frame.runs.local import run
from malaprop.frame.study.run_options import OutputOptions, RunOptions
from malaprop.frame.study.selection import Selection
from malaprop.frame.study.study import conduct
from malaprop.models.victims.strings import StringVictim
from malaprop.papers.universal.attack_many import Source, attack_together
from malaprop.papers.universal.ensemble_study import EnsembleSearch
from malaprop.papers.universal.ensembles import EnsembleChoice
from malaprop.papers.universal.ensembles_record import EnsemblesRecord
from malaprop.papers.universal.record import Traits, TransferRecord
from malaprop.papers.universal.study import Transfer
from malaprop.papers.universal.study_models import StudyModel
from malaprop.papers.universal.transfer_tasks import name_folders

ATTACK = toy.listed()
DATA = Dataset(name="toy", examples=tuple(toy.some_examples(40)), labels=("bad", "good"))


class Judge:
    """The toy's weights, some of them changed."""

    def __init__(self, **weights: float) -> None:
        self.weights = {**toy.WEIGHTS, **weights}
        self.asked = 0

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked += len(texts)
        out = []
        for text in texts:
            worth = sum(self.weights.get(word.strip(".,!?").lower(), 0.0) for word in text.split())
            p = 1 / (1 + math.exp(-worth))
            out.append([1 - p, p])
        return out


def judge(name: str, **weights: float) -> StringVictim:
    return StringVictim(call=Judge(**weights), name=name)


def some() -> list[StringVictim]:
    return [judge("plain"), judge("harsh", okay=-0.5, fine=0.2), judge("mild", poor=0.1), judge("twin")]


def guard(name: str, word: str) -> StringVictim:
    """The toy, which rejects texts with that word."""
    own = Judge()

    def call(texts: Sequence[str]) -> list[list[float]]:
        return [[*row, 2.0 * (word in text)] for row, text in zip(own(texts), texts, strict=True)]

    return StringVictim(call=call, name=name, labels=3, label_names=("bad", "good", REJECTED))


class Paired(Transfer):
    """A study whose models have the seconds that the test gives them, as names of the zoo have."""

    def study_models(self) -> list[StudyModel]:
        found = super().study_models()
        return [
            replace(e, second=StudyModel.of(SECONDS[e.name]) if self.base and e.name in SECONDS else None)
            for e in found
        ]


SECONDS: dict[str, Any] = {}
JUDGES = (
    "import os\n"
    "W = {'good': 2, 'great': 3, 'fine': 1, 'nice': 1, 'okay': 0.25, 'bad': -2, 'awful': -3, 'poor': -1}\n"
    "def scored(w, texts):\n"
    "    s = [sum(w.get(x.strip('.,!?').lower(), 0) for x in t.split()) for t in texts]\n"
    "    return [[1 - 1 / (1 + 2.718281828 ** -x), 1 / (1 + 2.718281828 ** -x)] for x in s]\n"
    "def plain(texts): return scored(W, texts)\n"
    "def harsh(texts): return scored({**W, 'okay': -0.5, 'fine': 0.2}, texts)\n"
    "def mild(texts): return scored({**W, 'poor': 0.1}, texts)\n"
    "def dies_once(texts):\n"
    "    if not os.path.exists('died') and any('film' in t for t in texts):\n"
    "        open('died', 'w').close()\n"
    "        os._exit(3)\n"
    "    return plain(texts)\n"
)


@pytest.fixture(autouse=True)
def rows(tmp_path_factory, monkeypatch):
    """The data as a file, as users have it."""
    SECONDS.clear()
    write(DATA.examples, folder := tmp_path_factory.mktemp("rows"))
    monkeypatch.setattr(Place, "file", str(folder / "toy.csv"))


class Place:
    file = ""


def write(examples: Sequence[Any], folder: Any) -> str:
    lines = [f'"{e.fields["text"]}",{DATA.labels[e.label]}' for e in examples]
    (folder / "toy.csv").write_text("text,label\n" + "\n".join(lines) + "\n")
    return str(folder / "toy.csv")


def settings(
    root: Any, victims: Sequence[Any], *, wanted: int = 500, seed: int = 0, data: str = "", jobs: int = 1, **more: Any
) -> Transfer:
    return Paired(
        victims=tuple(victims), recipe=ATTACK, draw=wanted, texts=Selection(data=data or Place.file, n=0, seed=seed),
        where=RunOptions(device="cpu", jobs=jobs), saving=OutputOptions(out=root), **more,
    )  # fmt: skip


def study(root: Any, victims: Sequence[Any] | None = None, *, seconds: Any = None, **more: Any) -> TransferRecord:
    SECONDS.update(seconds or {})
    found: TransferRecord = conduct(settings(root, victims or some(), **more)).record
    return found


class Search(EnsembleSearch):
    """A search among victims that are objects, which no study.toml can hold."""

    @property
    def transfer(self) -> Transfer:
        return replace(settings(self.source, VICTIMS), base=False)


VICTIMS: list[Any] = []


def test_a_rejected_text_has_not_carried_over(tmp_path):
    plain, guarded = judge("plain"), guard("guarded", "okay")
    record = study(tmp_path / "t", [plain, guarded])
    names = [model.name for model in record.models]
    made = [o for o in read_outcomes(tmp_path / "t" / "sources" / "plain") if o.status == "success"]
    passed = sum("okay" not in str(o.adversarial.fields["text"]) for o in made)
    assert 0 < passed < len(made)
    assert record.hits[names.index("plain")][names.index("guarded")] == passed
    assert record.totals[names.index("plain")][names.index("guarded")] == len(made)
    found = list(read_outcomes(tmp_path / "t" / "sources" / "guarded"))
    assert all("okay" not in str(o.adversarial.fields["text"]) for o in found if o.status == "success")
    alone = {o.id: o for o in run(ATTACK, guarded, DATA.examples)}
    assert {o.id: compare_key(o) for o in found} == {id: compare_key(o) for id, o in alone.items()}


def ensembles(root: Any, victims: Sequence[Any], **more: Any) -> EnsemblesRecord:
    VICTIMS[:] = victims
    found: EnsemblesRecord = conduct(Search(source=root, where=RunOptions(device="cpu"), **more)).record
    return found


def by_hand(victims: Sequence[StringVictim], s: int, t: int) -> tuple[int, int, int, int]:
    won = [o for o in run(ATTACK, victims[s], load(Place.file).examples) if o.status == "success"]
    said = victims[t].predict([tuple(o.adversarial.fields.values()) for o in won]).argmax(1)
    before = victims[t].predict([tuple(o.original.fields.values()) for o in won]).argmax(1)
    labels = np.asarray([o.label for o in won])
    right = before == labels
    return int((said != labels).sum()), len(won), int(right.sum()), int((right & (said != labels)).sum())


def test_the_matrix_counts_what_targets_get_wrong(tmp_path):
    victims = some()
    found = study(tmp_path, victims, seconds={"plain": judge("plain#2", fine=-0.2)})
    assert found.models[0].second == "plain#2"
    for s in range(4):
        for t in range(4):
            cell = (found.hits[s][t], found.totals[s][t], found.before[s][t], found.carried[s][t])
            if s != t:
                assert cell == by_hand(victims, s, t)
            elif s == 0:
                assert cell == by_hand([victims[0], judge("other", fine=-0.2)], 0, 1)
            else:
                assert cell == (None,) * 4
    twin = found.rate(0, 3)  # the same model under another name: everything carries over
    assert (twin.hits, twin.total) == (found.models[0].drawn, found.models[0].drawn)
    assert found.rate(0, 1).hits < found.rate(0, 1).total or found.rate(0, 2).hits < found.rate(0, 2).total
    assert "no second model, so no base rate: harsh, mild, twin" in found.notes
    assert found.base.value == pytest.approx(found.rate(0, 0).value, abs=1e-5)


def test_what_is_read_is_what_was_written(tmp_path):
    found = study(tmp_path, seconds={"plain": judge("plain#2")})
    found = replace(found, models=(replace(found.models[0], traits=Traits(architecture="CNN", input="word",
                    embedding="GloVe", layers=1)), *found.models[1:]))  # fmt: skip
    found.write(tmp_path)
    assert TransferRecord.read(tmp_path) == found
    assert TransferRecord.read(tmp_path / "elsewhere") is None


def test_a_finished_source_is_never_attacked_again(tmp_path):
    first = study(tmp_path)
    again = some()
    assert study(tmp_path, again) == first, "its speed is that of the attacks, whenever they were"
    assert not any(victim.call.asked for victim in again)
    shutil.rmtree(tmp_path / "drawn")
    shutil.rmtree(tmp_path / "answers")
    assert replace(study(tmp_path, again), speed=first.speed) == first
    texts = sum(len({o.adversarial.text for o in read_outcomes(tmp_path / "sources" / m.name) if o.adversarial})
                for m in first.models)  # fmt: skip
    assert all(0 < victim.call.asked <= texts + len(DATA) for victim in again)  # asked about finished texts alone


def test_a_study_that_was_cut_goes_on_to_the_same_end(tmp_path):
    whole = study(tmp_path / "whole")
    study(tmp_path / "cut")
    file = tmp_path / "cut" / "sources" / "harsh" / "outcomes.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:7]) + lines[7][:20])
    shutil.rmtree(tmp_path / "cut" / "drawn")
    shutil.rmtree(tmp_path / "cut" / "answers")
    resumed = study(tmp_path / "cut")
    assert resumed.hits == whole.hits
    assert resumed.speed.asked > whole.speed.asked, "what was attacked again is counted again"
    one, two = (
        sorted(map(compare_key, read_outcomes(tmp_path / name / "sources" / "harsh"))) for name in ("whole", "cut")
    )
    assert one == two


def test_other_settings_do_not_join_a_finished_study(tmp_path):
    from malaprop.core.errors import RecordError

    study(tmp_path)
    with pytest.raises(RecordError, match="holds a study with seed = 0, and here it is 3"):
        study(tmp_path, seed=3)


def test_successes_are_drawn_by_the_seed(tmp_path):
    few = study(tmp_path / "few", wanted=5)
    assert {m.drawn for m in few.models} == {5}
    assert {total for row in few.totals for total in row if total is not None} == {5}
    assert study(tmp_path / "again", wanted=5, width=1).hits == few.hits
    many = study(tmp_path / "many")
    assert any("successes, all of them used (of 500 wanted)" in note for note in many.notes)


def test_many_sources_that_fall_short_are_one_note(tmp_path):
    found = study(tmp_path, [judge(f"model {number}", fine=-number / 10) for number in range(8)])
    (note,) = (note for note in found.notes if "of them used" in note)
    assert note.startswith("8 of 8 sources gave ")
    least, most = (min(m.drawn for m in found.models), max(m.drawn for m in found.models))
    assert f" {least} (model " in note
    assert f" to {most} (model " in note


@pytest.mark.parametrize("width", [1, 7, 64])
def test_side_by_side_gives_the_same_outcomes_as_alone(width):
    victims = some()[:3]
    rows = list(DATA.examples)
    found: list[list[str]] = [[], [], []]
    for number, outcome in attack_together(ATTACK, [Source(v, rows) for v in victims], width=width):
        found[number].append(compare_key(outcome))
    for victim, mine in zip(victims, found, strict=True):
        alone = sorted(compare_key(o) for o in run(ATTACK, victim, rows, width=width))
        assert sorted(mine) == alone


def test_sources_with_different_work_left_go_side_by_side():
    victims, rows = some()[:3], list(DATA.examples)
    parts = [rows[:3], [], rows[10:]]
    sources = [Source(v, part) for v, part in zip(victims, parts, strict=True)]
    found = [(n, o.id) for n, o in attack_together(ATTACK, sources)]
    assert sorted(found) == sorted((n, e.id) for n, part in enumerate(parts) for e in part)


def test_a_victim_that_fails_on_some_texts_leaves_the_others_alone(tmp_path):
    def fails(texts: Sequence[str]) -> list[list[float]]:
        if any("awful" in text for text in texts):
            raise ValueError("no awful")
        return toy.predict(texts)

    found = study(tmp_path, [judge("plain"), StringVictim(call=fails, name="fails")])
    assert found.models[1].counts["error"] > 0
    assert found.models[0].counts["error"] == 0
    assert found.totals[0][1] < found.models[0].drawn  # texts it could not answer are not counted
    assert any(note.startswith("fails: ") and "ended in an error" in note for note in found.notes)


def test_a_victim_that_gets_everything_wrong_has_an_empty_row(tmp_path):
    def wrong(texts: Sequence[str]) -> list[list[float]]:
        return [row[::-1] for row in toy.predict(texts)]

    sure = [e for e in DATA.examples if toy.weigh(tuple(e.fields.values()))]
    (tmp_path / "sure").mkdir()
    data = write(sure, tmp_path / "sure")
    found = study(tmp_path / "one", [judge("plain"), StringVictim(call=wrong, name="wrong")], data=data)
    assert found.hits[1] == (None, None)
    assert "wrong gives no adversarial text: it gets all" in " ".join(found.notes)
    assert found.rate(0, 1) is not None
    with pytest.raises(VictimError, match=r"no source gave an adversarial text.*gets all"):
        study(tmp_path / "both", [StringVictim(call=wrong, name=name) for name in ("a", "b")], data=data)


def test_labels_in_another_order_are_matched_by_name(tmp_path):
    def turned(texts: Sequence[str]) -> list[list[float]]:
        return [row[::-1] for row in toy.predict(texts)]

    class Named:
        """The toy with names of its labels."""

        label_names = ("good", "bad")

        def __init__(self, inner: StringVictim) -> None:
            self.inner = inner

        def __getattr__(self, name: str) -> Any:
            return getattr(self.inner, name)

    other = Named(StringVictim(call=turned, name="turned"))
    found = study(tmp_path, [judge("plain"), other])
    assert found.rate(0, 1).value == 1.0
    assert found.rate(1, 0).value == 1.0


def test_labels_that_differ_are_refused(tmp_path):
    three = StringVictim(call=lambda texts: [[0.1, 0.2, 0.7]] * len(texts), name="three", labels=3)
    two = StringVictim(call=toy.predict, name="two", labels=2)
    with pytest.raises(VictimError, match="must score the same labels, got two 2, three 3"):
        study(tmp_path / "two", [two, three])
    ones = [StringVictim(call=lambda texts: [[1.0]] * len(texts), name=name, labels=1) for name in ("one", "uno")]
    with pytest.raises(VictimError, match=r"one scores 1 labels and toy.csv has 2"):
        study(tmp_path / "ones", ones)


def test_names_that_would_share_a_folder_are_refused(tmp_path):
    with pytest.raises(SettingError, match="two victims are called plain"):
        study(tmp_path, [judge("plain"), judge("plain", good=1.0)])
    with pytest.raises(SettingError, match="as another victim is"):
        name_folders(["a/b", "a?b"])


def test_processes_give_the_same_study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "judges.py").write_text(JUDGES)
    names = ["judges:plain", "judges:harsh", "judges:mild"]
    here, there = (study(tmp_path / str(jobs), names, jobs=jobs) for jobs in (1, 2))
    killed = study(tmp_path / "killed", [*names[1:], "judges:dies_once"], jobs=2)
    with pytest.raises(VictimError, match="judges:none"):
        study(tmp_path / "no", ["judges:none", names[0]], jobs=2)
    assert (there.hits, there.totals, there.carried) == (here.hits, here.totals, here.carried)
    assert (tmp_path / "died").exists()
    assert killed.hits[0][2] == here.hits[1][0]


def test_what_cannot_be_sent_to_a_process_is_said(tmp_path):
    local = StringVictim(call=lambda texts: toy.predict(texts), name="local")
    with pytest.raises(SettingError, match="cannot be sent to another process"):
        study(tmp_path, [local, judge("plain")], jobs=2)


def test_ensembles_are_attacked_for_real(tmp_path):
    victims = [*some(), judge("blunt", great=0.5, good=0.5, awful=-0.5, bad=-0.5)]
    record = study(tmp_path, victims, seconds={v.name: judge(f"{v.name}#2", okay=-0.1) for v in victims})
    found = ensembles(tmp_path, victims, size="2..3", hold_out=1)
    assert found.upper == record.base
    assert found.lower == record.pairs
    assert len(found.unseen) == 1
    assert f"no choice saw {found.unseen[0]}" in found.notes
    assert {(c.size, c.how) for c in found.chosen} == {(s, h) for s in (2, 3) for h in ("genetic", "greedy", "exact")}
    assert sum("the expert's ensemble needs" in note for note in found.notes) == 2
    bound = {c.size: c.fitness for c in found.chosen if c.how == "exact"}
    for chosen in found.chosen:
        assert len(chosen.members) == chosen.size
        assert not set(chosen.members) & set(found.unseen)
        assert chosen.fitness <= bound[chosen.size] + 1e-9
        inside = [name in chosen.members for name in found.models]
        assert [hits is None for hits in chosen.hits] == inside
        rates = [h / t for h, t in zip(chosen.hits, chosen.totals, strict=True) if h is not None]
        assert chosen.outside.value == pytest.approx(np.mean(rates), abs=1e-5)
        assert chosen.outside.low <= chosen.outside.value <= chosen.outside.high
    assert EnsemblesRecord.read(tmp_path) == found
    again = some()
    assert ensembles(tmp_path, [*again, victims[-1]], size="2..3", hold_out=1) == found
    assert not any(victim.call.asked for victim in again), "an ensemble that was attacked is not attacked again"


def test_an_ensemble_larger_than_the_study_is_refused(tmp_path):
    study(tmp_path)
    with pytest.raises(SettingError, match="ensembles of 5 cannot be chosen from 4 models"):
        ensembles(tmp_path, some(), size="5")
    for how in (("magic",), ()):
        with pytest.raises(SettingError, match="chosen by genetic, expert"):
            EnsembleChoice(how=how)


def test_the_studys_attacks_take_synonyms_of_the_same_part_of_speech():
    from malaprop.attacks.candidates.lookup import WordNetSynonyms
    from malaprop.frame.runs.make_attack import recipe
    from malaprop.papers.universal.transfer_tasks import study_recipe

    for name in ("pwws", "genetic:wordnet"):
        assert study_recipe(name).candidates == WordNetSynonyms(part="same")
        assert study_recipe(name).name == name, "the record says what ran"
    assert study_recipe("genetic:wordnet", size=7).search.size == 7
    assert study_recipe("genetic") == recipe("genetic"), "one name is one attack, wherever it runs"
    assert not isinstance(study_recipe("typos").candidates, WordNetSynonyms)
    with pytest.raises(SettingError, match="neighbours would do nothing"):
        study_recipe("genetic:wordnet", neighbours=3)


class Named:
    """A victim whose labels have names; they stand in that order."""

    def __init__(self, name: str, *labels: str) -> None:
        self.inner, self.label_names = judge(name), labels

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def predict(self, texts: Sequence[Any]) -> Any:
        scores = self.inner.predict(texts)
        return scores[:, ::-1] if self.label_names[0].lower() == "good" else scores

    def begin(self, pool: Any, wanted: Any) -> Any:
        scores = self.inner.begin(pool, wanted)
        return scores[:, ::-1] if self.label_names[0].lower() == "good" else scores


def test_members_that_order_their_labels_otherwise_are_matched_by_name():
    from malaprop.models.victims.ensemble import Ensemble

    one, two, odd = Named("one", "bad", "good"), Named("two", "Bad", "Good"), Named("odd", "good", "bad")
    assert Ensemble(members=(one, two, judge("plain"))).label_names == ("bad", "good")
    assert Ensemble(members=(judge("a"), judge("b"))).label_names == ()
    assert Ensemble(members=(odd, one)).label_names == ("good", "bad")
    assert Ensemble(members=(one, Named("other", "no", "yes"))).label_names == ()
    texts = [("a great film",), ("an awful film",), ("fine",)]
    right = judge("plain").predict(texts)
    assert Ensemble(members=(one, odd)).predict(texts) == pytest.approx(right, abs=1e-6)
    assert Ensemble(members=(odd, one)).predict(texts) == pytest.approx(right[:, ::-1], abs=1e-6)


def test_members_without_names_have_the_order_that_is_given():
    from malaprop.models.victims.ensemble import Ensemble

    texts = [("a great film",), ("an awful film",), ("fine",)]
    right, odd = judge("plain").predict(texts), Named("odd", "good", "bad")
    team = Ensemble(members=(odd, judge("plain")), names=("bad", "good"))
    assert team.label_names == ("bad", "good")
    for made in (team, pickle.loads(pickle.dumps(Ensemble(members=(judge("plain"),), names=("bad", "good"))))):
        assert made.predict(texts) == pytest.approx(right, abs=1e-6)
        assert made.names == ("bad", "good")


def test_an_ensemble_of_models_with_labels_in_another_order_is_attacked(tmp_path):
    victims = [Named("one", "bad", "good"), Named("odd", "good", "bad"), *some()[:2]]
    record = study(tmp_path, victims)
    found = ensembles(tmp_path, victims, size="3", by=("greedy", "exact"))
    assert all(c.success.hits and c.outside is not None for c in found.chosen)
    two = ensembles(tmp_path, victims, size="4", by=("exact",)).chosen[0]
    assert (two.counts["skipped"], two.counts["error"]) == (record.models[0].counts["skipped"], 0)


def test_what_a_target_cannot_answer_is_said(tmp_path):
    """Its rates are then of fewer texts than were tried."""

    def fails(texts: Sequence[str]) -> list[list[float]]:
        if any("awful" in text for text in texts):
            raise ValueError("no awful")
        return toy.predict(texts)

    victims = [*some(), StringVictim(call=fails, name="fails")]
    record = study(tmp_path, victims)
    short = sum(m.drawn - t for m, t in zip(record.models[:4], (row[4] for row in record.totals[:4]), strict=True))
    assert short > 0
    asked = sum(m.drawn for m in record.models[:4])
    said = f"fails could not answer {short} of the {asked} texts of other sources; its rates leave them out"
    assert said in record.notes
    assert not any("plain could not" in note for note in record.notes)
    apart = {m.name: replace(m, drawn=0) if m.name == "fails" else m for m in record.models}  # so that it is no member
    replace(record, models=tuple(apart.values())).write(tmp_path)
    found = ensembles(tmp_path, victims, size="2", by=("greedy",))
    record.write(tmp_path)
    (chosen,) = found.chosen
    lost = chosen.drawn - chosen.totals[4]
    said = f"{'+'.join(chosen.members)}: fails could not answer {lost} of the {chosen.drawn} texts"
    assert lost > 0
    assert said in " ".join(found.notes)
    with_it = ensembles(tmp_path, victims, size="5", by=("greedy",))
    errors = with_it.chosen[0].counts["error"]
    assert errors > 0
    assert f": {errors} texts ended in an error (fails raised ValueError: no awful)" in " ".join(with_it.notes)


@pytest.mark.parametrize("seed", [1, 2])
def test_killed_within_any_write_it_ends_with_the_same_record(tmp_path, seed):
    whole = study(tmp_path / "whole", some()[:2])
    kills = until_done(lambda _: study(tmp_path / "killed", some()[:2]), seed=seed, most=8)
    assert kills
    found = TransferRecord.read(tmp_path / "killed")
    assert replace(found, speed=whole.speed) == whole
    for model in whole.models:
        one, two = (sorted(map(compare_key, read_outcomes(tmp_path / n / "sources" / model.name)))
                    for n in ("whole", "killed"))  # fmt: skip
        assert one == two


def test_from_python_with_functions_and_pairs(tmp_path):
    def plain(texts: Sequence[str]) -> Any:
        return toy.predict(texts)

    def other(texts: Sequence[str]) -> Any:
        return judge("other", okay=-0.5, fine=0.2).call(texts)

    pairs = [(example.fields["text"], example.label) for example in DATA.examples]
    found = mp.transfer([plain, other], data=pairs, recipe=ATTACK, draw=9, device="cpu", out=tmp_path)
    assert [model.name for model in found.record.models] == ["plain", "other"]
    assert [(row["source"], row["target"], row["total"]) for row in found.rows] == [
        ("plain", "other", 9),
        ("other", "plain", 9),
    ]
    assert len(found.outcomes) == 2 * len(DATA)
    assert "Transfer between models" in found.report().read_text()
    assert callable(mp.transfer), "no module takes its name"


def test_ensembles_of_a_folder_from_before_there_was_a_study_toml(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "judges.py").write_text(JUDGES)
    names = [f"judges:{name}" for name in ("plain", "harsh", "mild")]
    conduct(replace(settings(tmp_path / "old", names), recipe="homoglyph", base=False))
    new = conduct(EnsembleSearch(source=tmp_path / "old", size="2", where=RunOptions(device="cpu"))).record
    for name in ("looked", "drawn", "answers", "ensembles"):
        shutil.rmtree(tmp_path / "old" / name)
    for name in ("study.toml", "ensemble.toml", "tasks.jsonl", "ensembles.json"):
        (tmp_path / "old" / name).unlink()
    assert conduct(EnsembleSearch(source=tmp_path / "old", size="2", where=RunOptions(device="cpu"))).record == new
