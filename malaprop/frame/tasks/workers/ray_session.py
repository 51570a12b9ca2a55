"""Join a Ray cluster or start one here, check the machines' versions, send a victim's files, leave Ray as found."""

from __future__ import annotations

import logging
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from malaprop.core.errors import SettingError, VictimError

_REACH = 5.0  # seconds to open a connection to the address


@dataclass(frozen=True, slots=True)
class Session:
    """A joined cluster. `shared`: its workers run on this machine and see its disk."""

    shared: bool
    cpus: int
    gpus: int
    machines: int


@contextmanager
def join(address: str | None = None, *, workers: int | None = None) -> Iterator[Session]:
    """Joins the cluster at `address` (or RAY_ADDRESS), or starts one on this machine for as long as the block lasts.

    A Ray that runs in this process already is used and left running.
    """
    ray = _ray()
    if ray.is_initialized():
        yield _look(shared=False)
        return
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    address = _running_here() if address == "auto" else address
    own = address == "local"
    room = tempfile.mkdtemp(prefix="mp-ray-") if own else None  # short: the name of a socket may not be long
    try:
        _start(ray, address, workers, room)
        yield _look(shared=own)
    finally:
        ray.shutdown()
        if room is not None:
            shutil.rmtree(room, ignore_errors=True)


def _ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # read when Ray is imported: nothing is sent anywhere
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # its coming default, without the warning
    try:
        import ray
    except ImportError:
        raise SettingError("--engine ray needs the ray library; install malaprop[ray]") from None
    return ray


def _start(ray: Any, address: str, workers: int | None, room: str | None) -> None:
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    if room is not None:
        cores = max(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, 1)
        ray.init(address="local", num_cpus=max(cores, workers or 0), include_dashboard=False, _temp_dir=room, **quiet)
        return
    _reach(address)
    try:
        ray.init(address=address, **quiet)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        ray.shutdown()
        words = " ".join(str(error).split())
        raise SettingError(f"no Ray cluster answers at {address}: {words[:300]}") from None


def _running_here() -> str:
    """The address of the cluster that runs on this machine.

    Ray would look it up by itself, but a driver that joins in that way loses its actors (seen with 2.60).
    """
    place = Path(os.environ.get("RAY_TMPDIR") or tempfile.gettempdir(), "ray", "ray_current_cluster")
    try:
        return place.read_text(encoding="utf-8").strip()
    except OSError:
        raise SettingError(
            "no Ray cluster runs on this machine; start one with ray start --head, or leave --address out"
        ) from None


def _reach(address: str) -> None:
    """Raise at once if no Ray head listens at the address: Ray itself would try for minutes."""
    if "://" in address:
        raise SettingError(
            f"--address takes HOST:PORT or auto, got {address!r}; start the run on the cluster itself, for example "
            "with ray job submit"
        )
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise SettingError(f"--address takes HOST:PORT (a Ray head listens on 6379 as a rule) or auto, got {address!r}")
    advice = "give the address that ray start --head printed, or leave --address out to use this machine"
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH) as line:
            greeted = os.environ.get("RAY_USE_TLS") == "1" or _greets(line)
    except OSError as error:
        why = error.strerror or str(error) or type(error).__name__
        raise SettingError(f"nobody listens at {address}: {why}; {advice}") from None
    if not greeted:
        raise SettingError(f"what listens at {address} is not a Ray head; {advice}")


def _greets(line: socket.socket) -> bool:
    """Return whether the server answers the preface of HTTP/2, which Ray's gRPC uses, with a SETTINGS frame."""
    line.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
    try:
        head = line.recv(9, socket.MSG_WAITALL)
    except OSError:
        return False
    return len(head) == 9 and head[3] == 4  # a frame's type: 4 for settings


def _look(*, shared: bool) -> Session:
    import ray

    machines = check_machines()
    found = ray.cluster_resources()
    return Session(shared=shared, cpus=int(found.get("CPU", 0)), gpus=int(found.get("GPU", 0)), machines=machines)


_PATIENCE = 120.0  # seconds for a machine to start a process and answer


def look() -> tuple[str, str | None, str]:
    """Return host, version of malaprop there (None if it cannot be imported) and the reason.

    It is sent by value and imports only the standard library, for it runs where malaprop may be missing.
    """
    import importlib
    import socket

    try:
        found = importlib.import_module("malaprop")
        return socket.gethostname(), str(getattr(found, "__version__", "unknown")), ""
    except Exception as error:  # noqa: BLE001 - the driver decides what an error means
        return socket.gethostname(), None, f"{type(error).__name__}: {error}"


def check_machines() -> int:
    """Return the number of machines; raise if one of them lacks malaprop or has another version."""
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
    """Raise SettingError for the first machine without malaprop or with another version."""
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
    """Mark a function to be sent as code instead of as a name to import."""
    from ray import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[function.__module__])
    return function


# --- a victim's files packed as one value, for machines that do not share the driver's disk


MOST = 8 << 30  # bytes; beyond that a model belongs on a shared disk or in the workers' image


@dataclass(frozen=True, slots=True)
class VictimArchive:
    """The contents of a model's file or folder; `name` is its path among `files`, after which the victim is named."""

    name: str
    files: Mapping[str, bytes]


def pack(path: Path) -> VictimArchive:
    """Read a model's file or folder into memory."""
    path = path.expanduser().resolve()
    base, found = path.parent, [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    if path.suffix.lower() == ".onnx":  # its tokenizer, names of labels and large weights lie beside it
        beside = (f"{path.name}*data", "*.json", "*/*.json")
        base, found = base.parent, [path, *(p for pattern in beside for p in sorted(path.parent.glob(pattern)))]
    if (size := sum(p.stat().st_size for p in found)) > MOST:
        raise VictimError(
            f"{path} holds {size / 1e9:.0f} GB, too much to send to every machine; put it on a disk they share and "
            "start the workers there"
        )
    try:
        name = path.relative_to(base).as_posix()
        return VictimArchive(name, {p.relative_to(base).as_posix(): p.read_bytes() for p in found})
    except OSError as error:
        raise VictimError(f"{path} cannot be read: {error.strerror or error}") from None


@contextmanager
def unpack(archive: VictimArchive) -> Iterator[str]:
    """Write the files to a temporary folder and give the victim's path in it; the folder goes when the block ends."""
    with TemporaryDirectory(prefix="malaprop-") as folder:
        for name, content in archive.files.items():
            place = Path(folder, PurePosixPath(name))
            if not place.resolve().is_relative_to(Path(folder).resolve()):
                raise VictimError(f"the archive of {archive.name} holds a file with a path outside itself: {name}")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        yield os.path.join(folder, archive.name)


def portable(thing: Any) -> Any:
    """Return a victim's name in a form that workers understand: for a file or folder its absolute path.

    A zoo model that was not trained yet is trained here first, else each worker would train its own.
    """
    from malaprop.data.base import load
    from malaprop.zoo import names as zoo
    from malaprop.zoo.cache import find_or_train

    if not isinstance(thing, (str, os.PathLike)):
        return thing
    name = os.fspath(thing)
    path = Path(name).expanduser()
    if not path.exists() and zoo.is_name(name):
        path = find_or_train(name, read=load)
    return str(path.resolve()) if path.exists() else name
