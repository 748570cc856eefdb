"""PanDA's priority massage: analysis jobs of users above their cap are throttled, users who got little are lifted.

What lives here: counting by owner, a user or the working group for which he works, and acting. What does not: the rules
(policy `user_caps`). Sources: JEDI TWiki, throttled jobs and tasks; lifecycle reference, section 3.6.
"""

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.names import ANALYSIS_LABELS, JobStatus, TaskStatus
from simgrid_broker.policy.user_caps import LONG_JOB_S, boosts, caps, over_and_below
from simgrid_broker.units import HOUR
from simgrid_broker.world.queued_work import max_walltimes

S = JobStatus
WINDOW_S = HOUR
"""Jobs that ended or changed longer ago do not count for boosts; source: lifecycle reference, section 3.6."""
START = (S.STARTING, S.SENT)
ENDED = (S.FINISHED, S.FAILED, S.CLOSED)


def priority_massage(control: Control) -> Process:
    """The process that looks after the jobs of users."""
    labels = control.world.vocabularies["labels"]
    if any(label in ANALYSIS_LABELS for label in labels):
        yield from control.every(control.periods.priority_massage, PriorityMassage(control).look, "massage")


class PriorityMassage:
    """Counts the analysis jobs of each owner, and remembers what ended within the window."""

    def __init__(self, control: Control):
        self.control = control
        world = control.world
        tasks = world.arrays.tasks
        analysis = np.isin(world.vocabularies["labels"], ANALYSIS_LABELS)[tasks["label"]]
        group = tasks["working_group"].astype(np.int64)
        named = np.array([bool(word) for word in world.vocabularies["working_groups"]])[group]
        pairs = np.stack([tasks["user"].astype(np.int64), np.where(named, group, -1)], axis=1)[analysis]
        owners, of_task = np.unique(pairs, axis=0, return_inverse=True)
        self.owner_of_task = np.full(len(tasks), -1, np.int32)
        self.owner_of_task[analysis] = of_task.ravel()
        self.is_group = owners[:, 1] >= 0
        self.users = np.unique(tasks["user"][analysis])
        self.most_cores = int(world.arrays.pseudo_queues["corecount"].max(initial=1))
        self.ended: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []     # owner, queue and time
        self.deployed = control.edition == "deployed"
        if self.deployed:
            control.fabric.watchers.append(self.watch)

    def watch(self, rows: np.ndarray, times: np.ndarray) -> None:
        """Remember the analysis jobs among those that have just ended, but for cancelled ones."""
        owner = self.owner_of_task[rows["task"]]
        chosen = (owner >= 0) & np.isin(rows["status"], ENDED) & (rows["n_chunks"] > 0)
        if chosen.any():
            ended_s = times[np.arange(len(rows)), rows["status"]]
            self.ended.append((owner[chosen], rows["queue"][chosen].astype(np.int64), ended_s[chosen]))

    def look(self) -> None:
        """Throttle, let go and lift jobs as the numbers of this moment want it."""
        limits = caps(self.control.cfg)
        if not self.deployed and not self._may_matter(limits):
            return
        jobs, cores, done, activated, highest = self._count()
        over, below = over_and_below(jobs, cores, self.is_group, limits, self.control.edition)
        self._throttle(over, below)
        if self.deployed:
            self._lift(boosts(done, activated, highest))

    def _may_matter(self, limits) -> bool:
        """Whether a user may be above a cap or some job is throttled; for what counts of users tell at once."""
        arrays = self.control.arrays
        counts = arrays.user_counts[self.users]
        soon = counts[:, START].sum(axis=1)
        cores = arrays.user_cores[self.users] + soon * self.most_cores
        return (bool(counts[:, S.THROTTLED].any())
                or (counts[:, S.RUNNING] + soon).max(initial=0) > min(limits.user_jobs, limits.group_jobs)
                or cores.max(initial=0) > min(limits.user_cores, limits.group_cores))

    def _count(self) -> tuple[np.ndarray, ...]:
        """Numbers of each owner: running jobs and cores; by queue, jobs done lately, activated, highest priority."""
        control, n_owners = self.control, len(self.is_group)
        shape, since = (n_owners, len(control.arrays.queues)), control.now - WINDOW_S
        control.fabric.empty_outboxes()
        jobs, cores = np.zeros(n_owners, np.int64), np.zeros(n_owners, np.int64)
        done, activated = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        highest = np.full(shape, -2**31, np.int64)
        control.fabric.look_at_owners(self.owner_of_task, since, jobs, cores, done, activated, highest)
        self.ended = [piece for piece in self.ended if (piece[2] >= since).any()]
        for owner, queue, ended_s in self.ended:
            lately = ended_s >= since
            np.add.at(done, (owner[lately], queue[lately]), 1)
        return jobs, cores, done, activated, highest

    def _jobs(self, status: JobStatus, owners: np.ndarray) -> np.ndarray:
        """Rows of the jobs of some owners, (n_owners,) bool, in one status, the oldest first; merge jobs left out."""
        arrays = self.control.arrays
        jobs = arrays.jobs
        rows = np.flatnonzero((jobs["panda_id"] > 0) & (jobs["status"] == status) & (jobs["n_chunks"] > 0))
        rows = rows.astype(np.int32)
        owner = self.owner_of_task[arrays.jobs["task"][rows]]
        rows = rows[(owner >= 0) & owners[owner]]
        return rows[np.argsort(arrays.jobs["panda_id"][rows])]

    def _throttle(self, over: np.ndarray, below: np.ndarray) -> None:
        """Hold back the activated jobs of owners over their cap, and let go those of owners below it.

        In the code short jobs stay. What TaskCommando holds back with a paused task is not let go.
        """
        control = self.control
        if over.any():
            rows = self._jobs(S.ACTIVATED, over)
            if self.deployed:
                arrays = control.arrays
                rows = rows[max_walltimes(arrays, rows) > LONG_JOB_S]
            control.fabric.hold_back(rows, control.now)
        if below.any() and control.arrays.user_counts[:, S.THROTTLED].any():
            rows = self._jobs(S.THROTTLED, below)
            tasks = control.arrays.tasks["status"][control.arrays.jobs["task"][rows]]
            control.fabric.let_go(rows[tasks != TaskStatus.PAUSED], control.now)

    def _lift(self, wanted) -> None:
        """Raise the priority of activated jobs of owners who got little."""
        if not wanted:
            return
        arrays, owners = self.control.arrays, np.zeros(len(self.is_group), bool)
        owners[[boost.owner for boost in wanted]] = True
        rows = self._jobs(S.ACTIVATED, owners)
        owner, queue = self.owner_of_task[arrays.jobs["task"][rows]], arrays.jobs["queue"][rows]
        priority = arrays.jobs["priority"][rows]
        for boost in wanted:
            chosen = (owner == boost.owner) & (queue == boost.queue) & (priority > boost.above)
            self.control.fabric.lift(rows[chosen][:boost.n_jobs], boost.points)
