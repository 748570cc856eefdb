"""Reducing a scenario that fails: entries are left out as long as it fails in the same way."""

import sys
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import yaml
from digest_tables import differences
from tqdm import tqdm

from fuzzing import cases
from fuzzing.scenarios import has, places, text_of
from fuzzing.workers import Died, Task, Worker


class Trial:
    """Runs a scenario in two processes and says how it fails."""

    def __init__(self, paths: list[str]):
        self.workers = [Worker(number, paths) for number in range(2)]

    def failure(self, text: str) -> str:
        """Kind of the failure of a scenario, empty if it does not fail or is refused."""
        one = self._ask(0, Task(cases.first, (text,)))
        if isinstance(one, Died) or one.failure or not one.digests:
            return str(one) if isinstance(one, Died) else one.failure
        other = self._ask(1, Task(cases.again, (text, one.steps)))
        if isinstance(other, Died) or other.failure:
            return str(other) if isinstance(other, Died) else f"second run: {other.failure}"
        lines = differences(one.digests, other.digests)
        return next((f"two runs differ: {line.partition(':')[0]}" for line in lines), "")

    def _ask(self, number: int, task: Task) -> Any:
        worker = self.workers[number]
        worker.give(task)
        while not worker.pipe.poll(1) and not worker.end_if_late():
            pass
        return worker.answer()


def reduced(text: str, failure_of: Callable[[str], str]) -> str:
    """The scenario without all that is not needed for its failure, which is the first line.

    failure_of: says how a scenario fails, empty if it does not.
    """
    failure, size = failure_of(text), 0
    if not failure:
        return "# does not fail\n" + text
    values = yaml.load(text, yaml.CSafeLoader)
    while size != len(text_of(values)):                  # what was needed at first may not be in the end
        size = len(text_of(values))
        for path in tqdm([*places(values)], unit="key", disable=not sys.stderr.isatty()):
            smaller = _without(values, path)
            if smaller is not None and failure_of(text_of(smaller)) == failure:
                values = smaller
    return f"# {failure}\n{text_of(values)}"


def _without(values: Any, path: tuple) -> Any:
    """A copy without a place; None if it is not there any more."""
    smaller = deepcopy(values)
    at = smaller
    for step in path[:-1]:
        if not has(at, step):
            return None
        at = at[step]
    if not has(at, path[-1]):
        return None
    del at[path[-1]]
    return smaller

