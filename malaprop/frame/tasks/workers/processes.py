"""Several processes of this machine do the tasks, each with its own `WorkerContext` and its share of a GPU."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any

from malaprop.core.budget import Budget, BudgetState, Charge
from malaprop.core.errors import MalapropError, SettingError, VictimError, plain
from malaprop.frame.tasks.outputs import Note
from malaprop.frame.tasks.task import Inputs, Share, Task
from malaprop.frame.tasks.worker_context import Place, WorkerContext
from malaprop.frame.tasks.workers import leash
from malaprop.frame.tasks.workers.job import Event, Job, RemoteError, batches, choose, perform
from malaprop.frame.tasks.workers.leash import end_with_driver

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess


PRELOAD = (  # slow imports that the fork server does once for all processes
    "torch._dynamo",
    "malaprop.frame.runs.local",
    "malaprop.zoo.victim",
    "malaprop.models.victims.hf",
    "transformers.models.bert.modeling_bert",
)


def share_threads(jobs: int) -> int:
    """Return the threads for each of `jobs` processes: its share of the cores, at most OMP_NUM_THREADS."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(max(1, (os.cpu_count() or 1) // jobs), int(asked) if asked.isdecimal() and int(asked) else 1 << 16)


@contextmanager
def hold_interrupts() -> Iterator[None]:
    """Block Ctrl-C while processes start, so that they never receive it; the driver receives it afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # else the first process would start it, which unblocks signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@dataclass(slots=True, eq=False)
class _WorkerProcess:
    """One worker process, the names of what it has loaded, and its job."""

    process: BaseProcess
    line: Connection
    held: set[str] = field(default_factory=set)
    task: str = ""  # the task whose inputs it was sent
    job: int | None = None


class Processes:
    """Workers that are processes of this machine; a task goes to a free process that holds its models, if any does."""

    whole = False

    def __init__(
        self, jobs: int, place: Place, *, budget: Budget | None = None, preload: Sequence[str] = PRELOAD
    ) -> None:
        self.many, self.budget = jobs, budget
        self.place = replace(place, threads=share_threads(jobs), sharing=jobs)
        self._workers: list[_WorkerProcess] = []
        self._next: _WorkerProcess | None = None
        # CUDA cannot be used in a process that is forked after the parent initialised it, so GPUs need spawn
        quick = place.device == "cpu" and "forkserver" in multiprocessing.get_all_start_methods()
        self._context: Any = multiprocessing.get_context("forkserver" if quick else "spawn")
        if quick:
            self._context.set_forkserver_preload([leash.__name__, *preload])
            self._start_server()

    def _start_server(self) -> None:
        """Start the fork server unless it runs. From the main thread, bind it to this process."""
        if threading.current_thread() is threading.main_thread():
            os.environ[leash.PARENT] = str(os.getpid())
        try:
            with hold_interrupts():
                forkserver.ensure_running()
        finally:
            os.environ.pop(leash.PARENT, None)

    def __enter__(self) -> Processes:
        self._workers = [self._begin() for _ in range(self.many)]
        return self

    def __exit__(self, *what: object) -> None:
        for worker in self._workers:
            worker.line.close()
            if what[0] is not None:
                worker.process.terminate()
        for worker in self._workers:
            worker.process.join()

    def _begin(self) -> _WorkerProcess:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs, self.place, dict(os.environ)), daemon=True)
        if self._context.get_start_method() == "spawn":
            with hold_interrupts():
                process.start()
        else:
            process.start()  # waits for the server's imports, which Ctrl-C may cut short
        theirs.close()
        return _WorkerProcess(process, ours)

    @property
    def idle(self) -> bool:
        return any(worker.job is None for worker in self._workers)

    def pick(self, ready: Sequence[Task]) -> Task | None:
        free = [worker for worker in self._workers if worker.job is None]
        if not free:
            return None
        for worker in free:  # prefer a worker that holds the models of a task
            task = choose(ready, worker.held, self._elsewhere(worker))
            if task.holds and worker.held.issuperset(task.holds):
                self._next = worker
                return task
        self._next = free[0]
        return choose(ready, free[0].held, self._elsewhere(free[0]))

    def _elsewhere(self, worker: _WorkerProcess) -> set[str]:
        return set().union(*(other.held for other in self._workers if other is not worker))

    def start(self, job: Job, inputs: Inputs, before: Any) -> None:
        worker = self._next
        assert worker is not None, "pick comes first"
        try:
            if worker.task != job.task.name:
                worker.line.send(("task", (job.task, inputs, before)))
                worker.task = job.task.name
            worker.line.send(("job", job.share))
        except (BrokenPipeError, ConnectionError):
            pass  # it died while idle: `events` reports it as lost
        except Exception as error:  # noqa: BLE001 - an object's own way of being sent may raise anything
            raise SettingError(
                f"{job.task.name} cannot be sent to another process: {plain(error)[:200]}; give folders or names, or "
                "use one job"
            ) from None
        worker.job = job.number
        worker.held.update(job.task.holds)

    def events(self) -> Iterator[Event]:
        busy = {worker.line: worker for worker in self._workers if worker.job is not None}
        for line in wait(list(busy)):
            worker = busy[line]  # type: ignore[index]
            assert worker.job is not None
            try:
                kind, value = worker.line.recv()
            except (EOFError, OSError):
                yield Event(worker.job, "lost", self._replace(worker))
                continue
            job = worker.job
            if kind == "charge":
                assert self.budget is not None, "only workers with limits send charges"
                worker.line.send(self.budget.draw(value))
                continue
            if kind != "pieces":
                worker.job = None
            yield Event(job, kind, value.error() if kind == "failed" else value)

    def _replace(self, worker: _WorkerProcess) -> str:
        """Replace a process that died by a new one; return how it died."""
        worker.process.join()
        worker.line.close()
        code = worker.process.exitcode
        self._workers[self._workers.index(worker)] = self._begin()
        return f"exit code {code}" if code is None or code >= 0 else f"killed by signal {-code}"


def _serve(line: Connection, place: Place, environment: Mapping[str, str]) -> None:
    """Do jobs in a worker process until the pipe to the driver closes. Ctrl-C is for the driver, which ends it.

    `environment` is the driver's present one: the fork server may have started under an older one.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    leash.end_with_driver()
    os.environ.clear()
    os.environ.update(environment)
    threading.Thread(target=_end_with_the_driver, daemon=True).start()
    place.apply()
    context = WorkerContext(place)
    context.tell = lambda text: _send(line, "pieces", [Note(text)])
    context.charge_through(partial(_pay, line))
    given: tuple[Task, Inputs, Any] | None = None
    try:
        while True:
            kind, value = line.recv()
            if kind == "task":
                given = value
            else:
                assert given is not None, "a job comes behind its task"
                _work(line, context, *given, value)
    except (EOFError, OSError, _DriverGoneError):
        return


class _DriverGoneError(Exception):
    """The driver has closed its end of the pipe."""


def _work(
    line: Connection, context: WorkerContext, task: Task, inputs: Inputs, before: Any, share: Share | None
) -> None:
    trouble = None
    try:
        context.begin(task, before)
        for pieces in batches(perform(task, context, inputs, share)):
            _send(line, "pieces", pieces)
    except _DriverGoneError:
        raise
    except Exception as error:  # noqa: BLE001 - the driver decides what an error means
        trouble = RemoteError.of(error, task.name)
    context.give_memory_back()  # after the except block: an exception keeps the tensors of its frames alive
    if trouble is None:
        _send(line, "end")
    else:
        _send(line, "failed", trouble)


def _pay(line: Connection, charge: Charge) -> BudgetState:
    """Send a charge to the driver and return its answer; the driver sends nothing else while a job runs."""
    _send(line, "charge", charge)
    state: BudgetState = line.recv()
    return state


def _send(line: Connection, kind: str, value: Any = None) -> None:
    try:
        line.send((kind, value))
    except OSError:
        raise _DriverGoneError from None


def _end_with_the_driver() -> None:
    """Exit when the driver dies, so that no orphan writes to a folder that another run resumes."""
    if (driver := multiprocessing.parent_process()) is not None:
        driver.join()
        os._exit(1)


# --- helper processes of a single task


Tool = Callable[[Any], Any]


class Helpers:
    """Several helper processes; each calls `make` at its first question and answers with the function it returned."""

    def __init__(self, many: int, make: Callable[[], Tool]) -> None:
        context: Any = multiprocessing.get_context("spawn")
        self._processes: list[tuple[BaseProcess, Connection]] = []
        for _ in range(many):
            ours, theirs = context.Pipe()
            process = context.Process(target=_answer, args=(theirs, make, share_threads(many)), daemon=True)
            with hold_interrupts():
                process.start()
            theirs.close()
            self._processes.append((process, ours))

    def __len__(self) -> int:
        return len(self._processes)

    def ask(self, questions: Sequence[Any]) -> list[Any]:
        """Return the answers in order; there may be at most as many questions as helpers."""
        busy = [line for (_, line), _ in zip(self._processes, questions, strict=False)]
        try:
            for line, question in zip(busy, questions, strict=True):
                line.send(question)
            answers = [line.recv() for line in busy]
        except (EOFError, OSError):
            raise VictimError(
                "a worker process of this task died, perhaps because memory ran out; run the same command again, with "
                "fewer --jobs if it was memory: it keeps what is finished"
            ) from None
        for failed, answer in answers:
            if failed:
                raise VictimError(answer)
        return [answer for _, answer in answers]

    def close(self) -> None:
        """Terminate the helpers at once: they hold only copies, and one may be busy for long."""
        for process, line in self._processes:
            line.close()
            process.terminate()
        for process, _ in self._processes:
            process.join()


def _answer(line: Connection, make: Callable[[], Tool], threads: int) -> None:
    """Answer questions in a helper process until the pipe closes. Ctrl-C is for the task, which ends the helper."""
    end_with_driver()
    import torch

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(threads)
    tool: Tool | None = None
    try:
        while True:
            question = line.recv()
            try:
                tool = tool or make()
                answer = (False, tool(question))
            except MalapropError as error:
                answer = (True, str(error))
            except Exception as error:  # noqa: BLE001 - told to the task, whatever it is
                answer = (True, f"a process that helps with this task failed: {plain(error)[:200]}")
            line.send(answer)
    except (EOFError, OSError):
        return
