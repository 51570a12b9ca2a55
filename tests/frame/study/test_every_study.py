"""What every study gets from the frame: the same results after kills, in processes and on Ray; TOML; Python; help."""

from __future__ import annotations

import os
from dataclasses import is_dataclass
from pathlib import Path
from time import monotonic

import pytest
from assets.tiny import wordnet
from killed import until_done
from small_studies import BUILT_ON, SMALL, content, settings
from typer.testing import CliRunner

import malaprop as mp
from malaprop.assets import store
from malaprop.assets.wordnet import open_wordnet
from malaprop.cli.main import app
from malaprop.core.errors import MalapropError, RecordError
from malaprop.frame.records.kinds import Record
from malaprop.frame.study.commands import COMMANDS, find_study, read_study
from malaprop.frame.study.settings import build, flat, options
from malaprop.frame.study.study import Result, conduct
from malaprop.frame.tasks.workers.ray_session import join

pytestmark = pytest.mark.filterwarnings("ignore:using a short list of common misspellings")  # in every process
HERE = Path(__file__).parent
STUDIES = [name for name, one in COMMANDS.items() if is_dataclass(one.load()) and name not in BUILT_ON]
KILLS = 20


def study_of(name: str):
    """The settings class of a small study."""
    return find_study(name.partition(":")[0])


@pytest.fixture(scope="module")
def small_wordnet(tmp_path_factory):
    """A cache with a WordNet of a dozen words, which workers in other processes find too."""
    cache = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MALAPROP_CACHE", str(cache))
        folder = cache / "assets" / f"wordnet-{store.key('wordnet')}"
        folder.mkdir(parents=True)
        (folder / "asset.json").write_text('{"files": {}}')
        wordnet(folder)
        open_wordnet.cache_clear()
        yield
        open_wordnet.cache_clear()


@pytest.fixture(scope="module")
def calm(tmp_path_factory, small_wordnet):
    """What each study leaves when nobody disturbs it, made once."""
    made: dict[str, tuple[dict, dict, Result]] = {}

    def of(name: str):
        if name not in made:
            given = settings(name, tmp_path_factory.mktemp("given"))
            found = conduct(build(study_of(name), {**given, "out": tmp_path_factory.mktemp("calm")}))
            made[name] = given, content(found.folder), found
        return made[name]

    return of


def test_every_study_is_tried_here():
    assert {name.partition(":")[0] for name in SMALL} == set(STUDIES)


def survive(name: str, calm, room: Path, most: int, seconds: float = 0) -> int:
    """Kills a study at random writes, `most` times a run, until it was killed often enough or the time is up."""
    given, expected, _ = calm(name)
    kills, seed, until = 0, 0, monotonic() + seconds
    while kills < KILLS and seed < KILLS and (kills == 0 or monotonic() < until):
        out = room / str(seed)
        kills += until_done(lambda _, out=out: conduct(build(study_of(name), {**given, "out": out})), seed, most + 1)
        assert content(out) == expected
        seed += 1
    return kills


@pytest.mark.parametrize("name", SMALL)
def test_killed_at_random_writes_it_resumes_to_the_same(name, calm, tmp_path):
    assert survive(name, calm, tmp_path, most=6) > 0


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", SMALL)
def test_killed_twenty_times_it_resumes_to_the_same(name, calm, tmp_path):
    assert survive(name, calm, tmp_path, most=KILLS, seconds=120) >= KILLS


@pytest.mark.parametrize("name", SMALL)
def test_two_processes_give_the_same(name, calm, tmp_path):
    given, expected, _ = calm(name)
    conduct(build(study_of(name), {**given, "out": tmp_path, "jobs": 2}))
    assert content(tmp_path) == expected


@pytest.fixture(scope="module")
def session():
    """A cluster whose workers find the tests' modules; they are taken to see no disk of ours."""
    pytest.importorskip("ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(HERE), str(HERE.parents[1]), str(HERE.parents[2])]))
        with join(workers=2) as found:
            yield found


ON_RAY = ("attack",)


# what is done by two processes is done by a cluster's in the same way, so most of it waits for the slow tests
@pytest.mark.parametrize(
    "name", [name if name in ON_RAY else pytest.param(name, marks=pytest.mark.slow) for name in SMALL]
)
def test_a_cluster_gives_the_same(name, calm, session, tmp_path):
    given, expected, _ = calm(name)
    conduct(build(study_of(name), {**given, "out": tmp_path, "engine": "ray", "jobs": 2}))
    assert content(tmp_path) == expected


@pytest.mark.parametrize("name", SMALL)
def test_other_settings_for_the_same_folder_are_refused_by_name(name, calm):
    given, expected, first = calm(name)
    with pytest.raises(RecordError, match=r"holds a study with seed = (0|None), and here it is 5"):
        conduct(build(study_of(name), {**given, "out": first.folder, "seed": 5}))
    again = conduct(read_study(first.folder / "study.toml"))
    assert again.folder == first.folder
    assert flat(again.study) == flat(build(study_of(name), {**given, "out": first.folder}))
    assert content(mp.run(first.folder / "study.toml", jobs=1).folder) == expected
    assert again.to_frame().shape[0] == len(first.rows)
    assert "<iframe" in again._repr_html_()
    assert not isinstance(first.record, Record) or type(first.record) in {type(one) for one in first.records}


GOES_ON = "harden: the best of several"  # which looks itself whether the time that it was given leaves a try


@pytest.mark.parametrize("name", SMALL)
def test_a_finished_study_says_so_and_begins_nothing(name, calm, monkeypatch):
    given, expected, first = calm(name)
    monkeypatch.setattr("malaprop.frame.tasks.executor.Execution.run", lambda self: pytest.fail("it begins again"))
    if name == GOES_ON:
        return
    for more in ({}, {"resume": True}, {"jobs": 2}, {"json": True, "track": []}):
        again = conduct(build(study_of(name), {**given, **more, "out": first.folder}))
        assert again.finished
        assert again.rows
    assert content(first.folder) == expected


def test_a_run_killed_behind_its_last_line_is_said_to_be_done(tmp_path):
    pairs = [("a good film", 1), ("a bad film", 0)]
    found = mp.audit("toy:predict", pairs, attacks=["typos"], out=tmp_path / "out", validity="paper")
    (run,) = found.folder.rglob("run.toml")
    whole = run.read_text()
    run.write_text(whole.replace('state = "done"', 'state = "running"'))
    assert mp.audit("toy:predict", pairs, attacks=["typos"], out=tmp_path / "out", validity="paper").finished
    assert run.read_text() == whole


@pytest.mark.parametrize("name", SMALL)
def test_a_folder_that_holds_something_else_is_left_alone(name, calm, tmp_path):
    given, *_ = calm(name)
    (tmp_path / "photo.jpg").write_text("of a dog")
    with pytest.raises(MalapropError, match=r"something else than a run \(photo.jpg\)|exists and is not a model"):
        conduct(build(study_of(name), {**given, "out": tmp_path}))
    assert [one.name for one in tmp_path.iterdir() if not one.name.startswith(".")] == ["photo.jpg"]


@pytest.mark.parametrize("name", [name for name in SMALL if name != "natural synthetic"])
def test_a_file_that_was_changed_is_another_setting(name, calm):
    given, expected, first = calm(name)
    data = given["data"][0] if isinstance(given["data"], list) else given["data"]
    changed = next(one for one in (Path(data), *sorted(Path(data).glob("*.json"))) if one.is_file())
    before = changed.read_bytes()
    changed.write_bytes(before + b"\n")
    try:
        with pytest.raises(
            RecordError, match=r"a study of another (data|folder): .* had the fingerprint [0-9a-f]+ then, and now"
        ):
            conduct(build(study_of(name), {**given, "out": first.folder}))
    finally:
        changed.write_bytes(before)
    assert content(first.folder) == expected


@pytest.mark.parametrize("name", STUDIES)
def test_the_command_has_every_setting_and_explains_it(name):
    cls = find_study(name)
    told = CliRunner().invoke(app, [*name.split(), "--help-all"], terminal_width=200)
    assert told.exit_code == 0
    for option in options(cls):
        assert option.help, option.name
        assert (option.flag in told.stdout) != option.hidden
    assert cls.command == name


def test_python_takes_objects_and_keeps_a_folder_for_the_result():
    import toy

    pairs = [("a good film", 1), ("a bad film", 0)]
    found = mp.study(
        "leaderboard", victims=[toy.predict], attacks=["deepwordbug"], data=pairs, n="all", validity="paper"
    )
    folder = found.folder
    assert [o.id for o in found.outcomes] == [o.id for o in found.runs["runs/predict/deepwordbug"]]
    assert found.record.entries[0].victim == "predict"
    assert 'victim = ["<predict>"]' in (folder / "study.toml").read_text()
    with pytest.raises(MalapropError, match="was an object of Python"):
        mp.run(folder / "study.toml")
    assert mp.report(folder).is_file()
    del found
    assert not folder.exists()


def test_wrong_names_of_studies():
    with pytest.raises(MalapropError, match="did you mean"):
        mp.study("onewrod")
    with pytest.raises(MalapropError, match="is not a study and cannot run from settings"):
        mp.study("serve")
    with pytest.raises(MalapropError, match="no setting is called 'vicitms'"):
        mp.study("leaderboard", vicitms=["x"])
