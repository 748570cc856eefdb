"""Recorded answers beside a program's: files of cases, and the places where two answers part."""

import gzip
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

Place = tuple[str, ...]
"""Keys that lead to a value; a member of a list has its number in brackets."""
ABSENT = "absent"
"""Value where an answer has none."""
TOLERANCE = 1e-9
"""Relative difference of numbers that are still equal."""
KEPT, REFUSED = "kept", "refused"
"""Verdicts on a queue that was kept, and on one refused by a criterion that was not recorded exactly."""
PARENT = "unified_parent"
"""Word for a queue that is no candidate itself, because its parts are."""
WORDS = "an error in words"
"""Placeholder for the text of an error, which is not compared."""
CUT = ("-low_weight", "-others_bootstrap")
"""Criteria of queues that were cut from the list of candidates."""


@dataclass(frozen=True)
class Difference:
    """A place where two answers part: its path, and what stands there in the recorded and in the program's answer."""

    path: Place
    recorded: Any
    program: Any

    def below(self, key: str) -> "Difference":
        """This difference with a key put before its path."""
        return replace(self, path=(key, *self.path))


def document(path: Path) -> Any:
    """Contents of a JSON file, compressed or not."""
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else path.open()
    with opened as file:
        return json.load(file)


def whole_cases(found: dict[str, Any]) -> list[dict]:
    """Cases of a document, each with its whole grid where the document keeps grids apart."""
    grids = found.get("grids", {})
    return [dict(case, grid=grid_of(grids[case["grid"]], case.get("grid_overrides") or {}), grid_overrides={})
            if isinstance(case.get("grid"), str) else case for case in found["cases"]]


def grid_of(grid: dict, changes: dict) -> dict:
    """A grid with the changes of a case: fields of queues replaced, those of endpoints and all others merged."""
    changed = merged(grid, {key: value for key, value in changes.items() if not key.endswith("_fields")})
    queues, endpoints = (changes.get(key, {}) for key in ("queue_fields", "endpoint_fields"))
    return changed | dict(queues=[row | queues.get(row["name"], {}) for row in changed["queues"]],
                          endpoints=[merged(row, endpoints.get(row["name"], {})) for row in changed["endpoints"]])


def merged(old: Any, new: Any) -> Any:
    """`new` in place of `old`; of two mappings the keys of both, merged in turn."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return new
    return old | {key: merged(old[key], value) if key in old else value for key, value in new.items()}


def not_scored(case: dict, answer: dict) -> str:
    """Why a recorded answer is no measure: `EXCEPTION` of the production code or `order_sensitive`, "" if it is one."""
    found = answer.get("results") or [answer]
    if all(one.get("status") == "EXCEPTION" for one in found):
        return "EXCEPTION"
    return "order_sensitive" if case.get("order_sensitive") or answer.get("order_sensitive") else ""


def side_by_side(recorded: dict, program: dict) -> tuple[dict, dict]:
    """Both answers in order; queues that only the program judges, and those tied at the cut, are left out of both."""
    ties, head = tied(recorded), leading(recorded)
    known, answer = plain(recorded, ties, head), plain(program, ties, head)
    if verdicts(recorded) or verdicts(program):
        known["queues"] = {name: one for name, one in known["queues"].items() if one != PARENT}
        answer["queues"] = {name: one if known["queues"][name] != REFUSED or one == KEPT else REFUSED
                            for name, one in answer.get("queues", {}).items() if name in known["queues"]}
    return known, answer


def differences(recorded: Any, program: Any) -> Iterator[Difference]:
    """Places where two values part, from the outside in."""
    if isinstance(recorded, dict) and isinstance(program, dict):
        if recorded.get("status") != "EXCEPTION":
            for key in recorded | program:
                found = differences(recorded.get(key, ABSENT), program.get(key, ABSENT))
                yield from (one.below(key) for one in found)
    elif isinstance(recorded, list) and isinstance(program, list):
        yield from list_differences(recorded, program)
    elif not equal(recorded, program):
        yield Difference((), recorded, program)


def list_differences(recorded: list, program: list) -> Iterator[Difference]:
    """Places where two lists part: their length, their order, or their members one by one."""
    if len(recorded) != len(program):
        yield Difference(("length",), len(recorded), len(program))
    elif recorded != program and sorted(map(json.dumps, recorded)) == sorted(map(json.dumps, program)):
        yield Difference(("order",), recorded, program)
    else:
        for number, pair in enumerate(zip(recorded, program, strict=True)):
            yield from (one.below(f"[{number}]") for one in differences(*pair))


def equal(one: Any, other: Any) -> bool:
    """Equality of two values but mappings and lists, of numbers within the tolerance; True is no number."""
    if isinstance(one, (int, float)) and isinstance(other, (int, float)) and not {type(one), type(other)} & {bool}:
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=1e-12)
    return type(one) is type(other) and one == other


def verdicts(answer: dict) -> dict[str, dict]:
    """Verdicts of a broker on its queues by name, none for other kinds of answers."""
    queues = answer.get("queues")
    judged = isinstance(queues, dict) and all(isinstance(one, dict) and "kept" in one for one in queues.values())
    return queues if judged and isinstance(queues, dict) else {}


def tied(recorded: dict) -> set[str]:
    """Queues of equal weight of which the list of candidates took some and cut others: any of them will do."""
    weights, candidates = recorded.get("weights") or {}, recorded.get("candidates") or []
    cut = [weight_of(weights[name]) for name, one in verdicts(recorded).items()
           if one["criterion"] in CUT and name in weights]
    at_cut = [one["weight"] for one in candidates if any(equal(one["weight"], weight) for weight in cut)]
    return {name for name, value in weights.items() if any(equal(weight_of(value), weight) for weight in at_cut)}


def leading(recorded: dict) -> int:
    """Number of candidates that come first because the task uses them already, in any order."""
    return sum(bool(one.get("used_by_task")) for one in recorded.get("candidates") or [])


def plain(answer: dict, ties: set[str], head: int) -> dict:
    """An answer with what may vary put in order: verdicts as one word, candidates of equal weight by name."""
    ordered = {key: plain(value, ties, head) if isinstance(value, dict) else value for key, value in answer.items()}
    if isinstance(answer.get("results"), list):
        ordered["results"] = [plain(one, set(), 0) for one in answer["results"]]
    if " " in str(answer.get("error") or ""):
        ordered["error"] = WORDS
    if verdicts(answer):
        ordered["queues"] = {name: verdict(one) for name, one in verdicts(answer).items() if name not in ties}
    if isinstance(answer.get("candidates"), list):
        ordered["candidates"] = in_order(answer["candidates"], ties, head)
    if isinstance(answer.get("jumbo"), list):
        ordered["jumbo"] = sorted(one["queue"] for one in answer["jumbo"])
    if isinstance(answer.get("weights"), dict):
        ordered["weights"] = {name: weight_of(value) for name, value in answer["weights"].items()}
    return ordered


def verdict(one: dict) -> str:
    """Word for what a broker decided on a queue: `kept`, its criterion, or `refused` if none was recorded exactly."""
    if one["kept"]:
        return KEPT
    return one["criterion"] if one.get("exact", True) else REFUSED


def weight_of(value: Any) -> Any:
    """Weight of a queue, given alone or in a row with its factors."""
    return value.get("weight") if isinstance(value, dict) else value


def in_order(candidates: list[dict], ties: set[str], head: int) -> list[dict]:
    """Names and weights of candidates; of those that come first, and of each weight, by name."""
    rows = [dict(name=one.get("queue", one.get("nucleus")), weight=one["weight"]) for one in candidates]
    runs = [rows[:head], *(list(run) for _, run in groupby(rows[head:], lambda one: float(f"{one['weight']:.9g}")))]
    return [dict(one, name="one of equal weight") if one["name"] in ties else one
            for run in runs for one in sorted(run, key=lambda one: one["name"])]
