"""Checks of commands to tasks: they name tasks that arrive, and at least one run can carry them out."""

from collections.abc import Iterator

from simgrid_broker.editions import ByEdition
from simgrid_broker.errors import nearest
from simgrid_broker.gdpconfig import PAUSING
from simgrid_broker.names import PRODUCTION_LABELS
from simgrid_broker.scenario.gdpconfig import find
from simgrid_broker.scenario.loading.origins import Finding
from simgrid_broker.scenario.model import Incident, Scenario
from simgrid_broker.scenario.shares import leaf_names, shares_with_keys

TASK_INCIDENTS = ("task_priority", "task_share", "task_command")

OPTIONS = {"finish": ("soft",), "reassign": ("soft", "nucleus", "queue"), "incexec": ("jobs",),
           "retry": ("includedSite", "excludedSite")}
"""Fields that commands read in addition to the task; other commands read none."""


THROTTLED_FROM = 6
"""Attempts that inputs must have for a task to be throttled; source: lifecycle reference, section 2.10."""

LIVE, HELD, ENDING, ENDED, ABORTED = "at work", "paused", "finishing", "over", "aborted"
"""States of a task as far as commands go; `at work` has exhausted tasks in it, `paused` throttled ones."""

EFFECT = {"abort": ((LIVE, HELD, ENDING), ABORTED), "finish": ((LIVE, HELD), ENDING), "pause": ((LIVE, ENDING), HELD),
          "resume": ((HELD,), LIVE), "reassign": ((LIVE,), LIVE), "avalanche": ((LIVE,), LIVE),
          "incexec": ((LIVE, ENDED, ABORTED), LIVE)}
"""Where a command can be carried out, and what the task is then; source: lifecycle reference, section 2.8."""

RETRY = ByEdition(((LIVE, ENDED), LIVE), ((LIVE, ENDED, ABORTED), LIVE))
"""As above for retry, which the deployed edition also accepts for aborted tasks (L15)."""


def command_options(scenario: Scenario) -> Iterator[Finding]:
    """A command gets no field that it does not read."""
    for key, incident in _of_kind(scenario, "task_command"):
        for name in ("soft", "nucleus", "queue", "jobs", "includedSite", "excludedSite"):
            if getattr(incident, name) is not None and name not in OPTIONS.get(incident.command or "", ()):
                reads = ", ".join(OPTIONS.get(incident.command or "", ())) or "nothing but the task"
                yield Finding((*key, name), getattr(incident, name), f"{incident.command} does not read this; it reads "
                              f"{reads}")


def share_of_command(scenario: Scenario) -> Iterator[Finding]:
    """A task goes to a share that takes tasks."""
    inner = [share.name for _, share in shares_with_keys(scenario.shares) if share.children]
    for key, incident in _of_kind(scenario, "task_share"):
        if incident.share in inner:
            yield Finding((*key, "share"), incident.share, "expected a share without children, as only those take "
                          "tasks", nearest(incident.share, leaf_names(scenario)))


def task_of_command(scenario: Scenario) -> Iterator[Finding]:
    """The task of an incident is the number of one, or the name of a stream of work; a trace has names of its own."""
    work = scenario.workload
    names = [stream.name for stream in work.streams]
    for what in TASK_INCIDENTS:
        for key, incident in _of_kind(scenario, what):
            task = incident.task
            if isinstance(task, int) and task < 1:
                yield Finding((*key, "task"), task, "expected the number of a task, 1 or above")
            elif isinstance(task, str) and task not in names and work.trace is None:
                yield Finding((*key, "task"), task, "unknown campaign or group of users", nearest(task, names))


def impossible_command(scenario: Scenario) -> Iterator[Finding]:
    """A command can be carried out in some run: resume needs a pause, and pause a task that was not aborted."""
    said = [(key, incident) for key, incident in _of_kind(scenario, "task_command")
            if incident.task is not None and incident.command is not None]
    said.sort(key=lambda one: one[1].at)
    for place, (key, incident) in enumerate(said):
        possible = _possible(scenario, incident.task, [other for _, other in said[:place]])
        where = _effect(scenario, incident)[0]
        if not possible & set(where):
            yield Finding((*key, "command"), incident.command, f"the task can only be {' or '.join(sorted(possible))} "
                          f"by then, and {incident.command} needs one that is {' or '.join(where)}")


def _possible(scenario: Scenario, task: int | str | None, before: list[Incident]) -> set[str]:
    """States of a task after some commands; of those to others only such count as may be about the same task.

    A name covers many tasks, and more may arrive later.
    """
    first = {LIVE, ENDED} | ({HELD} if _held_by_itself(scenario) else set())
    possible = set(first)
    for incident in before:
        same, related = incident.task == task, isinstance(incident.task, str) != isinstance(task, str)
        if not (same or related):
            continue
        where, after = _effect(scenario, incident)
        met = possible & set(where)
        left = possible - met if same and isinstance(task, int) else possible
        possible = left | ({after} if met else set())
        if possible & {LIVE, HELD, ENDING}:
            possible |= first if LIVE in possible else {ENDED} if ENDING in possible else set()
    return possible


def _effect(scenario: Scenario, incident: Incident) -> tuple[tuple[str, ...], str]:
    """Where the command of an incident can be carried out, and what the task is then."""
    return RETRY[scenario.edition] if incident.command == "retry" else EFFECT[incident.command or ""]


def _held_by_itself(scenario: Scenario) -> bool:
    """True if tasks may be paused or throttled without a command."""
    keys = (*scenario.gdpconfig, *(one.key or "" for one in scenario.incidents if one.what == "gdpconfig"))
    work = scenario.workload
    return (work.trace is not None or any(match.entry in PAUSING for name in keys for match in find(name))
            or any((stream.max_attempt or 0) >= THROTTLED_FROM and stream.prodsourcelabel in PRODUCTION_LABELS
                   for stream in work.streams))


def _of_kind(scenario: Scenario, what: str) -> Iterator[tuple[tuple, Incident]]:
    for position, incident in enumerate(scenario.incidents):
        if incident.what == what:
            yield ("incidents", position), incident


COMMAND_RULES = (command_options, share_of_command, task_of_command, impossible_command)
