"""scikit-learn pipelines as objects and skops files."""

import numpy as np
import pytest

from malaprop.core.errors import VictimError
from malaprop.data.base import turn
from malaprop.frame.runs.load_victim import load, wrap

pytest.importorskip("sklearn")
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC

TEXTS = ["a good film", "a fine film", "a bad film", "a dull film", "a plain film"] * 4


def fitted(last, labels):
    return make_pipeline(TfidfVectorizer(), last).fit(TEXTS, labels * 4)


def test_probabilities():
    pipeline = fitted(LogisticRegression(), [1, 1, 0, 0, 0])
    victim = wrap(pipeline)
    assert victim.labels == 2
    assert np.allclose(victim.predict([("a good film",)]), pipeline.predict_proba(["a good film"]), atol=1e-6)
    assert victim.predict([("good", "bad")]).shape == (1, 2)


@pytest.mark.parametrize("labels", [[1, 1, 0, 0, 0], [2, 2, 1, 1, 0]])
def test_decisions_become_one_score_a_label(labels):
    pipeline = fitted(LinearSVC(), labels)
    victim = wrap(pipeline, name="svm")
    scores = victim.predict([(t,) for t in TEXTS[:5]])
    assert scores.shape == (5, len(set(labels)))
    assert scores.argmax(1).tolist() == pipeline.predict(TEXTS[:5]).tolist()
    assert victim.notes


@pytest.mark.parametrize(
    ("labels", "names"),
    [(["World", "World", "Sports", "Sports", "Sports"], ("Sports", "World")), ([1, 1, 0, 0, 0], ())],
)
def test_classes_with_names_name_the_labels(labels, names):
    """Data whose labels come in another order is then matched by name; without it every text would count as wrong."""
    victim = wrap(fitted(LogisticRegression(), labels))
    assert victim.label_names == names
    assert turn("news", ("World", "Sports"), victim.label_names) == ([1, 0] if names else None)


def test_skops_files(tmp_path):
    io = pytest.importorskip("skops.io")
    pipeline = fitted(LogisticRegression(), [1, 1, 0, 0, 0])
    io.dump(pipeline, tmp_path / "mine.skops")
    victim = load(tmp_path / "mine.skops")
    assert victim.name == "mine"
    assert len(victim.fingerprint) == 16
    assert np.allclose(victim.predict([("a bad film",)]), pipeline.predict_proba(["a bad film"]), atol=1e-6)


def _odd(x):
    return x


def test_files_that_are_not_safe_or_not_whole(tmp_path):
    io = pytest.importorskip("skops.io")
    io.dump(make_pipeline(FunctionTransformer(_odd), LogisticRegression()), tmp_path / "odd.skops")
    with pytest.raises(VictimError, match=r"not known to be safe \(.*_odd"):
        load(tmp_path / "odd.skops")
    (tmp_path / "bad.skops").write_bytes(b"PK no")
    with pytest.raises(VictimError, match="cannot be read as a skops file"):
        load(tmp_path / "bad.skops")
    with pytest.raises(VictimError, match="no such file"):
        load(tmp_path / "none.skops")


@pytest.mark.parametrize("suffix", ["pkl", "joblib", "pickle"])
def test_pickles_are_refused(tmp_path, suffix):
    (tmp_path / f"m.{suffix}").write_bytes(b"\x80\x04")
    with pytest.raises(VictimError, match=r"is a pickle.*skops.io.dump\(pipeline, 'm.skops'\)"):
        load(tmp_path / f"m.{suffix}")


def test_a_pipeline_that_does_not_score():
    with pytest.raises(VictimError, match="is not a victim"):
        wrap(TfidfVectorizer())


class OnlyPredicts:
    """A fitted classifier with `predict` and nothing else."""

    def __init__(self, inner):
        self.predict, self.classes_ = inner.predict, inner.classes_


def test_a_classifier_that_only_predicts_gives_labels_alone():
    pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(["good film", "bad film"], ["pos", "neg"])
    made = wrap(OnlyPredicts(pipeline))
    assert made.label_names == ("neg", "pos")
    assert made.predict(["good", "bad"]).tolist() == [[0, 1], [1, 0]]
    assert "labels alone" in made.notes[0]
