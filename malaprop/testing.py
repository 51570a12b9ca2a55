"""A pytest plug-in for tests that fail if a model is not robust enough. pytest finds it by itself.

def test_robust(malaprop):
    malaprop.assert_robust(predict, "texts.csv", attacks="quick", min_accuracy=0.3)
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from malaprop.frame.study.study import Result


class Robustness:
    """The value of the `malaprop` fixture. Relative file names are also looked up beside the test file."""

    def __init__(self, here: Path) -> None:
        self.here = here

    def assert_robust(
        self,
        victim: Any,
        data: Any = None,
        *,
        attacks: Any = None,
        min_accuracy: float | None = None,
        baseline: str | os.PathLike[str] | None = None,
        max_drop: float = 0.05,
        **settings: Any,
    ) -> Result:
        """Fail if accuracy under any attack is below `min_accuracy` or has dropped since `baseline`.

        `victim` and `data` are what `mp.audit` takes, `attacks` recipes or suites (quick if not given and there is no
        baseline), `baseline` a folder that audit wrote or a check.json. Further keywords are options of malaprop check:
        n, seed, budget, alpha, max_queries, out.
        """
        __tracebackhide__ = True
        from malaprop.frame.rooms import added, load

        check = load(added("python")["check"])
        bars = {} if min_accuracy is None else {"accuracy-under-attack": min_accuracy}
        given = {"attacks": attacks, "max_drop": max_drop, **settings}
        found: Result = check(
            victim, self._find(data), baseline=self._find(baseline), min=bars,
            **{name: value for name, value in given.items() if value is not None},
        )  # fmt: skip
        assert found.record.passed, f"not robust enough\n{found.text}"
        return found

    def _find(self, named: Any) -> Any:
        if isinstance(named, (str, os.PathLike)) and not Path(named).exists() and (self.here / named).exists():
            return str(self.here / named)
        return named


@pytest.fixture(name="malaprop")
def robustness(request: pytest.FixtureRequest) -> Robustness:
    """Provide malaprop.assert_robust(predict, "texts.csv", attacks="quick", min_accuracy=0.3) to a test."""
    return Robustness(request.path.parent)
