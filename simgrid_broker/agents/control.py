"""What the agents share: the clock, the world, the fabric, gdpconfig, and the books that they keep together.

What lives here: `Control`, and the loop of an agent that wakes on a period. What does not: any agent.
"""

import numpy as np

from simgrid_broker import luck
from simgrid_broker.agents.command_book import CommandBook
from simgrid_broker.agents.contents_feeder import OpenInputs
from simgrid_broker.agents.decision_log import DecisionLog
from simgrid_broker.agents.live_tasks import LiveTasks
from simgrid_broker.agents.policies import policies_in_use
from simgrid_broker.agents.retry_module import RetryModule
from simgrid_broker.agents.scouts import Scouts
from simgrid_broker.agents.task_ledger import TaskLedger
from simgrid_broker.names import TaskStatus
from simgrid_broker.policy.funnel import MaskCache
from simgrid_broker.views import Gdpconfig
from simgrid_broker.world import observe
from simgrid_broker.world.counts import take_snapshot


class Control:
    """Everything an agent can reach.

    env: SimPy environment over the fabric; world, fabric: the data plane; cfg: gdpconfig in force; policies: the
    decisions in use. `gdpconfig` is a function that gives the values in force, by (component, key), after the changes
    in a mapping of names to values; write(name, rows, times=None) is the recorder; validate: check all invariants at
    every sample; keep_snapshot(values) keeps a snapshot, if the scenario wants any.
    """

    def __init__(self, env, world, fabric, gdpconfig, write, validate=False, keep_snapshot=None):
        self.env, self.world, self.fabric = env, world, fabric
        self.gdpconfig, self.write, self.validate = gdpconfig, write, validate
        self.keep_snapshot = keep_snapshot
        scenario = world.scenario
        self.policies = policies_in_use(scenario.policies)
        self.config_changes = {}
        self.cfg = Gdpconfig(gdpconfig({}))
        self.seed, self.edition, self.periods = scenario.seed, scenario.edition, scenario.agents
        self.live_tasks = LiveTasks(world)
        self.snapshot = take_snapshot(world.arrays, 0.0, by_queue=True)
        self.queues = observe.queues(world)
        self.mask_cache = MaskCache()
        self.decisions = DecisionLog(world, scenario.record, self.seed)
        self.commands = CommandBook(world)
        self.ledger = TaskLedger(self)
        self.open_inputs = OpenInputs(world)
        self.lost_files = {}
        self.retry_module = RetryModule(self)
        self.scouts = Scouts(self)
        if fabric is not None:                      # a dry run has none: nothing moves there
            fabric.retry_module = self.retry_module.learn

    @property
    def now(self) -> float:
        """Simulated time, s."""
        return self.env.now

    def end_tasks(self, rows) -> None:
        """Let tasks that have just got a final status be looked at no more; unless one may come back it is recorded."""
        self.live_tasks.remove(rows)
        arrays = self.world.arrays
        if not self.commands.bring_back and len(rows):
            self.write("tasks", arrays.tasks[rows], arrays.task_times[rows])

    def unwritten_tasks(self) -> np.ndarray:
        """Rows of the tasks that have arrived and are not recorded yet, (n,)."""
        if not self.commands.bring_back:
            return self.live_tasks.rows
        return np.flatnonzero(~np.isnan(self.world.arrays.task_times[:, TaskStatus.REGISTERED]))

    def set_config(self, name: str, value) -> None:
        """Change one key of gdpconfig from now on."""
        self.config_changes[name] = value
        self.cfg = Gdpconfig(self.gdpconfig(self.config_changes))

    def refresh_queues(self) -> None:
        """Read the description of the queues anew after it has changed."""
        self.world.describe_anew()
        self.queues = observe.queues(self.world)

    def tag_code(self, tag: str) -> int:
        """Number of a broker's tag, -1 for none."""
        return self.world.vocabularies["tags"].index(tag) if tag else -1

    def every(self, period: float, work, name: str, number: int = 0):
        """Generator of a process that calls `work()` on a period, first at a phase that luck gives to its name.

        Where `work()` returns a time, s, the process sleeps so long instead.
        The phase is a multiple of 1/1024 s: then sums of whole seconds are exact, and 30 minutes are 1800 s for ever.
        """
        key = int(np.frombuffer(name.encode().ljust(8)[:8], np.int64)[0] & 0x7FFFFFFF)
        phase = float(luck.uniforms(self.seed, "phase", key, number)) * period
        yield self.env.timeout(np.floor(phase * 1024) / 1024)
        while True:
            yield self.env.timeout(work() or period)
