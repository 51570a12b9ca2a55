"""Send the figures, settings and files of a finished study to mlflow, wandb or tensorboard.

Trackers are configured by their own environment variables, such as MLFLOW_TRACKING_URI or WANDB_MODE.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from malaprop.core.errors import SettingError

if TYPE_CHECKING:
    from malaprop.frame.study.study import Result

PROJECT = "malaprop"
_UNSAFE = re.compile(r"[^A-Za-z0-9_./ -]+")
_LONGEST = 500  # characters of a setting, which is what mlflow takes
_LEFT_OUT = ("out", "json", "quiet", "track", "dry_run")


def check_trackers(names: Sequence[str]) -> None:
    """Raise SettingError before any work is done if a tracker is not installed."""
    for name in names:
        if find_spec(name) is None:
            raise SettingError(f"--track {name} needs the package {name}; pip install 'malaprop[track]'")


def figures_of(result: Result) -> dict[str, float]:
    """Return every number of the result's rows, named by the texts of its row: VICTIM/RECIPE/under_attack."""
    found: dict[str, float] = {}
    for row in result.rows:
        words = [str(value) for name, value in row.items() if isinstance(value, str) and name not in ("data", "split")]
        for name, value in row.items():
            if isinstance(value, (int, float)) and not isinstance(value, bool) and value == value:
                found[_UNSAFE.sub("_", "/".join([*words, name]))] = float(value)
    if result.spent is not None:
        spent = result.spent
        found |= {"spent/queries": float(spent.queries), "spent/cost": spent.cost, "spent/minutes": spent.seconds / 60}
    return found


def settings_of_study(result: Result) -> dict[str, str]:
    """Return the settings that are not empty, as text."""
    from malaprop.frame.study.settings import flat, show

    said = {name: show(value) for name, value in flat(result.study).items() if value not in (None, "", ())}
    return {name: str(value)[:_LONGEST] for name, value in said.items() if name not in _LEFT_OUT}


def files_of(result: Result) -> list[Path]:
    """Return the small files of the result: report, settings, records and summaries."""
    return sorted(path for path in result.folder.iterdir() if path.suffix in (".html", ".json", ".toml", ".svg"))


def send(result: Result, names: Sequence[str]) -> None:
    """Send the result to the named trackers; a tracker's own exception passes through."""
    for name in names:
        _SENDERS[name](result, figures_of(result), settings_of_study(result))


def _send_to_mlflow(result: Result, figures: Mapping[str, float], settings: Mapping[str, str]) -> None:
    import mlflow

    mlflow.set_experiment(PROJECT)
    with mlflow.start_run(run_name=result.folder.name):
        mlflow.set_tags({"command": result.study.command, "state": result.state})
        mlflow.log_params(dict(settings))
        mlflow.log_metrics(dict(figures))
        for path in files_of(result):
            mlflow.log_artifact(str(path))


def _send_to_wandb(result: Result, figures: Mapping[str, float], settings: Mapping[str, str]) -> None:
    import wandb

    with wandb.init(
        dir=str(result.folder),
        project=PROJECT,
        name=result.folder.name,
        job_type=result.study.command,
        config=dict(settings),
    ) as to:
        to.log(dict(figures))
        to.summary["state"] = result.state
        held = wandb.Artifact(re.sub(r"[^\w.-]+", "-", f"{PROJECT}-{result.folder.name}"), type="report")
        for path in files_of(result):
            held.add_file(str(path))
        to.log_artifact(held)


def _send_to_tensorboard(result: Result, figures: Mapping[str, float], settings: Mapping[str, str]) -> None:
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(result.folder / "tensorboard")) as to:
        for name, value in figures.items():
            to.add_scalar(name, value, 0)
        lines = "".join(f"| {name} | {value} |\n" for name, value in settings.items())
        to.add_text("settings", f"| setting | value |\n| --- | --- |\n{lines}", 0)


_SENDERS: dict[str, Callable[[Any, Mapping[str, float], Mapping[str, str]], None]] = {
    "mlflow": _send_to_mlflow,
    "wandb": _send_to_wandb,
    "tensorboard": _send_to_tensorboard,
}
