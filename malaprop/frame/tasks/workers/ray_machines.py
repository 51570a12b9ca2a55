"""Looks at every machine of a cluster before work begins: has it this package, and in this version?

`look` is sent by value and imports the standard library alone, for it has to run where the package is missing.
"""

from __future__ import annotations

import sys
from typing import Any

from malaprop.core.errors import SettingError

_PATIENCE = 120.0  # seconds for a machine to start a process and answer


def look() -> tuple[str, str | None, str]:
    """Host, version of the package there (None: it cannot be imported), and why not."""
    import importlib
    import socket

    try:
        found = importlib.import_module("malaprop")
        return socket.gethostname(), str(getattr(found, "__version__", "unknown")), ""
    except Exception as error:  # noqa: BLE001 - told to the driver, whatever it is
        return socket.gethostname(), None, f"{type(error).__name__}: {error}"


def check_machines() -> int:
    """Refuses a cluster of which a machine lacks the package or has another version; gives the number of machines."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as At

    machines = [node for node in ray.nodes() if node["Alive"] and _works(node)]
    task = ray.remote(by_value(look))
    asked = [
        task.options(num_cpus=0, max_retries=0, scheduling_strategy=At(node["NodeID"], soft=False)).remote()
        for node in machines
    ]
    answers = []
    for node, ref in zip(machines, asked, strict=True):
        where = node.get("NodeManagerAddress", "a machine")
        try:
            answers.append(ray.get(ref, timeout=_PATIENCE))
        except ray.exceptions.GetTimeoutError:
            raise SettingError(f"{where} did not answer within {_PATIENCE:.0f} s; is the cluster overloaded?") from None
        except ray.exceptions.RayError as error:
            if node["NodeID"] in {n["NodeID"] for n in ray.nodes() if n["Alive"]}:
                raise SettingError(f"{where} cannot run a task: {str(error).splitlines()[0][:200]}") from None
    refuse(answers)
    return len(answers)


def refuse(answers: list[tuple[str, str | None, str]]) -> None:
    """Raises for the first machine that differs, with both versions."""
    from malaprop import __version__

    for host, version, why in answers:
        if version is None:
            raise SettingError(
                f"the worker machine {host} lacks malaprop (here {__version__}): {why[:200]}; install "
                f"malaprop=={__version__} there, or use an image that has it"
            )
        if version != __version__:
            raise SettingError(
                f"the worker machine {host} has malaprop {version}, here it is {__version__}; install the same version "
                "on both"
            )


def _works(node: dict[str, Any]) -> bool:
    return bool(node["Resources"].get("CPU") or node["Resources"].get("GPU"))


def by_value(function: Any) -> Any:
    """The function, marked to be sent as code instead of as a name to import."""
    from ray import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[function.__module__])
    return function
