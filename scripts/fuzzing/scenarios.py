"""Valid random scenarios: random keys of the schema laid over a core, and mended until `check` accepts them."""

import re
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import yaml
from pydantic import BaseModel

from fuzzing.core import core, write_trace
from fuzzing.themes import themes, wanted
from fuzzing.values import DOORS, Values, needed_by
from simgrid_broker import load_scenario
from simgrid_broker.advice import remarks, remarks_on_zero_share
from simgrid_broker.cli import check
from simgrid_broker.errors import InputFileError, Problem, ScenarioError, SimgridBrokerError
from simgrid_broker.scenario import Scenario
from simgrid_broker.scenario.loading.validate import bare, inside, is_part, validated
from simgrid_broker.scenario.model import Incident
from simgrid_broker.scenario.work.synthetic import task_list
from simgrid_broker.schema.part import fields_by_key

Place = tuple[str | int, ...]
FILES = ("pandaqueues", "rses", "closeness", "software")
KEPT = {("name",), ("seed",), ("description",), ("workload", "trace"), ("workload", "trace", "file"),
        *(("grid", name) for name in FILES)}
"""Keys that no random value replaces: names of the case, and files."""
ROUNDS = 40
"""Attempts to mend a scenario before its random keys are given up."""
TRIES = 3
"""Attempts to lay a theme over a core."""
DAMAGED = 3
"""Copies of a scenario with a value of another kind, each of which must be accepted or refused with a sentence."""
JUNK = (None, "", "moon", [], {}, [[]], {"moon": 1}, -1, 0, True, 1e300, "1e5 parsecs", "*", "é", 2**70)
"""Values that hardly any key may have."""
MOST_TASKS, MOST_JOBS, MOST_CORES, MOST_USERS, MOST_DATASETS, MOST_SITES = 1500, 15_000, 5_000, 5_000, 3_000, 30
MOST_TURNS = 3000
"""Bounds of a scenario: a run of it takes seconds."""


class Refused(Exception):
    """A scenario was refused by something else than a sentence: an error of the program."""


def scenario_of(seed: int, folder: Path) -> tuple[str, Scenario]:
    """Text and value of the random scenario of a seed; folder: for its file. Raises Refused."""
    random, file = Random(seed), folder / f"fuzz{seed}.yaml"
    write_trace(folder)
    plain, whole = themed(core(random, seed), random, wanted(seed), file)
    values = deepcopy(plain)
    lay_keys(values, Values(random, whole, random.choice([0, 0.05, 0.3])), random.choice([1, 3, 8, 20]))
    for _ in range(DAMAGED):
        with suppress(ScenarioError):
            _accepted(damaged(values, random), file)
    for attempt in range(ROUNDS):
        try:
            scenario = _accepted(values, file)
            if not (excess := _excess(scenario)):
                described(scenario)
        except ScenarioError as error:
            if random.random() < attempt / ROUNDS:
                path, _ = _place(values, random.choice(error.problems).key)
                _restore(values, plain, path[:random.randint(1, len(path))] if path else ("policies",))
                continue
            mend(values, error.problems, Values(random, validated(values, Scenario).whole or whole, 0.02))
            continue
        if not excess:
            return file.read_text(), scenario
        for path in excess:
            _restore(values, plain, path)
    return text_of(plain), _accepted(plain, file)


def themed(values: dict[str, Any], random: Random, lines: list[str], file: Path) -> tuple[dict[str, Any], Scenario]:
    """A core with the themes that it can take, and the scenario; lines: of the table of acts."""
    whole = _accepted(values, file)
    for line in lines:
        for _ in range(TRIES):
            changed = deepcopy(values)
            with suppress(ScenarioError, LookupError, ValueError):
                themes()[line](changed, Values(random, whole, 0))
                scenario = _accepted(changed, file)
                if not _excess(scenario):
                    described(scenario)
                    values, whole = changed, scenario
                    break
    return values, whole


def text_of(values: Any) -> str:
    """Values as YAML."""
    return yaml.dump(values, Dumper=yaml.CSafeDumper, sort_keys=False, default_flow_style=None, width=120)


def _accepted(values: Any, file: Path) -> Scenario:
    """The scenario, as from its file; raises ScenarioError with problems, Refused for anything else."""
    file.write_text(text_of(values))
    try:
        return load_scenario(file)
    except ScenarioError:
        raise
    except SimgridBrokerError as error:
        raise ScenarioError([Problem(None, None, "policies", None, str(error))]) from error
    except Exception as error:
        raise Refused(file.read_text()) from error


def described(scenario: Scenario) -> None:
    """Ask for everything that `check` says about a scenario; raises ScenarioError."""
    try:
        tasks = task_list(scenario)
    except InputFileError as error:
        raise ScenarioError([Problem(None, None, "workload.trace.format", None, str(error))]) from error
    for describe in (check.described_time, check.described_grid, check.described_shares, check.described_rules,
                     remarks_on_zero_share, remarks):
        describe(scenario)
    for describe in (check.described_work, check.described_reach):
        describe(scenario, tasks)


def lay_keys(values: dict[str, Any], at_random: Values, number: int) -> None:
    """Lay random keys of all kinds of parts over values, with incidents and keys of gdpconfig."""
    random = at_random.random
    for _ in range(number):
        by_part: dict[type, list[Place]] = {}
        for path, part in _parts(values, Scenario):
            by_part.setdefault(part, []).append(path)
        part = random.choice(sorted(by_part, key=lambda one: one.__name__))
        path = random.choice(by_part[part])
        key = random.choice([key for key in fields_by_key(part) if (*path, key) not in KEPT])
        for name in (key, *needed_by(part, key)):
            _lay(values, (*path, name), at_random.of_key(part, name))
    by_part = {part: path for path, part in _parts(values, Scenario)}
    for part, key in random.sample([*DOORS], random.choice([0, 1, 2])):         # systems and policies of all packages
        if part in by_part:
            _lay(values, (*by_part[part], key), at_random.of_key(part, key))
    values.setdefault("incidents", []).extend(at_random.incident() for _ in range(random.choice([1, 2, 5, 10])))
    values.setdefault("gdpconfig", {}).update(at_random.setting() for _ in range(random.choice([0, 0, 2, 5])))


def damaged(values: dict[str, Any], random: Random) -> dict[str, Any]:
    """A copy of values one of which is of another kind."""
    copy = deepcopy(values)
    *way, last = random.choice([*places(copy)])
    _at(copy, tuple(way))[last] = random.choice(JUNK)
    return copy


def _parts(values: Any, kind: Any, path: Place = ()) -> Iterator[tuple[Place, type[BaseModel]]]:
    """Places and classes of all parts that are written, or that exist by default."""
    kind = bare(kind)
    if is_part(kind) and isinstance(values, dict):
        yield path, kind
        for key, field in fields_by_key(kind).items():
            if key in values or is_part(bare(field.annotation)) and field.get_default() is not None:
                yield from _parts(values.get(key, {}), field.annotation, (*path, key))
    elif isinstance(values, (dict, list)):
        for step, inner in values.items() if isinstance(values, dict) else enumerate(values):
            yield from _parts(inner, inside(kind, step), (*path, step))


def _lay(values: Any, path: Place, value: Any) -> None:
    """Set the value at a place; entries of a mapping and elements of a list are added to those that are there."""
    at = values
    for step in path[:-1]:
        at = at.setdefault(step, {}) if isinstance(at, dict) else at[step]
    before = at.get(path[-1])
    if isinstance(before, dict) and isinstance(value, dict):
        before.update(value)
    elif isinstance(before, list) and isinstance(value, list) and all(isinstance(one, dict) for one in before):
        before.extend(value)
    else:
        at[path[-1]] = value


def places(values: Any, path: tuple = ()) -> Iterator[tuple]:
    """Every place, outer ones first and the last of a list first."""
    steps = list(values) if isinstance(values, dict) else range(len(values))[::-1] if isinstance(values, list) else ()
    for step in steps:
        yield (*path, step)
        yield from places(values[step], (*path, step))


def mend(values: dict[str, Any], problems: tuple[Problem, ...], at_random: Values) -> None:
    """Change what problems are about: limits are met, missing keys added, others left out; one change of a list."""
    changed = set[int]()
    for problem in problems:
        path, kind = _place(values, problem.key)
        holder = _at(values, path[:-1]) if path else values
        if id(holder) in changed and isinstance(holder, list):
            continue
        changed.add(id(holder))
        _mend(holder, path, kind, problem, at_random)


def _place(values: Any, key: str) -> tuple[Place, Any]:
    """The place in values that a dotted key names, or the deepest one around it, and the type of what holds it."""
    if key.startswith("gdpconfig."):
        return ("gdpconfig", key.removeprefix("gdpconfig.")), Any
    path, holder, kind, at = (), Any, Scenario, values
    for name, number in re.findall(r"([^.\[\]]+)|\[(\d+)\]", key):
        step = int(number) if number else name
        there = has(at, step)
        if not there and not (isinstance(at, dict) and is_part(bare(kind)) and step in fields_by_key(bare(kind))):
            break
        path, holder, kind = (*path, step), bare(kind), inside(kind, step)
        if not there:
            break
        at = at[step]
    return path, holder


def has(at: Any, step: str | int) -> bool:
    """True if a mapping or a list has an entry."""
    return step in at if isinstance(at, dict) else isinstance(at, list) and isinstance(step, int) and step < len(at)


def _at(values: Any, path: Place) -> Any:
    for step in path:
        values = values[step]
    return values


def _mend(holder: Any, path: Place, kind: Any, problem: Problem, at_random: Values) -> None:
    """Change the value at a place below its holder, which is of a kind."""
    random, says = at_random.random, problem.expected
    if not path:
        holder.pop("policies", None)
        return
    step, is_key = path[-1], is_part(kind)
    if isinstance(holder, dict) and step not in holder:
        if says.startswith("is missing") and is_key:
            holder[step] = at_random.of_key(kind, step)
        return
    value, limit = holder[step], re.search(r"must not exceed [^,]*, ([\d.e+]+)", says)
    part = bare(inside(kind, step))
    if limit and isinstance(value, (int, float)):
        holder[step] = type(value)(float(limit[1]) * random.random())
    elif isinstance(value, dict) and is_part(part) and random.random() < 0.8:
        _mend_part(value, part, says, at_random)
    elif is_key and (random.random() < 0.4 or fields_by_key(kind)[step].is_required()):
        holder[step] = at_random.of_key(kind, step)
    elif isinstance(holder, list):
        holder.pop(step)
    else:
        del holder[step]


LEFT_OUT = re.compile(r"leave (it )?out|contradicts|is for|\bboth\b|no effect|does not read|twice")
"""Messages about a key that must not be there: the first that they name."""


def _mend_part(value: dict[str, Any], part: type[BaseModel], says: str, at_random: Values) -> None:
    """Leave out a key of a part that a message names, or add one; without any, leave out any key."""
    random, keys = at_random.random, fields_by_key(part)
    named = [key for key in re.findall(r"\w+", says) if key in keys]
    lacking = [] if LEFT_OUT.search(says) else [key for key in named if key not in value]
    present = [key for key in named if key in value]
    if lacking and part is Incident:
        said = at_random.incident(value.get("what"))
        value |= {"what": said["what"]} | {key: said[key] for key in lacking if key in said}
    elif lacking and random.random() < 0.6:
        key = random.choice(lacking)
        value[key] = True if keys[key].annotation is bool else at_random.of_key(part, key)
    elif present or value:
        del value[present[0] if present and LEFT_OUT.search(says) else random.choice(present or [*value])]


def _restore(values: Any, plain: Any, path: Place) -> None:
    """Give a place the value that the core has; what the core does not have is left out."""
    try:
        original = _at(plain, path)
    except (KeyError, IndexError):
        holder = _at(values, path[:-1])
        if isinstance(holder, list) or path[-1] in holder:
            holder.pop(path[-1])
    else:
        _at(values, path[:-1])[path[-1]] = deepcopy(original)


def _excess(scenario: Scenario) -> list[Place]:
    """Places, the last first, whose values make a run too long or too large."""
    found: list[Place] = []
    for kind in ("users", "campaigns"):
        for place, stream in reversed(list(enumerate(getattr(scenario.workload, kind)))):
            tasks = stream.tasks_per_s * (scenario.duration + stream.backlog_time) + getattr(stream, "backlog", 0)
            tasks += sum(storm.tasks for storm in getattr(stream, "storms", ()))
            if tasks > MOST_TASKS or tasks * stream.mean_jobs > MOST_JOBS or getattr(stream, "users", 0) > MOST_USERS:
                found.append(("workload", kind, place))
    cores = sum(site.cores or 0 for site in scenario.grid.sites.values()) + sum(
        queue.cores or 0 for queue in scenario.grid.queues.values())
    found += [("grid",)] * (cores > MOST_CORES or len(scenario.grid.sites) > MOST_SITES)
    found += [("data",)] * (sum(one.datasets for one in scenario.data.populations.values()) > MOST_DATASETS)
    least = scenario.duration / MOST_TURNS
    found += [("agents", name) for name, period in scenario.agents if isinstance(period, float) and period < least
              and name not in ("pilot_startup", "empty_pilot", "first_update")]
    return found
