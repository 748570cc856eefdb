"""The pipeline from files to a checked scenario or snapshot."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import simgrid_broker.scenario.loading.origins as locate
from simgrid_broker.errors import Problem, ScenarioError, SnapshotError, wrong_type
from simgrid_broker.files import MANIFEST
from simgrid_broker.scenario.checks.cross_checks import findings
from simgrid_broker.scenario.checks.snapshot import snapshot_findings
from simgrid_broker.scenario.grid.expand_grid import SOURCES, expanded
from simgrid_broker.scenario.loading import validate
from simgrid_broker.scenario.loading.documents import Source, located, missing_files, of_run, read
from simgrid_broker.scenario.loading.origins import Assignment, Draft, Finding, Whole, value_at
from simgrid_broker.scenario.loading.set_values import NoSuchKey, assigned, from_command_line, from_python, plain
from simgrid_broker.scenario.loading.validate import Validation, validated
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.scenario.snapshot import Snapshot

W = TypeVar("W", bound=Whole)
FINDINGS: dict[type[Whole], Callable[[Any], Iterable[Finding]]] = {Scenario: findings, Snapshot: snapshot_findings}
"""Checks between the parts of models whose checks import them."""
KINDS: dict[type[Whole], tuple[frozenset[str], str]] = {
    Scenario: (frozenset({"duration", "workload"}),
               "is a scenario: `simgrid-broker run` simulates it; brokers answer for snapshots, which a run writes at "
               "the times of record.snapshots"),
    Snapshot: (frozenset({"tasks"}),
               "is a snapshot, a grid at one moment: `simgrid-broker broker` says where its tasks go; a scenario has "
               "duration and workload")}
"""Keys that only one kind of file has, and what one says that is given for another."""


def load_scenario(path: str | Path, seed: int | None = None, until: float | str | None = None,
                  overrides: Iterable[str] = ()) -> Scenario:
    """The scenario in a YAML file, that of the run in a folder, or the shipped one of a name (`located`), checked.

    seed and until replace `seed` and `duration`; overrides are texts `dotted.key=value` (see `set_values`). A file may
    say `extends: other.yaml`, or the name of a shipped scenario, or list several, later ones laid over earlier ones:
    mappings merge deeply, lists and single values replace, null removes an entry; the others may extend further ones.
    File names are relative to the file that contains them. Raises ScenarioError with all problems.
    """
    if not isinstance(path, str | PathLike):
        raise wrong_type("load_scenario", "the path of a scenario file, or the name of a shipped scenario", path)
    draft, problems = of_run(Path(path)) if (Path(path) / MANIFEST).is_file() else read(Source(located(path)))
    _refuse_other_kind(draft.values, Scenario, path)
    assignments = [] if seed is None else [Assignment("seed", seed, locate.COMMAND_LINE)]
    assignments += [] if until is None else [Assignment("duration", until, locate.COMMAND_LINE)]
    assignments += _assignments(overrides, problems)
    return resolve(replace(draft, assignments=tuple(assignments)), Scenario, problems)


def scenario_in(source: Source) -> Scenario:
    """The scenario of a source, checked. Raises ScenarioError with all problems."""
    draft, problems = read(source)
    _refuse_other_kind(draft.values, Scenario, source.path)
    return resolve(draft, Scenario, problems)


def as_scenario(given: Scenario | str | Path, what: str) -> Scenario:
    """A scenario, or the one in a file; raises TypeError for anything else, and ScenarioError."""
    if not isinstance(given, Scenario | str | PathLike):
        raise wrong_type(what, "a Scenario, the path of its file, or the name of a shipped one", given)
    return given if isinstance(given, Scenario) else load_scenario(given)


def load_snapshot(path: str | Path, overrides: Iterable[str] = ()) -> Snapshot:
    """The snapshot in a YAML or JSON file, checked; overrides and `extends` as of a scenario. Raises SnapshotError."""
    return snapshot_of(path, overrides, Snapshot)


def snapshot_of(path: str | Path, overrides: Iterable[str], model: type[W]) -> W:
    """The snapshot of a kind in a file, checked. Raises SnapshotError, TypeError for what is no path."""
    if not isinstance(path, str | PathLike):
        raise wrong_type("snapshot", "a Snapshot, or the path of its file", path)
    try:
        draft, problems = read(Source(located(path)))
    except ScenarioError as error:
        raise SnapshotError(error.problems) from None
    _refuse_other_kind(draft.values, model, path)
    assignments = _assignments(overrides, problems)
    return resolve(replace(draft, assignments=tuple(assignments)), model, problems)


def _refuse_other_kind(values: Mapping[str, object], model: type[Whole], path: str | Path) -> None:
    """Raise the error of a model for a file that plainly is of another kind, instead of one for each of its keys."""
    for mine, (keys, is_a) in KINDS.items():
        others = set().union(*(other for kind, (other, _) in KINDS.items() if kind is not mine))
        if mine is not model and not keys.isdisjoint(values) and others.isdisjoint(values):
            raise model.error([Problem(str(path), None, "", None, is_a)])


def _assignments(overrides: Iterable[str], problems: list[Problem]) -> list[Assignment]:
    """Assignments of the command line; texts that cannot be read are added to `problems`."""
    assignments = []
    for text in overrides:
        try:
            assignments.append(from_command_line(text))
        except ValueError as error:
            problems.append(Problem("command line", None, text, None, str(error)))
    return assignments


def resolve(draft: Draft, model: type[W], problems: Iterable[Problem] = ()) -> W:
    """The scenario or snapshot that `draft` describes; raises its `error` with `problems` and all others found."""
    problems = list(problems)
    complete = _assigned(draft, [assignment for assignment in draft.assignments if _is_early(assignment)], problems,
                         model)
    if not draft.expanded:
        problems += missing_files(complete)
    expansion = expanded(complete)
    problems += expansion.problems
    late = [assignment for assignment in draft.assignments if not _is_early(assignment)]
    complete = _assigned(expansion.draft, late, problems, model)
    checked, remarks = _checked(complete, model, expansion.failed, problems)
    if problems or checked.whole is None:
        raise model.error(locate.in_order(problems))
    checked.whole._draft, checked.whole._remarks = draft, (*expansion.remarks, *remarks)
    return checked.whole


def _checked(draft: Draft, model: type[W], failed: bool, problems: list[Problem]) -> tuple[Validation[W], list[str]]:
    """Validated values and remarks on them; what is wrong is added to `problems`.

    In a lenient snapshot only what cannot be read at all, and a table without any row, is wrong.
    """
    is_lenient, remarks = model is Snapshot and draft.values.get("strict") is False, list[str]()
    while True:
        checked = validated(draft.values, model, is_lenient)
        found = _cross_findings(checked, draft, failed)
        values, more = validate.readable(model, draft.values, checked.findings) if is_lenient else (None, ())
        if values is not None:
            remarks, draft = [*remarks, *more], replace(draft, values=values)
            continue
        empty = [one for one in found if one.of_absence and not value_at(draft.values, one.key)]
        if not is_lenient or checked.findings or empty:
            problems += locate.problems_of(draft, [*checked.findings, *(empty if is_lenient else found)])
            return checked, remarks
        values, more = validate.as_panda_reads(model, draft.values, found, checked.out_of_range)
        remarks += [remark for remark in more if remark not in remarks]
        if values is None:
            return checked, remarks
        draft = replace(draft, values=values)


def changed(whole: W, values: Mapping[str, object]) -> W:
    """A copy with values set by dotted key. Raises ScenarioError."""
    draft = whole._draft or Draft(whole.to_dict(), expanded=True)
    return resolve(replace(draft, assignments=(*draft.assignments, *from_python(values))), type(whole))


def rebuilt(model: type[W], values: Mapping[str, object]) -> W:
    """The `model` with these values, whose grid needs no expansion. Raises ScenarioError."""
    plain_values = plain(values)
    marks = dict.fromkeys(locate.keys_of(plain_values), locate.PYTHON)
    return resolve(Draft(plain_values, marks, expanded=True), model)


def _is_early(assignment: Assignment) -> bool:
    """True if a value must be set before the grid is expanded."""
    return assignment.key == "grid" or any(
        assignment.key == source or assignment.key.startswith(f"{source}.") for source in SOURCES)


def _assigned(draft: Draft, assignments: list[Assignment], problems: list[Problem], model: type[Whole]) -> Draft:
    """`draft` with values set; impossible assignments are added to `problems`."""
    for assignment in assignments:
        if draft.expanded and _is_early(assignment):
            problems.append(assignment.origin.problem(
                assignment.key, assignment.value,
                "the grid is already written out; change its sites, queues, storages and links"))
            continue
        try:
            draft = assigned(draft, assignment, model)
        except NoSuchKey as error:
            problems.append(assignment.origin.problem(assignment.key, assignment.value, str(error), error.nearest))
    return draft


def _cross_findings(checked: Validation, draft: Draft, failed: bool) -> list[Finding]:
    """Findings of the checks between parts, without the consequences of values that could not be read."""
    if checked.whole is None:
        return []
    checked.whole._origins = draft.origins()
    unread = {found.key for found in checked.findings}
    check = FINDINGS.get(checked.model, checked.model.findings)
    return [replace(found, key=checked.old_key(found.key)) for found in check(checked.whole)
            if not (found.of_absence and (checked.gone or failed))
            and not (failed and found.key[0] in ("grid", "incidents"))
            and not any(key[:len(other)] == other for other in map(checked.old_key, found.depends_on) for key in unread)
            and (found.unknown or found.value) not in list(checked.gone)]


Whole.changed, Whole.rebuilt = changed, classmethod(rebuilt)
