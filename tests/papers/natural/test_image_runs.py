"""Natural adversaries of images from start to record: runs, comparisons, sweeps, and the commands."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from papers.natural.small_images import brightest, write_bars

from malaprop.cli.main import main
from malaprop.core.errors import SettingError
from malaprop.data.images import draw_scenes, is_images, load
from malaprop.frame.records.summary import Rate, Spread
from malaprop.papers.natural.compare import compare_searches, correlation, largest, pairs, ranks, spearman
from malaprop.papers.natural.generators import train_on
from malaprop.papers.natural.images import ImageTarget, make_image_data
from malaprop.papers.natural.models.image_victim import of_function
from malaprop.papers.natural.models.training import ImagePlan
from malaprop.papers.natural.record import ImageResult, ImageRunFigures, NaturalRecord, SweepDot
from malaprop.papers.natural.search.algorithms import Shrinking
from malaprop.papers.natural.search.service import LatentRun
from malaprop.papers.natural.sweep import AccuracySweep, choose_classifiers

PLAN = {"width": 8, "dim": 4, "steps": 200, "batch": 32, "inverter_rate": 3e-3, "weight": 0.05}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A set of bars and a VAE of it."""
    folder = tmp_path_factory.mktemp("images")
    data = write_bars(folder / "bars.npz", many=500)
    train_on(ImagePlan(kind="vae", **PLAN), *(load(data, part) for part in ("train", "test")), folder / "vae", seed=0)
    return folder


@pytest.fixture
def latent_run(place):
    from malaprop.papers.natural.models.images import load as generator

    data, manifold = load(place / "bars.npz").sample(12, 0), generator(place / "vae")
    latent_data = make_image_data(data, manifold)

    def make(width=4, victim=brightest, drawn=True, **more):
        victim = of_function(victim, name="brightest")
        target = ImageTarget(latent_data=latent_data, manifold=manifold, victim=victim, drawn=drawn)
        return LatentRun(target=target, search=Shrinking(samples=60, step=0.1, reach=6.0), width=width, **more)

    return make


def test_adversaries_are_found_told_and_true(latent_run):
    finds = list(latent_run().run())
    assert len(finds) == 12
    hits = [find for find in finds if find.status == "success"]
    assert len(hits) >= 8
    for find in hits:
        assert find.changed != find.prediction == find.label
        assert find.distance > 0
        assert all(
            picture.startswith("data:image/png;base64,")
            for picture in (find.original, find.returned, find.adversary, find.difference, find.strip)
        )
    assert {find.status for find in finds} <= {"success", "skipped"}


def test_width_and_pictures_change_nothing(latent_run):
    alone, together = (sorted(latent_run(width=w, drawn=False).run(), key=lambda f: f.id) for w in (1, 12))
    assert alone == together


def test_a_victim_that_never_changes_ends_at_its_cap(latent_run):
    def stubborn(arrays):
        return np.eye(4)[np.zeros(len(arrays), int)]

    finds = [f for f in latent_run(victim=stubborn, cap=500).run() if f.status != "skipped"]
    assert finds
    assert {find.status for find in finds} == {"failed"}
    assert all(find.asked <= 500 and find.reason for find in finds)


def test_a_victim_that_fails_gives_errors_not_an_end(latent_run):
    calls = 0

    def failing(arrays):
        nonlocal calls
        calls += 1
        if calls > 2:
            raise RuntimeError("out of order")
        return brightest(arrays)

    finds = list(latent_run(victim=failing).run())
    assert {find.status for find in finds} <= {"error", "skipped"}
    assert "out of order" in next(find.reason for find in finds if find.status == "error")


def found(id_, distance, status="success"):
    return ImageResult(id=id_, status=status, label=0, prediction=0, distance=distance)


def test_comparisons_by_hand():
    one = [found("a", 1.0), found("b", 2.0), found("c", 1.0), found("d", None, "failed")]
    two = [found("a", 2.0), found("b", 3.0), found("c", 1.0), found("d", 9.0)]
    (pair,) = pairs({"one": one, "two": two})
    assert (pair.larger, pair.ties) == (Rate(2, 2), 1)
    assert pair.p == pytest.approx(0.5)  # both of two: 2 / 2 ** 2
    assert largest({"one": one, "two": two}) == {"one": Rate(0, 2), "two": Rate(2, 2)}


def test_searches_are_compared_on_the_items_that_both_found():
    quick = [replace(found(str(i), 1.1), asked=100) for i in range(9)]
    slow = [replace(found(str(i), 1.0), asked=300 + i) for i in range(8)] + [found("8", None, "failed")]
    (pair,) = compare_searches({"forest": {"hybrid": quick, "iterative": slow}})
    assert (pair.one, pair.two, pair.count) == ("hybrid", "iterative", 8)
    assert pair.asked.value == pytest.approx(3.035)
    assert 3.0 <= pair.asked.low < pair.asked.value < pair.asked.high <= 3.07
    assert (pair.distance.value, pair.distance.low) == (pytest.approx(0.9091), pytest.approx(0.9091))
    assert compare_searches({"forest": {"hybrid": quick}}) == ()


def test_the_sign_test_needs_ten_to_be_sure():
    one = [found(str(i), 1.0) for i in range(10)]
    two = [found(str(i), 2.0) for i in range(10)]
    (pair,) = pairs({"one": one, "two": two})
    assert pair.p == pytest.approx(2 / 1024)


def test_ranks_and_their_correlation():
    assert ranks(np.asarray([3.0, 1.0, 3.0, 2.0])).tolist() == [3.5, 1.0, 3.5, 2.0]
    assert spearman(np.asarray([1.0, 2, 3]), np.asarray([1.0, 4, 9])) == pytest.approx(1)
    assert np.isnan(spearman(np.asarray([1.0, 1]), np.asarray([1.0, 4])))
    scipy = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 5, 30).astype(float), rng.standard_normal(30)
    assert spearman(a, b) == pytest.approx(scipy.spearmanr(a, b).statistic)
    dots = [
        SweepDot(name=str(i), group="g", accuracy=Rate(i, 10), distance=Spread(float(i), None), found=Rate(1, 1))
        for i in range(6)
    ]
    told = correlation(dots)
    assert (told.rho, told.count) == (1.0, 6)
    assert correlation(dots[:3]) is None
    assert correlation([replace(dot, accuracy=Rate(9, 10)) for dot in dots]) is None


def test_what_a_judge_says_adds_up():
    finds = [
        ImageResult(
            id="a", status="success", label=1, prediction=1, start=1, changed=2, judged=1, distance=1.0, asked=10
        ),
        ImageResult(
            id="b", status="success", label=1, prediction=1, start=2, changed=2, judged=2, distance=3.0, asked=30
        ),
        ImageResult(
            id="c", status="success", label=1, prediction=1, start=1, changed=2, judged=7, distance=5.0, asked=50
        ),
        ImageResult(id="d", status="failed", label=1, prediction=1, start=1, asked=99, reason="the cap"),
        ImageResult(id="e", status="skipped", label=1, prediction=0, start=0),
        ImageResult(id="f", status="error", label=1, prediction=1, start=1, asked=5, reason="out of order"),
    ]
    tried = ImageRunFigures.of(finds, victim="v", search="s", settings="", accuracy=Rate(4, 5))
    assert (tried.success, tried.started) == (Rate(3, 4), Rate(1, 4))
    assert tried.distance == Spread(3.0, 3.0)
    assert tried.searched == Spread(3.0, 3.0)  # of a and c: where b began, the answer had changed
    assert [r.hits for r in (tried.judged_original, tried.judged_changed, tried.judged_other)] == [1, 1, 1]
    assert tried.reasons == {"the cap": 1}
    assert tried.errors == 1


@pytest.mark.parametrize("many", [6, 40, 80])
def test_a_sweep_has_every_group(many):
    chosen = choose_classifiers(many)
    assert len(chosen) == many
    groups = [group for group, _ in chosen.values()]
    assert set(groups) == {"width", "dropout", "variant"}
    assert len({plan for _, plan in chosen.values()}) == many
    if many >= 40:
        assert {plan.widths for group, plan in chosen.values() if group == "width"} == {(2**k,) for k in range(1, 11)}
    with pytest.raises(SettingError, match="2 to"):
        choose_classifiers(1)


@pytest.fixture
def type_in(monkeypatch, capsys, place, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MALAPROP_CACHE", str(place / "cache"))

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["malaprop", *map(str, words)])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_the_command(type_in, place):
    words = ["--data", place / "bars.npz", "--generator", place / "vae", "--n", 12, "--device", "cpu", "--json"]
    search = ["--set", "samples=50", "--set", "step=0.1"]
    code, out, err = type_in("natural", "--victim", "mlp", *words, *search, "--out", "one")
    assert code == 0, err
    told = json.loads(out.splitlines()[-1])
    assert {run["search"] for run in told["runs"]} == {"hybrid", "fgsm"}
    assert told["runs"][0]["success"]["total"] >= 10
    page = Path("one/report.html").read_text(encoding="utf-8")
    assert "data:image/png" in page
    assert page.count("<script") == 1  # our own, which saves figures
    code, again, _ = type_in("natural", "--victim", "mlp", *words, *search, "--out", "one")
    assert json.loads(again.splitlines()[-1])["runs"][0]["distance"] == told["runs"][0]["distance"]
    assert type_in("report", "one")[0] == 0


def test_compare_and_sweep(type_in, place):
    words = ["--data", place / "bars.npz", "--generator", place / "vae", "--device", "cpu", "--json"]
    code, out, err = type_in(
        *("natural", "compare", "--victims", "forest,mlp", "--searches", "hybrid,boundary", "--n", 10),
        *("--set", "hybrid.samples=50", "--set", "hybrid.step=0.1", "--set", "boundary.samples=40"),
        *(*words, "--out", "two"),
    )
    assert code == 0, err
    told = json.loads(out.splitlines()[-1])
    assert len(told["runs"]) == 4
    assert len(told["pairs"]) == 1
    code, out, err = type_in(
        *("natural", "sweep", "--classifiers", 6, "--n", 5, "--epochs", 4, "--set", "samples=30", *words),
        *("--out", "three"),
    )
    assert code == 0, err
    assert len(NaturalRecord.read(Path("three")).dots) == 6
    assert json.loads(out.splitlines()[-1])["correlations"][0]["count"] >= 4


def test_a_sweep_that_is_killed_goes_on_to_the_same_record(type_in, place, monkeypatch):
    words = ["natural", "sweep", "--classifiers", 5, "--n", 4, "--epochs", 2, "--set", "samples=20"]
    words += ["--data", place / "bars.npz", "--generator", place / "vae", "--device", "cpu"]
    assert type_in(*words, "--out", "whole")[0] == 0
    train, names = AccuracySweep.dot, []

    def killed(sweep, name, group, plan):
        if len(names) == 3:
            raise KeyboardInterrupt
        names.append(name)
        return train(sweep, name, group, plan)

    monkeypatch.setattr(AccuracySweep, "dot", killed)
    assert type_in(*words, "--out", "torn")[0] != 0
    assert [dot.name for dot in NaturalRecord.read(Path("torn")).dots] == names
    assert type_in("report", "torn")[0] == 0

    def rest(sweep, name, group, plan):
        names.append(name)
        return train(sweep, name, group, plan)

    monkeypatch.setattr(AccuracySweep, "dot", rest)
    code, _, err = type_in(*words, "--epochs", 3, "--out", "torn")
    assert (code, len(names)) == (2, 3)
    assert "epochs = 2, and here it is 3" in err
    assert type_in(*words, "--out", "torn")[0] == 0
    assert len(names) == len(set(names)) == 5
    assert NaturalRecord.read(Path("torn")) == NaturalRecord.read(Path("whole"))


def test_results_are_neither_emptied_nor_mixed(type_in, place):
    words = ["natural", "--data", place / "bars.npz", "--generator", place / "vae", "--n", 6, "--device", "cpu"]
    words += ["--set", "samples=30", "--set", "step=0.1", "--judge", "none", "--quiet"]
    assert type_in(*words, "--victim", "mlp", "--out", "kept")[0] == 0
    before = {path.name: path.read_bytes() for path in Path("kept").iterdir()}
    for more, said in [
        (("--victim", "forest"), "victim = 'mlp', and here it is 'forest'"),
        (("--victim", "mlp", "--seed", 1), "seed = 0, and here it is 1"),
        (("--victim", "mlp", "--n", 7), "n = 6, and here it is 7"),
        (("--victim", "mlp", "--set", "step=0.2"), "set step = 0.1, and here it is 0.2"),
        (("--victim", "mlp", "--search", "iterative"), "search = 'hybrid', and here it is 'iterative'"),
        (("--victim", "mlp", "--cap", 50), "and here it is 50"),
        (("--victim", "mlp", "--refine", 2), "refine = 0, and here it is 2"),
    ]:
        code, _, err = type_in(*words, *more, "--out", "kept")
        assert code == 2, (more, err)
        assert said in err
        assert len(err.strip().splitlines()) == 1
        assert {path.name: path.read_bytes() for path in Path("kept").iterdir()} == before
    assert type_in("natural", "synthetic", "--n", 2, "--out", "kept")[0] == 2
    assert type_in(*words, "--victim", "mlp", "--width", 3, "--out", "kept")[0] == 0


def test_a_comparison_is_neither_emptied_nor_mixed(type_in, place):
    words = ["natural", "compare", "--data", place / "bars.npz", "--generator", place / "vae", "--n", 4]
    words += ["--set", "samples=30", "--set", "step=0.1", "--judge", "none", "--quiet", "--out", "two"]
    assert type_in(*words, "--victims", "mlp,forest")[0] == 0
    Path("two/natural.json").unlink()  # as if it had been killed before its end
    code, _, err = type_in(*words, "--victims", "lenet,mlp")
    assert code == 2
    assert "a study with victim = ['mlp', 'forest'], and here it is ['lenet', 'mlp']" in err
    assert not Path("two/hybrid/lenet").exists(), "refused before any work"
    assert type_in(*words, "--victims", "mlp,forest", "--seed", 1)[0] == 2
    assert type_in(*words, "--victims", "mlp,forest")[0] == 0


def test_models_are_trained_by_name(type_in, place):
    code, out, err = type_in(
        *("train", "vae", "--data", place / "bars.npz", "--out", "vae", "--device", "cpu", "--json"),
        *("--set", "steps=3", "--set", "width=2", "--set", "dim=3"),
    )
    assert code == 0, err
    assert json.loads(out.splitlines()[-1])["classes"] == 4
    code, out, err = type_in(
        "train", "mlp", "--data", place / "bars.npz", "--set", "widths=8", "--out", "mlp", "--json"
    )
    assert code == 0, err
    assert 0 <= json.loads(out.splitlines()[-1])["test_accuracy"] <= 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["natural", "--data", "none.npz"], "no such image set: none.npz"),
        (["natural", "--search", "best"], "no latent-search is called 'best'"),
        (["natural", "--set", "sample=3"], "did you mean samples"),
        (["natural", "--set", "hybird.samples=3"], "hybrid"),
        (["natural", "--generator", "."], "is not a generative model"),
        (["natural", "--victim", "nothing"], "no image victim 'nothing'"),
        (["natural", "compare", "--victims", "forest"], "two victims or more"),
        (["natural", "--probe", "verb-dropped"], "--probe verb-dropped asks a translator of texts"),
        (["natural", "--data", "mr", "--victim", "forest"], "forest is a classifier of images, and mr holds texts"),
        (["natural", "--data", "mr", "--judge", "lenet"], "--judge lenet is of images"),
        (["natural", "sweep", "--classifiers", "9999"], "2 to"),
        (["train", "wgan", "--data", "reviews.csv"], "wgan reads images"),
        (["train", "wgan", "--set", "stepz=1"], "steps"),
        (["train", "mlp", "--set", "dropout=2"], "dropout must be in"),
    ],
)
def test_bad_input_is_told_in_one_line(type_in, place, words, said):
    more = [] if "--data" in words else ["--data", str(place / "bars.npz")]
    if words[0] == "natural" and "--generator" not in words:
        more += ["--generator", str(place / "vae")]
    code, _, err = type_in(*words, *more, "--out", "bad")
    assert code == 2, err
    assert said in err
    assert "Traceback" not in err


def test_a_generator_of_other_images_is_refused_unless_forced(type_in, place, tmp_path):
    other = write_bars(tmp_path / "other.npz", many=400, seed=5)
    words = ["natural", "--victim", "mlp", "--data", other, "--generator", place / "vae", "--n", 4, "--device", "cpu"]
    code, _, err = type_in(*words, "--out", "other")
    assert code == 2
    assert "--force" in err
    code, _, err = type_in(*words, "--force", "--set", "samples=20", "--set", "step=0.5", "--out", "other")
    assert code == 0, err


def test_a_folder_of_ones_own_goes_before_a_name(type_in, place, tmp_path):
    (tmp_path / "vae").symlink_to(place / "vae")
    words = ["natural", "--victim", "mlp", "--data", place / "bars.npz", "--generator", "vae", "--n", 4]
    words += ["--device", "cpu", "--judge", "none", "--set", "samples=20", "--set", "step=0.5", "--quiet"]
    assert type_in(*words, "--out", "own")[0] == 0
    assert not (place / "cache" / "generators").exists(), "none is trained"


def test_scenes_are_drawn_alike_each_time():
    (images, labels), (again, _) = draw_scenes(8), draw_scenes(8)
    assert (images == again).all()
    assert labels.tolist() == [0, 1] * 4
    upper = (images[:, :12].std(axis=(1, 2, 3)) > 0).sum()
    assert (images.shape, images.dtype, upper) == ((8, 32, 32, 3), np.uint8, 8)
    assert is_images("scenes")
