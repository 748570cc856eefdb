"""Selection of tasks for a cycle of job generation: order, and limits on tasks and files. Source: JEDI TWiki, typical
usages of the JEDI_Tasks table; lifecycle reference, section 2.3."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.editions import ByEdition
from simgrid_broker.gdpconfig import dbproxy, jobgen
from simgrid_broker.views import Gdpconfig

EXPRESS_OF_GROUP_PRIORITY = 1500
"""Priority from which tasks are express where groups take turns; source: lifecycle reference, section 2.3."""
SPARE_FILES, LEAST_FILES = 10, 100
"""Files read beyond what the jobs need, and fewest files read of a task; source: lifecycle reference, section 2.3."""
USER = "userName"
OF_EXPRESS, OF_GROUP, BEFORE_A_TURN = range(3)
"""Kinds of random draws: order of express tasks, order of groups, whether an express task comes before a turn."""


class Selection(NamedTuple):
    """Choice of the tasks of a work queue: attribute that takes turns (empty = by priority), limits, ratio in %."""

    attribute: str
    n_tasks: int
    n_files: int
    express_ratio: float
    reads_more: bool


class Terms(NamedTuple):
    """Terms in which the editions differ.

    by_user: users take turns in work queues of analysis without GROUPBYATTR (L7); reads_more: more tasks are read than
    are served; polls: an inactive share and type is visited in one cycle of four; pends: tasks without a nucleus are
    pending, otherwise they wait without a change of status (D5).
    """

    by_user: bool
    reads_more: bool
    polls: bool
    pends: bool


TERMS = ByEdition(documented=Terms(by_user=True, reads_more=False, polls=False, pends=True),
                  deployed=Terms(by_user=False, reads_more=True, polls=True, pends=False))


def selection(cfg: Gdpconfig, queue: str, analysis: bool, edition: str) -> Selection:
    """Choice of the tasks of a work queue under gdpconfig.

    L7: without GROUPBYATTR_<queue> the deployed edition goes by priority alone; in the documented edition analysis
    users take turns.
    """
    attribute = cfg.value(jobgen.GROUPBYATTR, queue=queue)
    if attribute is None:
        attribute = USER if analysis and TERMS[edition].by_user else ""
    return Selection(attribute, cfg.value(jobgen.NTASKS, queue=queue), cfg.value(jobgen.NFILES, queue=queue),
                     cfg.value(dbproxy.SUPER_HIGH_PRIO_TASK_RATIO), TERMS[edition].reads_more)


def generates(cfg: Gdpconfig) -> bool:
    """True if jobs are generated at all."""
    return cfg.value(jobgen.JOB_SUBMISSION)


def by_priority(age: np.ndarray, priority: np.ndarray, *queue: np.ndarray,
                scouting: np.ndarray | int = 0) -> np.ndarray:
    """Order in which tasks are served, (n,) numbers of tasks: the highest priority first, older before younger.

    age: grows with arrival, as the jeditaskid; queue: what separates work queues, the last one first; scouting: tasks
    with one more.
    Source: lifecycle reference, section 2.3; brokerage reference, 1.1.
    """
    return np.lexsort((age, -(priority.astype(np.int64) + scouting), *queue))


def in_turn(priority: np.ndarray, group: np.ndarray, express_ratio: float,
            uniforms: Callable[[int, np.ndarray], np.ndarray]) -> np.ndarray:
    """Order in which tasks are served if groups take turns, (n,) numbers of tasks.

    priority, group: (n,), in base order (priority, then age); uniforms(kind, numbers): random draws in (0, 1) for the
    tasks of these numbers, or for the turns of these numbers. Remaining express tasks come last.
    """
    is_express = priority >= EXPRESS_OF_GROUP_PRIORITY
    if not is_express.any():
        return _by_turns(group, uniforms)
    others, express = np.flatnonzero(~is_express), np.flatnonzero(is_express)
    in_turns = others[_by_turns(group[others], lambda kind, numbers: uniforms(kind, others[numbers]))]
    express = express[np.lexsort((uniforms(OF_EXPRESS, express), -priority[express].astype(np.int64)))]
    before = np.flatnonzero(uniforms(BEFORE_A_TURN, np.arange(len(in_turns))) * 100 < express_ratio)[:len(express)]
    return np.concatenate([np.insert(in_turns, before, express[:len(before)]), express[len(before):]])


def _by_turns(group: np.ndarray, uniforms: Callable[[int, np.ndarray], np.ndarray]) -> np.ndarray:
    """Order in which groups take turns, (n,): first task of each, second of each; groups by the draw of their first."""
    first, (following, served) = np.full(int(group.max(initial=-1)) + 2, -1), np.empty((2, len(group)), np.int64)
    first = first[:chain_groups(group.astype(np.int64), first, following)]
    take_turns(first[np.argsort(uniforms(OF_GROUP, first), kind="stable")], following, served)
    return served


@compiled
def chain_groups(group, first, following):
    """Write the number of the first task of each group to `first`, and of the next one of its own to `following`.

    group: (n,), from -1 to the length of `first` less 2; first: -1 everywhere before, afterwards the first tasks of all
    groups at its begin; following: -1 after the last task of a group. Returns how many groups there are.
    """
    n = 0
    for k in range(len(group) - 1, -1, -1):
        following[k] = first[group[k] + 1]
        first[group[k] + 1] = k
    for number in first:
        first[n] = number
        n += number >= 0
    return n


@compiled
def take_turns(groups, following, served):
    """Write the numbers of the tasks of some groups to `served`, one of each in turn; following: as `chain_groups`.

    groups: the first of each, in their order; overwritten by those that are left.
    """
    n, n_left = 0, len(groups)
    while n_left > 0:
        n_before, n_left = n_left, 0
        for number in groups[:n_before]:
            served[n] = number
            n += 1
            if following[number] >= 0:
                groups[n_left] = following[number]
                n_left += 1


@compiled
def most_jobs(left, n_files_per_job, n_files, reads_more):
    """Jobs that may be made of one task while the throttler leaves `left`; n_files, reads_more: as in `Selection`.

    The deployed edition reads a few files more than the remaining jobs need, and at least 100, so the last task of a
    cycle may get more jobs; source: lifecycle reference, section 2.3.
    """
    per_job = max(n_files_per_job, 1)
    if not reads_more:
        return min(left, max(n_files // per_job, 1))
    return max(files_to_read(left, per_job, n_files) // per_job, 1)


@compiled
def files_to_read(left, typical, n_files):
    """Files that are read of a task with `typical` files in a job, while the throttler leaves `left` jobs.

    Source: lifecycle reference, section 2.3.
    """
    return max(min(n_files, typical * left + SPARE_FILES), LEAST_FILES)
