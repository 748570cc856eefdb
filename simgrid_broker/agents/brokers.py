"""Both brokers with what they see of the grid; a run and a dry run ask them in the same way."""

from collections.abc import Callable

import numpy as np

from simgrid_broker import luck
from simgrid_broker.agents.policies import Policies
from simgrid_broker.policy.funnel import MaskCache
from simgrid_broker.policy.job_brokerage.broker import broker_hint
from simgrid_broker.views import JobInput, Nuclei, Queues, Task, Verdict
from simgrid_broker.world import observe
from simgrid_broker.world.counts import Snapshot
from simgrid_broker.world.nuclei import Burden, nuclei, nucleus_number
from simgrid_broker.world.world import World


class Brokers:
    """Job and task brokerage; snapshot: statistics, replaced at each refresh; queues: candidates as in CRIC."""

    def __init__(self, world: World, policies: Policies, snapshot: Snapshot):
        self.world, self.policies, self.snapshot = world, policies, snapshot
        self.queues: Queues = observe.queues(world)
        self.cache = MaskCache()

    def refresh_queues(self) -> None:
        """Read the description of the queues again after a change; cached masks are dropped."""
        self.world.describe_anew()
        self.queues = observe.queues(self.world)

    def question(self, task: Task, parts: JobInput | None, wanted: int, account: int | None = None) -> tuple:
        """Arguments of the job brokerage for `wanted` jobs of a task, without the cache.

        parts: input, as `observe.job_input` gives it; account: where the jobs count, default the task's share.
        """
        account = task.share if account is None else account
        stats = observe.stats(self.world, self.snapshot, account, task.nucleus, self._type_asked(task))
        types_at = self.snapshot.types_at.get(task.jeditaskid)
        if types_at and self.policies.edition == "deployed":
            load = observe.of_types_at(self.world, self.snapshot, account, stats.load, types_at)
            stats = stats._replace(load=load)
        return (task, self.queues, stats, observe.locality(task, parts, wanted), self.policies.cfg,
                self.policies.edition)

    def queues_for(self, task: Task, parts: JobInput | None, wanted: int, account: int | None = None,
                   cache: bool = True) -> Verdict:
        """Verdict of the job brokerage; arguments as for `question`; cache: reuse masks of earlier decisions."""
        asked = self.question(task, parts, wanted, account)
        return self.policies.job_brokerage(*asked, self.cache) if cache else self.policies.job_brokerage(*asked)

    def nucleus_for(self, row: int, burden: Burden) -> tuple[Task, Nuclei, Verdict]:
        """Verdict of the task brokerage on the task in a row, with the views that it was given."""
        task = observe.task(self.world, row)
        seen = nuclei(self.world, row, burden, self._ability(row, task))
        uniform, told = nucleus_number(self.world, row), self.world.told_tasks.get(row)
        if told is not None and told.uniform is not None:
            seen.records["draw"], uniform = np.nan, told.uniform
        policies = self.policies
        return task, seen, policies.task_brokerage(task, seen, policies.cfg, policies.edition, uniform)

    def uniforms(self, stream: int, task: Task, begins: int, verdict: Verdict, n_blocks: int) -> np.ndarray:
        """Numbers that draw queues for blocks of jobs, (n_blocks, n_used); begins: key of the first attempt."""
        keys = luck.keys_of(self.queues.names)[verdict.order]
        return luck.table(self.world.scenario.seed, stream, task.luck, begins, n_blocks, keys)

    def _type_asked(self, task: Task) -> int | None:
        """Resource type whose jobs are counted: the deployed edition counts that of the task alone; None = all."""
        return task.resource_type if self.policies.edition == "deployed" else None

    def _ability(self, row: int, task: Task) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        """Function that says which of the nuclei asked, (n,) bool, have a queue for the jobs of the task (T6)."""
        parts = observe.job_input(self.world, row)
        inputs = () if parts is None else parts.inputs

        def can_run(site: np.ndarray, asked: np.ndarray) -> np.ndarray:
            stats = observe.stats(self.world, self.snapshot, task.share, resource_type=self._type_asked(task))
            stats = stats._replace(link=observe.links_of_hint(self.world, stats.link))
            sites = np.zeros(len(self.world.arrays.sites), bool)
            sites[site[asked]] = True
            possible = broker_hint(self.policies.job_rules, task, self.queues, stats, self.policies.cfg, self.cache,
                                   sites[self.queues.site], inputs)
            able = np.zeros_like(sites)
            able[self.queues.site[possible]] = True
            return asked & able[site]
        return can_run
