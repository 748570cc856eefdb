"""PanDA's priority massage: throttles analysis jobs of users above their cap, and boosts users who got little.

An owner is a user, or the working group for which the user works. Sources: JEDI TWiki, throttled jobs and tasks;
lifecycle reference, section 3.6.
"""

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.fabric.jobs.effects import oldest_first
from simgrid_broker.names import ANALYSIS_LABELS, BUILD, JobStatus, TaskStatus
from simgrid_broker.policy.users import limits as user_limits
from simgrid_broker.schema import joined
from simgrid_broker.units import HOUR
from simgrid_broker.world.jobs.counts import ENDED, tally_ended
from simgrid_broker.world.jobs.loads import max_walltimes
from simgrid_broker.world.tasks.rows import renewed

S = JobStatus
WINDOW_S = HOUR
"""Window in which jobs that ended or changed count for boosts, s; source: lifecycle reference, section 3.6."""


def priority_massage(control: Control) -> Process:
    """Apply caps and boosts, if there can be analysis jobs."""
    if any(label in ANALYSIS_LABELS for label in control.world.vocabularies["labels"]):
        yield from control.every(control.periods.priority_massage, PriorityMassage(control).look, "massage")


class PriorityMassage:
    """Counts the analysis jobs of each owner, and remembers which ended within the window.

    rows: of the activated and throttled jobs when they were counted last.
    """

    def __init__(self, control: Control):
        self.control = control
        world, words = control.world, control.world.vocabularies
        self.analysis = np.isin(words["labels"], ANALYSIS_LABELS)
        self.build = words["processing_types"].index(BUILD) if BUILD in words["processing_types"] else -1
        self.named = np.array([bool(word) for word in words["working_groups"]])
        self.ended = [np.zeros(0, ENDED)]
        self.rows = np.zeros(0, np.int32)
        self.owners, self.owner_of_task = np.zeros((0, 2), np.int64), np.zeros(0, np.int32)
        self.begin(np.arange(len(world.arrays.tasks)))
        control.books.newcomers.append(self.begin)
        self.most_cores = int(world.arrays.pseudo_queues["corecount"].max(initial=1))
        self.boosts = user_limits.TERMS[control.edition].boosts
        if self.boosts:
            control.fabric.watchers.append(self.watch)

    def begin(self, rows: np.ndarray) -> None:
        """Find the owners of tasks that are about to arrive; owners stay known, in an order of their own."""
        tasks, before = self.control.arrays.tasks, self.owners
        analysis = self.analysis[tasks["label"][rows]]
        of_new = user_limits.owners(tasks["user"][rows], tasks["working_group"][rows], self.named)
        self.owners, place = np.unique(np.concatenate([before, of_new[analysis]]), axis=0, return_inverse=True)
        place = place.ravel()
        known = np.append(place[:len(before)], -1)             # numbers of the owners before, -1 = none
        self.owner_of_task = renewed(self.control.world, known[self.owner_of_task].astype(np.int32), rows, -1)
        self.owner_of_task[rows[analysis]] = place[len(before):]
        for ended in self.ended:
            ended["owner"] = known[ended["owner"]]
        self.users, self.is_group = np.unique(self.owners[:, 0]), self.owners[:, 1] >= 0

    def watch(self, rows: np.ndarray, times: np.ndarray) -> None:
        """Note analysis jobs that have just ended."""
        owner = self.owner_of_task[rows["task"]]
        chosen = np.flatnonzero((owner >= 0) & (rows["n_chunks"] > 0))
        if len(chosen):
            ended, status = np.empty(len(chosen), ENDED), rows["status"][chosen]
            ended["owner"], ended["queue"], ended["status"] = owner[chosen], rows["queue"][chosen], status
            ended["ended_s"] = times[chosen, status]
            self.ended.append(ended)

    def look(self) -> None:
        """Throttle, release and boost jobs according to the current counts."""
        limits, arrays = user_limits.caps(self.control.cfg), self.control.arrays
        if not self.boosts and not user_limits.may_matter(
                arrays.user_counts[self.users], arrays.user_cores[self.users], self.most_cores, limits):
            return
        (jobs, cores), done, activated, known = self._count()
        over, below = user_limits.over_and_below(jobs, cores, self.is_group, limits, self.control.edition)
        self._throttle(over, below)
        if self.boosts:
            self._boost(user_limits.boosts(done, activated, known))

    def _count(self) -> tuple[np.ndarray, ...]:
        """By owner: running jobs and cores; by owner and queue: recent jobs, activated jobs, whether there is any."""
        control, n_owners = self.control, len(self.is_group)
        shape = (n_owners, len(control.arrays.queues))
        since = control.now - WINDOW_S if self.boosts else -np.inf
        control.fabric.empty_outboxes()
        numbers, (done, activated) = np.zeros((2, n_owners), np.int64), np.zeros((2, *shape), np.int64)
        known = np.zeros(shape, bool)
        self.rows = control.fabric.look_at_owners(self.owner_of_task, since, numbers, done, activated, known)
        ended = joined(self.ended)
        self.ended = [ended[:tally_ended(ended, since, done, known)]]
        return numbers, done, activated, known

    def _jobs(self, status: JobStatus, chosen: np.ndarray) -> tuple[np.ndarray, user_limits.Capped]:
        """Rows and view of the jobs of chosen owners, (n_owners,) bool, in a status, oldest first.

        Jobs may be throttled unless they build libraries, and are held by a cap unless their task is paused.
        """
        control, arrays, table = self.control, self.control.arrays, self.control.arrays.jobs
        rows = oldest_first(arrays, control.fabric.jobs_of_owners(self.rows, self.owner_of_task, chosen, status))
        rows = rows[table["processing_type"][rows] != self.build]
        task = table["task"][rows]
        paused = arrays.tasks["status"][task] == TaskStatus.PAUSED
        flag = np.full(len(rows), user_limits.MOVABLE) if status == S.ACTIVATED else np.where(
            paused, 0, user_limits.HELD)
        return rows, user_limits.Capped(task, self.owner_of_task[task], table["status"][rows], flag,
                                        max_walltimes(arrays, rows), table["n_chunks"][rows] == 0)

    def _throttle(self, over: np.ndarray, below: np.ndarray) -> None:
        """Throttle activated jobs of owners above their cap, and release those of owners below it."""
        control, edition = self.control, self.control.edition
        if over.any():
            rows, jobs = self._jobs(S.ACTIVATED, over)
            control.fabric.hold_back(rows[user_limits.held_by_cap(jobs, over, edition)], control.now)
        if control.arrays.user_counts[:, S.THROTTLED].any():
            rows, jobs = self._jobs(S.THROTTLED, below)
            control.fabric.release(rows[user_limits.released_below_cap(jobs, below, edition)], control.now)

    def _boost(self, wanted: list[user_limits.Boost]) -> None:
        """Raise the priority of activated jobs of owners who got little."""
        if not wanted:
            return
        chosen = np.zeros(len(self.is_group), bool)
        chosen[[boost.owner for boost in wanted]] = True
        rows, jobs = self._jobs(S.ACTIVATED, chosen)
        table = self.control.arrays.jobs
        for _, places, points in user_limits.boosted(wanted, jobs, table["queue"][rows], table["priority"][rows]):
            self.control.fabric.lift(rows[places], points)
