"""Rules about PanDA queues: status by functional tests, whose thresholds are scenario values as no public source gives
them; the queue filler, which pins tasks to queues that have too little to do; and zero share: what the
`fairsharepolicy` of a queue means for a task, and what in it does not do what it says.

Source: lifecycle reference, 7.1; panda-server, AtlasQueueFillerWatchDog; PanDA brokerage documentation, Zero Share;
brokerage reference, section 6 (D42, D43). As in PanDA, malformed text of a policy never stops a decision: a field that
is no known filter is ignored.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from operator import eq, ge, gt, le, lt, ne
from typing import NamedTuple

import numpy as np

from simgrid_broker.editions import ByEdition
from simgrid_broker.gdpconfig import queue_filler
from simgrid_broker.names import PROCESSING_GROUPS, QueueStatus, TaskStatus
from simgrid_broker.policy.software.check import takes_images
from simgrid_broker.units import HOUR, MINUTE
from simgrid_broker.views import Gdpconfig
from simgrid_broker.views.candidates import QueueSoftware

FILLS_QUEUES = ByEdition(documented=False, deployed=True)
"""True if the queue filler runs, by edition."""


def status_after(outcomes: Sequence[bool], status: QueueStatus, set_aside: bool, failures: int,
                 successes: int) -> QueueStatus | None:
    """New status of a queue by the outcomes of its tests, the last one last; None = it stays.

    A queue that is online is set to test after so many failures in a row; one that was set aside so, and is in test
    still, is online again after so many successes in a row. What operators have set otherwise stays.
    """
    if status == QueueStatus.ONLINE and len(outcomes) >= failures and not any(outcomes[-failures:]):
        return QueueStatus.TEST
    if status == QueueStatus.TEST and set_aside and len(outcomes) >= successes and all(outcomes[-successes:]):
        return QueueStatus.ONLINE
    return None


T = TaskStatus
LABEL = "managed"
"""prodSourceLabel of the tasks that are pinned."""
SERVED = (T.READY, T.RUNNING)
"""Statuses of the tasks that are pinned, and stay so."""
LEAST_RATE = 0.6
"""Jobs that must have begun to run at a queue in an hour, unless it is of a kind that seldom runs."""
LEAST_JOBS, RUNNING_FACTOR = 20, 2
"""Jobs that a queue should have at hand: at least so many, and so many for each running one."""
FILLED_TO, FULL_FROM = 0.25, 0.375
"""Parts of these below which a queue is filled, and above which its tasks are released."""
EMPTY_S = 30 * MINUTE
"""Time for which a queue must have had too little to do, s; one with slots of its own need not wait."""
REASSIGN_S = 5 * MINUTE
"""Time from pinning a task to closing some of its jobs elsewhere, s."""
LISTED_S = 12 * HOUR
"""Time for which a task that was released for itself is not pinned again, s, from the beginning of that hour."""
MEMORY_PART = 0.95
"""Part of the memory of a job that must be below the limit of the queue."""
ONLY_SIMULATION, NO_SIMULATION = "simul", "type=simul:0%"
"""Processing type to which a queue with a `fairsharepolicy` is held, and the policy that rules it out."""
ARM, X86 = "aarch64", "x86_64"


class Limits(NamedTuple):
    """Tasks that are pinned to a queue and resource type; files that each needs: ready, in fat containers, remaining.
    """

    tasks: int
    ready: int
    ready_in_container: int
    remaining: int


def limits_of_filling(cfg: Gdpconfig) -> Limits:
    """Limits in force."""
    keys = (queue_filler.MAX_PREASSIGNED_TASKS, queue_filler.MIN_FILES_READY, queue_filler.MIN_FILES_READY_FC,
            queue_filler.MIN_FILES_REMAINING)
    return Limits(*(cfg.value(key, label=LABEL) for key in keys))


class Work(NamedTuple):
    """Work of queues, (n_queues,) each: jobs that run, and that are activated or starting; slots of its own
    (Harvester_Slots, 0 = none) in jobs; and jobs that began to run in an hour."""

    running: np.ndarray
    waiting: np.ndarray
    standby: np.ndarray
    rate: np.ndarray


def jobs_to_fill(work: Work) -> np.ndarray:
    """Jobs that each queue lacks, (n_queues,); none if not above 0."""
    wanted = np.maximum(LEAST_JOBS, RUNNING_FACTOR * np.maximum(work.running, work.standby))
    return FILLED_TO * wanted - work.waiting


def may_be_filled(work: Work, seldom_runs: np.ndarray, slots: np.ndarray) -> np.ndarray:
    """Queues at which jobs start often enough, (n_queues,) bool.

    seldom_runs: for ARM or fat containers alone, which may stand idle for days; slots: those of its own, 0 = none.
    """
    return seldom_runs | (slots > 0) | (work.rate >= LEAST_RATE)


def is_full(work: Work) -> np.ndarray:
    """Queues with enough to do, (n_queues,) bool: the tasks that are pinned to them are released."""
    return work.waiting > np.maximum(FULL_FROM * np.maximum(LEAST_JOBS, RUNNING_FACTOR * work.running), work.standby)


def is_for_arm_alone(software: QueueSoftware) -> bool:
    """True if a queue runs software for ARM alone, by the first CPUs that it publishes."""
    published = software.published
    arch = next((one.arch or () for one in published.architectures if one.type == "cpu"), ()) if published else ()
    return ARM in arch and ("excl" in arch or X86 not in arch)


def fat_containers(software: QueueSoftware) -> tuple[str, ...] | None:
    """Fat containers that a queue has, if it runs nothing else; None if it is no such queue."""
    published = software.published
    if published is None or takes_images(published):
        return None
    return tuple(tag.container_name for tag in published.tags if tag.container_name)


def processing_type(fairsharepolicy: str) -> str | None:
    """Processing type to which the tasks for a queue are held, "" = any; None: no task may be pinned to it."""
    if not fairsharepolicy:
        return ""
    return None if NO_SIMULATION in fairsharepolicy else ONLY_SIMULATION


def fits_memory(task: Mapping[str, np.ndarray], per_core: np.ndarray, cores: int, maxrss_mb: float) -> np.ndarray:
    """Tasks whose jobs have memory at a queue, (n,) bool; task: columns in MB; per_core: what `ramcount` counts."""
    need = task["baseramcount"] + task["ramcount"] * np.where(per_core, cores, 1)
    return need * MEMORY_PART < maxrss_mb


def has_files(ready: np.ndarray, remaining: np.ndarray, in_container: bool, bound: Limits) -> np.ndarray:
    """Tasks with files enough, (n,) bool; ready: of which jobs can be made now; remaining: without a job so far."""
    return (ready >= (bound.ready_in_container if in_container else bound.ready)) & (remaining >= bound.remaining)


def by_priority(priority: np.ndarray) -> np.ndarray:
    """Places of tasks in the order in which they are pinned, (n,): the highest priority first."""
    return np.argsort(-priority.astype(np.int64), kind="stable")


def jobs_to_close(lacking: float) -> int:
    """Jobs of a pinned task that are closed at other queues."""
    return int(lacking / 3)


COMPARISONS = {">": gt, "<": lt, ">=": ge, "<=": le, "==": eq, "!=": ne}
UNDOCUMENTED_GROUPS = ("mcore",)
"""Groups of the deployed edition that the documentation does not list; source: D43."""

TEST_GROUP, OTHERS = "test", "others"
"""Group of tests, which a policy may name as documented while the deployed edition asks no policy for them; and the
group of all processing types that are not listed."""

TASK_FIELDS = ("processingtype", "workinggroup", "gshare", "currentpriority", "is_merging")
"""Fields of a task that decide whether a sub-policy matches."""

KEYS = ("priority", "type", "group", "gshare")
"""Keys of a sub-policy; source: PanDA brokerage documentation, Zero Share."""

EXPECTED = "expected <key><filter>:<value>, such as type=evgen:0%"

PRIORITY = re.compile(r"\s*(>=|<=|==|!=|>|<)\s*([-+]?(?:0+|[1-9]\d*|\d+\.\d*|\.\d+))\s*", re.ASCII)
"""A comparison that the deployed edition can evaluate: Python accepts no whole number with a leading 0."""
_VALUE = re.compile(r"\d+(?:\.\d+)?%?", re.ASCII)
_ZERO = re.compile(r"[0.]+%?")
_KEY = re.compile(r"priority|\w*", re.ASCII)


@dataclass(frozen=True)
class SubPolicy:
    """One sub-policy; a filter that is None is absent. `priority` is the comparison as written."""

    zero: bool
    type: str | None = None
    group: str | None = None
    gshare: str | None = None
    priority: str | None = None


class MalformedPolicy(NamedTuple):
    """Part of a `fairsharepolicy` that does not do what it says; position: character, counted from 0."""

    position: int
    reason: str

    def __str__(self) -> str:
        return f"character {self.position + 1}: {self.reason}"


class Terms(NamedTuple):
    """Terms in which the editions differ.

    unmatched: groups of processing types that `type=` does not match; others: those among them that count as `others`;
    spared: groups whose tasks no policy refuses; anchored: `A|B` is anchored as `^A|B$`, each part at one end only,
    otherwise all of it must match; holds_for_merging: the priority filter holds for merge jobs, otherwise never (D42).
    """

    unmatched: tuple[str, ...]
    others: tuple[str, ...]
    spared: tuple[str, ...]
    anchored: bool
    holds_for_merging: bool


TERMS = ByEdition(
    documented=Terms(UNDOCUMENTED_GROUPS, UNDOCUMENTED_GROUPS, (), anchored=False, holds_for_merging=False),
    deployed=Terms((TEST_GROUP,), (), (TEST_GROUP,), anchored=True, holds_for_merging=True))


def parse_policy(text: str) -> tuple[SubPolicy, ...]:
    """The sub-policies of a `fairsharepolicy` in order; any text is accepted, empty text has none."""
    return _read(text, "documented")[0]


def as_read(text: str) -> str:
    """A `fairsharepolicy` with the same decisions as the text, in which only what PanDA reads in it is left.

    A pattern that is no regular expression stays: no task is refused for it or for what follows.
    """
    return ",".join(_written(policy) for policy in parse_policy(text))


def _written(policy: SubPolicy) -> str:
    """A sub-policy as text; one without a filter holds for every task."""
    filters = [f"{key}={value}" for key in KEYS[1:] if (value := getattr(policy, key)) is not None]
    if policy.priority not in (None, "=any"):
        filters.insert(0, f"priority{policy.priority}")
    return ":".join((*(filters or ["type=any"]), "0%" if policy.zero else "100%"))


def check_policy(text: str, edition: str = "documented") -> tuple[MalformedPolicy, ...]:
    """Everything that PanDA would ignore or never match in a `fairsharepolicy`, in the order of its text."""
    return _read(text, edition)[1]


def valid_types(edition: str) -> tuple[str, ...]:
    """Groups that `type=` can match; the deployed edition asks no policy for tests (brokerage reference, section 6)."""
    return tuple(sorted({*PROCESSING_GROUPS.values(), OTHERS} - {*TERMS[edition].unmatched}))


def processing_group(processingtype: str, edition: str) -> str:
    """The group that `type=` addresses: PanDA's group of the processing type, or `others`."""
    group = PROCESSING_GROUPS.get(processingtype, OTHERS)
    return OTHERS if group in TERMS[edition].others else group


def has_zero_share(policy: str, *, processingtype: str, workinggroup: str, gshare: str, currentpriority: int,
                   is_merging: bool, edition: str) -> bool:
    """True if the first sub-policy that matches the task says zero; without a match it does not.

    As documented a policy may name tests (`type=test:0%`); as deployed tests are never refused.
    """
    place = first_match(policy, processingtype=processingtype, workinggroup=workinggroup, gshare=gshare,
                        currentpriority=currentpriority, is_merging=is_merging, edition=edition)
    return place is not None and parse_policy(policy)[place].zero


def first_match(policy: str, *, processingtype: str, workinggroup: str, gshare: str, currentpriority: int,
                is_merging: bool, edition: str) -> int | None:
    """Place of the first sub-policy that matches the task, None if none does; arguments as above."""
    group = processing_group(processingtype, edition)
    if group in TERMS[edition].spared:
        return None
    for place, sub in enumerate(parse_policy(policy)):
        try:
            matches = (_matches(sub.type, group, edition) and _matches(sub.group, workinggroup or "", edition)
                       and (not gshare or _matches(sub.gshare, gshare, edition))
                       and _priority_matches(sub.priority, currentpriority, is_merging, edition))
        except re.error:
            return None                         # as in PanDA: an error while matching refuses no task
        if matches:
            return place
    return None


def _matches(pattern: str | None, value: str, edition: str) -> bool:
    """True if a filter holds; in the deployed edition `A|B` is anchored as `^A|B$`, each part at one end only."""
    if pattern in (None, "any"):
        return True
    expression = pattern.replace("*", ".*")
    found = re.search(f"^{expression}$", value) if TERMS[edition].anchored else re.fullmatch(expression, value)
    return found is not None


def _priority_matches(expression: str | None, priority: int, is_merging: bool, edition: str) -> bool:
    """True if the priority filter holds; for merge jobs it is ignored (documented) or always holds (D42)."""
    if expression in (None, "any"):
        return True
    if is_merging:
        return TERMS[edition].holds_for_merging
    comparison = PRIORITY.fullmatch(expression)
    return comparison is None or COMPARISONS[comparison[1]](priority, float(comparison[2]))


@cache
def _read(text: str, edition: str) -> tuple[tuple[SubPolicy, ...], tuple[MalformedPolicy, ...]]:
    """The sub-policies and the problems of a `fairsharepolicy`."""
    policies, problems, start = [], [], 0
    for part in text.split(",") if text else ():
        policy, found = _sub_policy(part, start, edition)
        policies.append(policy)
        problems += found
        start += len(part) + 1
    return tuple(policies), tuple(sorted(problems, key=lambda problem: problem.position))


def _sub_policy(text: str, start: int, edition: str) -> tuple[SubPolicy, list[MalformedPolicy]]:
    """A sub-policy that begins at `start`, and its problems; PanDA reads its value as a filter, too."""
    filters: dict[str, str] = {}
    problems: list[MalformedPolicy] = []
    position = start
    *fields, value = text.split(":")
    for field in fields:
        problems += _filter(field, position, filters, edition)
        position += len(field) + 1
    list(_filter(value, position, filters, edition))
    if not text.strip():
        problems = [MalformedPolicy(start, f"an empty sub-policy matches every task; {EXPECTED}")]
    elif not fields:
        problems = [MalformedPolicy(start, f"a value without a filter holds for every task; {EXPECTED}"
                                    if _VALUE.fullmatch(value) else
                                    f"{text!r} has no value and so accepts what it matches; {EXPECTED}")]
    elif not _VALUE.fullmatch(value):
        problems.append(MalformedPolicy(position, f"{value!r} is no value and so accepts; expected a number, with or "
                                        "without %"))
    elif value not in ("0", "0%") and _ZERO.fullmatch(value):
        problems.append(MalformedPolicy(position, f"{value!r} is not zero for PanDA; write 0 or 0%"))
    return SubPolicy(value in ("0", "0%"), **filters), problems


def _filter(field: str, start: int, filters: dict[str, str], edition: str) -> Iterator[MalformedPolicy]:
    """Add a filter to those of its sub-policy; its problems."""
    key = _KEY.findall(field)[0]
    after, place = field[len(key):], start + len(key)
    if field != field.lstrip():
        yield MalformedPolicy(start, "a filter after a blank is passed over, so that the sub-policy matches every task")
    elif key not in KEYS or key != "priority" and not after.startswith("="):
        yield MalformedPolicy(start, _unknown(field, key))
    else:
        if key in filters:
            yield MalformedPolicy(start, f"{key!r} stands here a second time; only the last one counts")
        filters[key] = after if key == "priority" else after.split("=")[-1]
        if key != "priority":
            yield from _of_pattern(key, after[1:], place + 1, edition)
        elif after != "=any" and not PRIORITY.fullmatch(after):
            yield MalformedPolicy(place, f"the comparison {after!r} cannot be made and so holds for every task; "
                                  "expected one of > < >= <= == != and a number")


def _unknown(field: str, key: str) -> str:
    """The problem of a field that is no filter."""
    if key in KEYS:
        return f"{field!r} is passed over; expected {key}=<text>"
    near = get_close_matches(key.lower(), KEYS, n=1)
    meant = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(KEYS)}"
    return f"{field!r} is no filter and is passed over, so that the sub-policy may match every task; {meant}"


def _of_pattern(key: str, text: str, start: int, edition: str) -> Iterator[MalformedPolicy]:
    """Problems of the text that a task's type, group or share is compared with."""
    if "=" in text:
        yield MalformedPolicy(start, f"only what follows the last `=` of {text!r} counts")
        start, text = start + text.rindex("=") + 1, text[text.rindex("=") + 1:]
    if text != text.strip():
        yield MalformedPolicy(start, f"the blanks in {text!r} count, and nothing has them")
        return
    try:
        matches = re.compile(text.replace("*", ".*")).fullmatch
    except (re.error, OverflowError) as error:
        yield MalformedPolicy(start, f"{text!r} is no regular expression ({error}), and no task is refused for it "
                              "or for what follows")
        return
    if key == "type" and text != "any" and not any(map(matches, valid_types(edition))):
        yield MalformedPolicy(start, _no_type(text, edition))


def _no_type(text: str, edition: str) -> str:
    """The problem of a type that matches nothing."""
    known = valid_types(edition)
    if text == TEST_GROUP or PROCESSING_GROUPS.get(text) in TERMS[edition].spared:
        return "PanDA asks no policy for tests"
    if PROCESSING_GROUPS.get(text) == TEST_GROUP:
        return f"{text!r} is matched by nothing; did you mean 'test'?"
    near = get_close_matches(text, known, n=1)
    return (f"no type is {text!r}; " + (f"did you mean {near[0]!r}? " if near else "")
            + f"types are {', '.join(known)}; all that are not listed are `{OTHERS}`")
