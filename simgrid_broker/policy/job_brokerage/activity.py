"""What goes on at a queue: who is pledged, idle, without pilots, busy with its disks or with sending output away.

What lives here: compiled criteria of one candidate. What does not: backlogs and weights (`load`), and counting what
goes on (world).

Sources: PanDA brokerage documentation, production job brokerage, step 2; brokerage reference, sections 2.3 and 9.
"""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.names import HIGH_PRIORITY
from simgrid_broker.policy.job_brokerage.ask import JOBBROKER
from simgrid_broker.policy.job_brokerage.nucleus import near_nucleus
from simgrid_broker.policy.rule import criterion

OPPORTUNISTIC = -1.0
"""Value of pledgedcpu; source: step 2."""
PER_RUNNING = 2
"""So many jobs may await output transfer for each running one; source: step 2."""
SHORTAGE = (("core", "WORK_SHORTAGE"),)

DOCUMENTED = {"source": "PanDA brokerage documentation, production job brokerage, step 2", "editions": ("documented",)}
DEPLOYED = {"source": "brokerage reference, 2.3", "editions": ("deployed",)}


@compiled
def preassigned(ask):
    """Whether the task names its queues."""
    return ask["single"] or ask["listed"]


@compiled
def wants_quick_start(ask):
    """Whether jobs of the task should not wait at a queue that sleeps."""
    return ask["priority"] >= HIGH_PRIORITY or ask["is_scout"] or ask["is_merging"] or ask["merge_output"]


@criterion("-opportunistic", panda="selection for opportunistic queues",
           source="PanDA brokerage documentation, production job brokerage, step 2; brokerage reference, 2.3 P5")
@compiled
def opportunistic(ask, queue, load, link, store, n):
    """Refuse opportunistic queues (pledgedcpu -1) to scouts and from priority 800 on."""
    careful = (ask["priority"] >= HIGH_PRIORITY or ask["is_scout"]) and not preassigned(ask)
    return careful and queue["pledgedcpu"] == OPPORTUNISTIC, queue["pledgedcpu"], 0.0


@criterion("-inactive", panda="selection for inactive queues", temporary=True, **DOCUMENTED)
@compiled
def inactive(ask, queue, load, link, store, n):
    """Refuse queues where jobs are activated and none started for 2 h, to scouts, merging and from 800 on (D20)."""
    waiting = float(load["activated_all"])
    refused = wants_quick_start(ask) and not preassigned(ask) and load["inactive"] and waiting > 0
    return refused, waiting, 0.0


@criterion("-inactive", panda="selection for inactive queues", temporary=True, **DEPLOYED)
@compiled
def inactive_deployed(ask, queue, load, link, store, n):
    """The same, where starting jobs count as waiting, too (D20)."""
    waiting = float(load["activated_all"] + load["starting_all"])
    refused = wants_quick_start(ask) and not preassigned(ask) and load["inactive"] and waiting > 0
    return refused, waiting, 0.0


@criterion("-diskIO", panda="selection for disk IO", temporary=True, gdpconfig=((JOBBROKER, "MAX_DISKIO_DEFAULT"),),
           source="PanDA brokerage documentation, production job brokerage, step 2; brokerage reference, 2.3 P9")
@compiled
def disk_io(ask, queue, load, link, store, n):
    """Refuse queues whose running jobs exceed the limit of disk traffic per core, to tasks that exceed it as well.

    The figure of a multi-core task is divided, in whole numbers, by the cores of the queue (code).
    """
    limit = ask["max_diskio"] if np.isnan(queue["maxdiskio"]) else queue["maxdiskio"]
    if not load["diskio"] > limit:                         # nearly all: the division takes as long as all other rules
        return False, load["diskio"], limit
    value = ask["diskio"]
    if ask["corecount"] > 1 and queue["corecount"] > 0:
        value = value // queue["corecount"]
    return value > limit, load["diskio"], limit


@criterion("-transferring", panda="selection for transferring jobs", temporary=True, **DOCUMENTED)
@compiled
def output_backlog(ask, queue, load, link, store, n):
    """Refuse queues where transferring > max(transferringlimit, 2 x running), jobs of all shares."""
    limit = max(queue["transferringlimit"], float(PER_RUNNING * load["running_all"]))
    return load["transferring"] > limit, float(load["transferring"]), limit


@criterion("-transferring", panda="selection for transferring jobs", temporary=True, **DEPLOYED)
@compiled
def output_backlog_deployed(ask, queue, load, link, store, n):
    """The same, but not at the nucleus, and without jobs whose nucleus does not receive files anyway."""
    limit = max(queue["transferringlimit"], float(PER_RUNNING * load["running_all"]))
    transferring = float(load["transferring"] - load["transferring_unwritable"])
    return transferring > limit and not near_nucleus(ask, link), transferring, limit


@criterion("-non_pledged", panda="selection for pledge", gdpconfig=SHORTAGE,
           source="PanDA brokerage documentation, production job brokerage, step 2; brokerage reference, 9")
@compiled
def non_pledged(ask, queue, load, link, store, n):
    """Refuse opportunistic queues (pledgedcpu -1) while work is short."""
    short = ask["work_shortage"] and not ask["single"]
    return short and queue["pledgedcpu"] == OPPORTUNISTIC, queue["pledgedcpu"], 0.0


@criterion("-over_pledged", panda="selection for pledge", gdpconfig=SHORTAGE, **DOCUMENTED)
@compiled
def over_pledged(ask, queue, load, link, store, n):
    """Refuse queues with a pledge whose running cores exceed it while work is short (D55)."""
    return beyond_pledge(ask, queue, float(load["cores_running"]))


@criterion("-over_pledged", panda="selection for pledge", gdpconfig=SHORTAGE, source="brokerage reference, 9",
           editions=("deployed",))
@compiled
def over_pledged_deployed(ask, queue, load, link, store, n):
    """The same, where cores of starting jobs count, too (D55)."""
    return beyond_pledge(ask, queue, float(load["cores_running"] + load["cores_starting"]))


@compiled
def beyond_pledge(ask, queue, cores):
    """Whether work is short and so many cores are more than a pledge that there is; with both figures."""
    pledge = queue["pledgedcpu"]
    return ask["work_shortage"] and not ask["single"] and 0 < pledge < cores, cores, pledge


@criterion("-nopilot", panda="selection for pilots", temporary=True, **DOCUMENTED)
@compiled
def no_pilots(ask, queue, load, link, store, n):
    """Refuse queues without pilots for 3 h."""
    return load["n_pilot"] == 0, float(load["n_pilot"]), 1.0


@criterion("-nopilot", panda="selection for pilots", temporary=True, **DEPLOYED)
@compiled
def no_pilots_deployed(ask, queue, load, link, store, n):
    """The same, unless the queue has numSlots or is named by the task; labels with `test` pass if not express."""
    asked = (not ask["label_test"] or ask["express"]) and not preassigned(ask)
    return asked and load["n_pilot"] == 0 and load["num_slots"] < 0, float(load["n_pilot"]), 1.0
