"""Helper processes of a single task; each makes a tool once and answers questions with it."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from malaprop.core.errors import MalapropError, VictimError, plain
from malaprop.frame.tasks.workers.leash import end_with_driver
from malaprop.frame.tasks.workers.processes import hold_interrupts, share_threads

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

Tool = Callable[[Any], Any]


class Helpers:
    """Several helper processes; each calls `make` at its first question and answers with the function it returned."""

    def __init__(self, many: int, make: Callable[[], Tool]) -> None:
        context: Any = multiprocessing.get_context("spawn")
        self._processes: list[tuple[BaseProcess, Connection]] = []
        for _ in range(many):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, make, share_threads(many)), daemon=True)
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
                "a process that helps with this task died, perhaps for want of memory; the same command goes on from "
                "what was kept, also with fewer --jobs"
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


def _serve(line: Connection, make: Callable[[], Tool], threads: int) -> None:
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
