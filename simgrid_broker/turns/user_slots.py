"""The task of a user whose jobs a compiled cycle brokers: it is put into the tables of analysis brokerage."""

import numpy as np

from simgrid_broker.bundle import Bundle
from simgrid_broker.compiled import compiled
from simgrid_broker.policy.brokerage.analysis.question import estimate
from simgrid_broker.policy.brokerage.production.question import derive
from simgrid_broker.turns.task_kinds import ONE_TASK, UNKNOWN
from simgrid_broker.units import GIB
from simgrid_broker.world.jobs.counts import account_of
from simgrid_broker.world.queues.places import spread_replicas
from simgrid_broker.world.tasks.input_files import in_hand
from simgrid_broker.world.users.metrics import note_use
from simgrid_broker.world.views.tasks import see, see_sources
from simgrid_broker.world.views.users import see_user


class UserDesk(Bundle):
    """What a cycle reads and writes for tasks of users beside `job_cycle.Desk`."""

    is_fresh: np.ndarray           # (1,), whether storages are shown as old as the statistics
    load: np.ndarray               # `Snapshot.load`
    first: np.ndarray              # (room, n), first refusals by static rules
    marks: np.ndarray              # (room, n), as in `decide.Tables`
    site: np.ndarray               # (n_queues,)
    counts: np.ndarray             # `DecisionLog.of_users`
    is_counted: np.ndarray
    ranks: np.ndarray              # (n_rules + 1,), as `tally_refusals`


@compiled
def load_row_of_share(world, desk, row):
    """Row of the statistics of a task's account, of all resource types, as `Snapshot.load_row`."""
    return account_of(world, row) * (1 + desk.placed_by_type.shape[1])


@compiled
def fill_for_user(world, users, user_desk, desk, user_kinds, sight, known, state, row):
    """Put the task in hand, of a kind, into the tables of the decision."""
    kind, now = state["kind"], world.state[0]["now_s"]
    state["kind"] = UNKNOWN
    users.task[0] = user_kinds.templates[kind]
    task, shown = users.task[0], world.tasks[row]
    if kind != ONE_TASK:
        see(world, sight, row, task)
        derive(users, 0)
        estimate(task)
    task["taskpriority"], task["n_jobs_to_submit"] = shown["taskpriority"], state["wanted"]
    task["frozen_for_s"] = 0.0 if np.isnan(shown["frozen_s"]) else now - shown["frozen_s"]
    fill_input(world, users, user_desk, sight, row)
    see_user(world, known, row, now, task["USER_USAGE_THRESHOLD_A"], users.owner[0], users.user)
    first, marks = user_kinds.known[kind]["first"], user_kinds.known[kind]["other"]
    for k in range(len(users.first)):
        users.first[k], users.marks[k] = user_desk.first[first, k], user_desk.marks[marks, k]
    load = load_row_of_share(world, desk, row)
    for queue in range(len(users.load)):
        users.load[queue] = user_desk.load[load, queue]


@compiled
def fill_input(world, users, user_desk, sight, row):
    """Fill in the input of a task: the dataset in hand, whose files lie at the sites of its replicas."""
    task, (pieces, piece_bytes) = users.task[0], in_hand(world, row)
    n, size = see_sources(world, sight, row), np.float64(pieces * piece_bytes)
    task["n_datasets"], task["total_gb"] = 1 if n > 0 else 0, size // GIB if n > 0 else 0.0
    dataset = users.datasets[0]
    dataset["n_files"], dataset["n_sources"] = 1, n
    spread_replicas(sight.sources, n, user_desk.site, users.states[0], users.disk_files[0], users.tape_files[0])
    for queue in range(len(user_desk.site)):
        users.disk_bytes[0, queue] = users.disk_files[0, queue] * size


@compiled
def note_uses(world, users, desk, known, state, row):
    """Note the PanDA queues that the jobs placed go to."""
    for k in range(state["n_blocks"] if state["placed"] > 0 else 0):
        note_use(known.used, known.used_by, row, world.tasks[row]["jeditaskid"],
                 users.queues[desk.chosen[k]]["queue"])
