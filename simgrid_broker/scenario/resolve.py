"""From a draft to a scenario or a snapshot: the grid written out, single values set, the shape and all checks passed.

What lives here: the order of these steps, and putting files and lines to what they find. What does not: the steps.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from simgrid_broker.errors import Problem, nearest
from simgrid_broker.scenario.check import findings
from simgrid_broker.scenario.draft import Assignment, Draft, Key, keys_of, value_at
from simgrid_broker.scenario.finding import Finding, dotted
from simgrid_broker.scenario.grid_sources import SOURCES, expanded
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.scenario.origin import PYTHON, Origin
from simgrid_broker.scenario.overrides import NoSuchKey, assigned, from_python, plain
from simgrid_broker.scenario.rules_snapshot import snapshot_findings
from simgrid_broker.scenario.shape import Shape, shape_of
from simgrid_broker.scenario.snapshot import Snapshot
from simgrid_broker.scenario.whole import Whole

FILES: tuple[Key, ...] = (
    ("grid", "pandaqueues"), ("grid", "rses"), ("grid", "closeness"), ("workload", "trace", "file"),
    ("grid", "software"),
)
"""Keys whose values are files."""

FINDINGS = {Scenario: findings, Snapshot: snapshot_findings}
"""What looks for mistakes between the parts, by what the file describes."""


def resolve(draft: Draft, problems: Iterable[Problem] = (), model: type[Whole] = Scenario) -> Whole:
    """The scenario or snapshot that `draft` describes; raises its `error` with `problems` and all others found."""
    problems = list(problems)
    complete = _assigned(draft, [assignment for assignment in draft.assignments if _is_early(assignment)], problems,
                         model)
    if not draft.expanded:
        problems += _missing_files(complete)
    expansion = expanded(complete)
    problems += expansion.problems
    late = [assignment for assignment in draft.assignments if not _is_early(assignment)]
    complete = _assigned(expansion.draft, late, problems, model)
    shape = shape_of(complete.values, model)
    problems += _located(complete, [*shape.findings, *_cross_findings(shape, complete, expansion.failed)])
    if problems:
        raise model.error(in_order(problems))
    return _with_memory(shape.whole, draft, complete, expansion.remarks)


def changed(whole: Whole, values: Mapping[str, object]) -> Whole:
    """A scenario or snapshot with values set by dotted key. Raises ScenarioError."""
    draft = whole._draft or Draft(whole.to_dict(), expanded=True)
    return resolve(replace(draft, assignments=(*draft.assignments, *from_python(values))), model=type(whole))


def written_out(values: Mapping[str, object], model: type[Whole] = Scenario) -> Whole:
    """The scenario or snapshot of values with nothing left to be made up or imported. Raises ScenarioError."""
    plain_values = plain(values)
    return resolve(Draft(plain_values, dict.fromkeys(keys_of(plain_values), PYTHON), expanded=True), model=model)


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Problems by file and line, each once."""
    once = []
    for problem in problems:
        once += [] if problem in once else [problem]
    return sorted(once, key=lambda problem: (problem.file or "", problem.line or 0))


def _is_early(assignment: Assignment) -> bool:
    """Whether a value must be set before the grid is written out."""
    return assignment.key == "grid" or any(
        assignment.key == source or assignment.key.startswith(f"{source}.") for source in SOURCES)


def _assigned(draft: Draft, assignments: list[Assignment], problems: list[Problem], model: type[Whole]) -> Draft:
    """`draft` with values set; what cannot be set goes to `problems`."""
    for assignment in assignments:
        if draft.expanded and _is_early(assignment):
            problems.append(_problem(assignment.origin, assignment.key, assignment.value,
                                     "the grid is already written out; change its sites, queues, storages and links"))
            continue
        try:
            draft = assigned(draft, assignment, model)
        except NoSuchKey as error:
            problems.append(_problem(assignment.origin, assignment.key, assignment.value, str(error), error.nearest))
    return draft


def _missing_files(draft: Draft) -> list[Problem]:
    """A problem for each file that the scenario names and that is not there."""
    problems = []
    for key in FILES:
        file = value_at(draft.values, key)
        if isinstance(file, str) and not Path(file).is_file():
            folder = Path(file).parent
            there = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
            problems.append(_problem(draft.place(key), dotted(key), file, "there is no such file",
                                     nearest(Path(file).name, there)))
    return problems


def _cross_findings(shape: Shape, draft: Draft, failed: bool) -> list[Finding]:
    """Findings of the checks between parts, less those that only follow from what could not be read."""
    if shape.whole is None:
        return []
    shape.whole._origins = _origins(draft)
    unread = {found.key for found in shape.findings}
    return [Finding(shape.old_key(found.key), found.value, found.expected, found.nearest)
            for found in FINDINGS[shape.model](shape.whole)
            if not (found.of_absence and (shape.gone or failed))
            and not (failed and found.key[0] in ("grid", "incidents"))
            and not any(key[:len(other)] == other for other in map(shape.old_key, found.hangs_on) for key in unread)
            and (found.unknown or found.value) not in list(shape.gone)]


def _located(draft: Draft, found: list[Finding]) -> list[Problem]:
    """Findings with the files and lines at which they were written, and with values as they were written."""
    problems = []
    for finding in found:
        written = value_at(draft.values, finding.key)
        value = finding.value if written is None or isinstance(written, (dict, list)) else written
        problems.append(_problem(draft.place(finding.key), dotted(finding.key), value, finding.expected,
                                 finding.nearest))
    return problems


def _problem(origin: Origin, key: str, value, expected: str, near: tuple[str, ...] = ()) -> Problem:
    """A problem at an origin."""
    file = origin.file or (origin.kind if origin.kind == "command line" else None)
    return Problem(file, origin.line, key, value, expected, near)


def _origins(draft: Draft) -> dict[str, Origin]:
    """Origin of each key that was written, by dotted key."""
    return {dotted(key): draft.marks[key] for key in keys_of(draft.values) if key in draft.marks}


def _with_memory(whole: Whole, draft: Draft, complete: Draft, remarks: list[str]) -> Whole:
    """A scenario or snapshot, knowing where its values come from and what it was made of."""
    whole._origins = _origins(complete)
    whole._draft = draft
    whole._remarks = tuple(remarks)
    return whole
