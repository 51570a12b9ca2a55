"""scikit-learn pipelines, as objects or in skops files; pickles are refused."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from malaprop.core.errors import VictimError
from malaprop.models.victims.strings import StringVictim

REFUSED = (".pkl", ".pickle", ".joblib", ".dill", ".cloudpickle")


def wrap_sklearn(pipeline: Any, *, name: str | None = None, fingerprint: str = "") -> StringVictim:
    """Wrap a pipeline that scores by `predict_proba`, else `decision_function`, else labels alone by `predict`.

    Label i is the i-th of the pipeline's `classes_`; where these are strings, they name the labels. The fields of a
    pair are joined by a line break.
    """
    name = name or type(pipeline).__name__
    probabilities: Any = getattr(pipeline, "predict_proba", None)  # absent where the last step has none
    decision: Any = getattr(pipeline, "decision_function", None)
    classes = _classes(pipeline)
    if is_regressor(pipeline):
        return StringVictim(
            call=lambda texts: pipeline.predict(_joined(texts)),
            name=name,
            answers="number",
            fingerprint=fingerprint,
            batch=256,
        )
    if probabilities is None and decision is None and not classes:
        raise VictimError(
            f"{name} has neither predict_proba nor decision_function, and no classes_; expected a fitted classifier"
        )

    places = {label: place for place, label in enumerate(classes)}

    def scores(texts: list[str] | list[tuple[str, ...]]) -> NDArray[Any]:
        joined = _joined(texts)
        if probabilities is not None:
            return np.asarray(probabilities(joined))
        if decision is None:
            return np.asarray([places[label] for label in pipeline.predict(joined).tolist()])
        values = np.asarray(decision(joined))
        return np.stack([-values, values], 1) if values.ndim == 1 else values

    if _is_multi_label(pipeline):
        return StringVictim(
            call=scores, name=name, multi_label=tuple(map(str, classes)), fingerprint=fingerprint, batch=256
        )
    return StringVictim(
        call=scores,
        name=name,
        labels=len(classes) or None,
        label_names=tuple(map(str, classes)) if all(isinstance(each, str) for each in classes) else (),
        fingerprint=fingerprint,
        batch=256,
    )


def _joined(texts: list[str] | list[tuple[str, ...]]) -> list[str]:
    return [text if isinstance(text, str) else "\n".join(text) for text in texts]


def is_regressor(pipeline: Any) -> bool:
    """Return whether an object is a scikit-learn model that gives a number."""
    try:
        from sklearn.base import is_regressor as asked

        return bool(asked(pipeline))
    except (ImportError, AttributeError, TypeError):
        return False


def _is_multi_label(pipeline: Any) -> bool:
    """Return whether the last step gives every label by itself, as OneVsRestClassifier does for sets of labels."""
    last = pipeline[-1] if hasattr(pipeline, "steps") else pipeline
    return getattr(last, "multilabel_", False) is True and getattr(pipeline, "predict_proba", None) is not None


def _classes(pipeline: Any) -> list[Any]:
    """Return the classes of the pipeline; none where it has not been fitted, or has no `classes_`."""
    try:
        return list(np.asarray(pipeline.classes_).tolist())
    except AttributeError:
        return []


def refuse_pickle(path: Path) -> VictimError:
    return VictimError(
        f"{path} is a pickle, and loading one runs whatever code it holds; "
        f"save the pipeline with skops: skops.io.dump(pipeline, '{path.stem}.skops')"
    )


def read_skops(path: Path) -> Any:
    """Load the object in a skops file; raise unless all its types are known."""
    try:
        from skops import io
        from skops.io.exceptions import UntrustedTypesFoundException
    except ImportError:
        raise VictimError(f"{path} needs scikit-learn and skops; install malaprop[sklearn]") from None
    try:
        return io.load(path, trusted=[])
    except UntrustedTypesFoundException:
        types = ", ".join(io.get_untrusted_types(file=path)[:5])
        raise VictimError(
            f"{path} holds types that are not known to be safe ({types}); save a pipeline of scikit-learn parts alone, "
            "or give the model as module:attribute"
        ) from None
    except Exception as error:  # noqa: BLE001 - a broken file fails in many ways
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:160]
        raise VictimError(f"{path} cannot be read as a skops file: {reason}; write it with skops.io.dump") from None


def load_skops(path: Path, *, name: str | None = None) -> StringVictim:
    """Load a pipeline from a skops file as a victim; raise unless all its types are known."""
    pipeline = read_skops(path)
    digest = sha256(path.read_bytes()).hexdigest()[:16]
    return wrap_sklearn(pipeline, name=name or path.stem, fingerprint=digest)
