#!/usr/bin/env python3
"""Answer recorded cases of which one value was changed, and name those that the program refuses or fails in.

    scripts/harsh_cases.py KIND CASES [--number 200] [--seed 1] [--release 1.0.3]

CASES is `KIND.json.gz` of a set of recordings. Each case that is asked has one value changed, at a place drawn among
the different places of a recorded case: to null, to another of its type (-1, 0, 1, the largest, an unknown name, no
text, nothing in a list or a table), to another name in its table, or it is left out. What production code would answer
is not known: a case counts as answered, whatever the decision. Exit status 1 if the program fails in a case.
"""

import argparse
import contextlib
import io
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import compare_with_panda
import recorded_answers
from case_files import FAILURE

from simgrid_broker.editions import RELEASES

UNKNOWN, LARGEST, MANY_KEYS, MOST_ROWS = "UNKNOWN", 10**18, 12, 40
Steps = tuple[str | int, ...]


def places(value: Any, path: Steps = (), kind: Steps = ()) -> Iterator[tuple[Steps, Steps]]:
    """Path of every value inside a value, and its kind: the path without the numbers of rows and names in tables."""
    if isinstance(value, Mapping):
        is_table = len(value) > MANY_KEYS and len({type(each) for each in value.values()}) == 1
        steps = [(name, "*" if is_table or str(name)[:1].isupper() else name) for name in value]
    else:
        steps = [(row, "[]") for row in range(min(len(value), MOST_ROWS))] if isinstance(value, list) else []
    for step, of_kind in steps:
        yield (*path, step), (*kind, of_kind)
        yield from places(value[step], (*path, step), (*kind, of_kind))


def others(value: Any) -> list[Any]:
    """Values of the type of a value, and null."""
    if isinstance(value, bool):
        return [None, not value]
    if isinstance(value, (int, float)):
        return [None, -1, 0, 1, LARGEST]
    if isinstance(value, str):
        return [None, "", UNKNOWN]
    return [None, type(value)()] if value is not None else [0, -1, LARGEST, "", UNKNOWN]


def changed(case: dict, draw: random.Random) -> tuple[dict, str]:
    """A copy of a case with one value changed, and the change in words."""
    by_kind: dict[Steps, list[Steps]] = defaultdict(list)
    for path, kind in places({name: part for name, part in case.items() if name != "id"}):
        by_kind[kind].append(path)
    path = draw.choice(by_kind[draw.choice(sorted(by_kind, key=str))])
    new, name = deepcopy(case), path[-1]
    around: Any = new
    for step in path[:-1]:
        around = around[step]
    way = draw.random() if isinstance(around, dict) else 1.0
    if way < 0.1:
        del around[name]
        return new, f"{'.'.join(map(str, path))} is left out"
    if way < 0.25 and str(name)[:1].isupper():
        around[UNKNOWN] = around.pop(name)
        return new, f"{'.'.join(map(str, path))} is called {UNKNOWN}"
    around[name] = draw.choice([each for each in others(around[name]) if each != around[name]] or [None])
    return new, f"{'.'.join(map(str, path))} = {around[name]!r}"


def main() -> int:
    """Ask the cases, and print how many were answered, and each that was refused or failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=compare_with_panda.KINDS)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--release", choices=RELEASES, default=RELEASES[0])
    options = parser.parse_args()
    cases = recorded_answers.whole_cases(recorded_answers.document(options.cases))
    draw = random.Random(options.seed)
    answered: Counter[str] = Counter()
    for _ in range(options.number):
        case, change = changed(draw.choice(cases), draw)
        with contextlib.redirect_stderr(io.StringIO()):
            answer, = compare_with_panda.answers(options.kind, [case], options.release)
        outcome = "failed" if FAILURE in answer else "refused" if answer.get("status") == "EXCEPTION" else "answered"
        answered[outcome] += 1
        if outcome != "answered":
            print(f"{outcome}: {case['id']} with {change}: {answer.get(FAILURE) or answer['error']}")
    print(", ".join(f"{number} {outcome}" for outcome, number in sorted(answered.items())))
    return int(answered["failed"] > 0)


if __name__ == "__main__":
    sys.exit(main())
