#!/usr/bin/env python3
"""Print, by rule, the recorded cases in which the recorded answer and the program's part.

    scripts/truth.py KIND CASES [ANSWERS] [--release 1.0.3]

CASES holds cases and recorded answers as `KIND.json.gz` of a set of recordings does (`cases`, `expected`, `grids`).
ANSWERS holds the program's answers, matched by `id`; without it the program is asked here. If CASES has no `expected`,
ANSWERS are the recorded answers, and the program is asked. A rule is the `tag` of a case; below it stand the places
where answers part, a broker's with the recorded verdict and the program's, each with its smallest case as example.
Fields that the program never answers are named, not compared. Exit status 1 if a case parts.
"""

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import compare_with_panda
import recorded_answers
from recorded_answers import ABSENT, Difference, Place

from simgrid_broker.editions import RELEASES

MANY_KEYS = 12
"""Keys at one place of the answers above which they are names of things, not fields, if their values are of a kind."""
WIDTH = 60
"""Characters of a value that are printed."""


class Pair(NamedTuple):
    """A case with the recorded answer and the program's, or the reason why the program has none."""

    case: dict
    recorded: dict
    program: dict | str


class Parting(NamedTuple):
    """A place where the answers to a case part, with the case's number and its size in characters."""

    case: str
    size: int
    difference: Difference


def pair(case: dict, recorded: dict, program: dict | None) -> Pair:
    """A case with both answers in order."""
    known, answer = recorded_answers.side_by_side(recorded, program or {})
    if program is None or set(program) <= {"id", "limits", "error"}:
        return Pair(case, known, "absent" if program is None else str(program.get("error")))
    return Pair(case, known, answer)


def partings(pairs: list[Pair]) -> dict[tuple[str, str], list[Parting]]:
    """Places where answers part, by the rule of the case and the words for the place."""
    names = set(places_of_names((), [one.recorded for one in pairs]))
    compared = fields(one.recorded for one in pairs) & fields(one.program for one in pairs)
    found = defaultdict(list)
    for case, recorded, program in pairs:
        for one in differences(recorded, program):
            place = pattern(one.path, names)
            if field(place) in compared or not one.path:
                words = f"{'.'.join(place)}{turn(one)}" if place else f"no answer: {one.program.split(':')[0]}"
                found[case.get("tag", ""), words].append(Parting(str(case["id"]), len(json.dumps(case)), one))
    return dict(found)


def differences(recorded: dict, program: dict | str) -> Iterable[Difference]:
    """Places where the answers part; a program without an answer parts as a whole."""
    if isinstance(program, str):
        return [Difference((), "an answer", program)]
    return recorded_answers.differences(recorded, program)


def fields(answers: Iterable[dict | str]) -> set[Place]:
    """Fields of answers, and of their `results`."""
    given = [answer for answer in answers if isinstance(answer, dict)]
    return {(key,) for answer in given for key in answer} | {
        ("results", "[]", key) for answer in given for one in answer.get("results") or () for key in one}


def field(place: Place) -> Place:
    """Field of an answer, or of its `results`, that a place belongs to."""
    return place[:3] if place[:2] == ("results", "[]") and len(place) > 2 else place[:1]


def places_of_names(place: Place, values: list) -> Iterator[Place]:
    """Places, from one downwards, at which the keys are names of things."""
    below: dict[str, list] = defaultdict(list)
    for value in values:
        for key, one in value.items() if isinstance(value, dict) else ():
            below[key].append(one)
    if place and names_of_things(below):
        yield place
        below = {"*": [one for ones in below.values() for one in ones]}
    members = {"[]": [one for value in values if isinstance(value, list) for one in value]}
    for key, ones in (below | {key: ones for key, ones in members.items() if ones}).items():
        yield from places_of_names((*place, key), ones)


def names_of_things(below: dict[str, list]) -> bool:
    """Decision that keys are names of things: they are numbers, or many with values of one kind."""
    kinds = {float if type(one) is int else type(one) for ones in below.values() for one in ones if one is not None}
    return bool(below) and (all(key.isdecimal() for key in below) or len(below) > MANY_KEYS and len(kinds) == 1)


def pattern(path: Place, names: set[Place]) -> Place:
    """Place with a star for names of things and a pair of brackets for members of a list."""
    found: Place = ()
    for key in path:
        found += ("*" if found in names else "[]" if key.startswith("[") else key,)
    return found


def turn(one: Difference) -> str:
    """Words for a verdict that changed and for a value that one answer lacks; "" for other differences."""
    verdicts = [value for value in (one.recorded, one.program) if isinstance(value, str)
                and (value.startswith("-") or value in (recorded_answers.KEPT, recorded_answers.REFUSED, ABSENT))]
    if not verdicts:
        return ""
    return " " + ", ".join(f"{whose} {value if value in verdicts else 'another value'}"
                           for whose, value in (("recorded", one.recorded), ("program", one.program)))


def lines(pairs: list[Pair], apart: Counter) -> Iterator[str]:
    """Lines of the report."""
    found = partings(pairs)
    cases = {rule: {one.case for (tag, _), ones in found.items() if tag == rule for one in ones}
             for rule, _ in found}
    different = len(set().union(*cases.values()))
    yield f"{len(pairs)} cases compared, {len(pairs) - different} agree, {different} part" + "".join(
        f"; {count} not compared ({why})" for why, count in apart.items())
    missing = fields(one.recorded for one in pairs) - fields(one.program for one in pairs)
    if missing:
        yield f"not answered by the program: {', '.join(sorted('.'.join(place) for place in missing))}"
    for rule in sorted(cases, key=lambda rule: -len(cases[rule])):
        yield f"\n{rule or 'cases without a tag'}: {len(cases[rule])} of " + str(
            sum(one.case.get("tag", "") == rule for one in pairs))
        rows = [(len({one.case for one in ones}), words, ones) for (tag, words), ones in found.items() if tag == rule]
        yield from (row(*one) for one in sorted(rows, key=lambda one: -one[0]))


def row(cases: int, words: str, ones: list[Parting]) -> str:
    """Line for a place where the answers to some cases part, with its smallest example."""
    example = min(ones, key=lambda one: one.size)
    path, recorded, program = example.difference.path, example.difference.recorded, example.difference.program
    return (f"  {cases:4}  {words}\n        {example.case} {'.'.join(path)}: "
            f"recorded {shown(recorded)}, program {shown(program)}")


def shown(value: Any) -> str:
    """Value on one line of limited width."""
    words = " ".join(value.split()) if isinstance(value, str) else json.dumps(value)
    return words if len(words) <= WIDTH else words[:WIDTH - 3] + "..."


def rows_of(found: Any) -> list[dict]:
    """Answers of a file, which is a list of them or has it under `expected` or `results`."""
    return found if isinstance(found, list) else found.get("expected", found.get("results"))


def main() -> int:
    """Read the files, ask the program if need be, and print the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=compare_with_panda.KINDS)
    parser.add_argument("cases", type=Path, metavar="CASES")
    parser.add_argument("answers", type=Path, metavar="ANSWERS", nargs="?")
    parser.add_argument("--release", choices=RELEASES, default=RELEASES[0],
                        help="release of the code that answered, if not %(default)s")
    options = parser.parse_args()
    found = recorded_answers.document(options.cases)
    given = rows_of(recorded_answers.document(options.answers)) if options.answers else None
    recorded = found.get("expected", given)
    if recorded is None:
        parser.error(f"{options.cases} has no recorded answers under the key expected, and no file ANSWERS is given")
    if len(recorded) != len(found["cases"]):
        parser.error(f"{len(found['cases'])} cases in {options.cases}, but {len(recorded)} recorded answers")
    whys = [recorded_answers.not_scored(*one) for one in zip(found["cases"], recorded, strict=True)]
    cases = [case for case, why in zip(recorded_answers.whole_cases(found), whys, strict=True) if not why]
    program = given if given is not None and "expected" in found else compare_with_panda.answers(
        options.kind, cases, options.release)
    by_id = {answer.get("id"): answer for answer in program}
    recorded = [answer for answer, why in zip(recorded, whys, strict=True) if not why]
    pairs = [pair(case, answer, by_id.get(case["id"])) for case, answer in zip(cases, recorded, strict=True)]
    print(*lines(pairs, Counter(why for why in whys if why)), sep="\n")
    return int(bool(partings(pairs)))


if __name__ == "__main__":
    sys.exit(main())
