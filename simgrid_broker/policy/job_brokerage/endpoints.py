"""The storage of a queue: its space, and whether it may be read and written over LAN and WAN.

What lives here: compiled criteria of one candidate; a site without storage passes them all. What does not: the storage
of the nucleus, which belongs to the link.

Sources: PanDA brokerage documentation, production job brokerage, step 2; brokerage reference, sections 2.3 (P15) and
2.5 (P16). Which statuses count as usable (D2) is decided where the records of storages are made (world).
"""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.policy.job_brokerage.ask import JOBBROKER
from simgrid_broker.policy.job_brokerage.nucleus import in_nucleus
from simgrid_broker.policy.rule import criterion

MIN_FREE_BYTES = 200e9
"""Space that must be free; source: step 2."""

STEP_2 = "PanDA brokerage documentation, production job brokerage, step 2"
DOCUMENTED = {"source": STEP_2, "editions": ("documented",)}
DEPLOYED = {"source": "brokerage reference, 2.5", "editions": ("deployed",)}
BOTH = {"source": f"{STEP_2}; brokerage reference, 2.5 (D2)"}
STATUS = {"panda": "selection for storage endpoints", "temporary": True}


@criterion("-disk", panda="selection for storage space", temporary=True, **DOCUMENTED)
@compiled
def too_little_space(ask, queue, load, link, store, n):
    """Refuse queues whose storage does not have more than 200 GB free (D73)."""
    return store["present"] and store["free_bytes"] <= MIN_FREE_BYTES, store["free_bytes"], MIN_FREE_BYTES


@criterion("-disk", panda="selection for storage space", temporary=True, source="brokerage reference, 2.3 P15",
           gdpconfig=((JOBBROKER, "STORAGE_MIN_FREE_SIZE"),), editions=("deployed",))
@compiled
def too_little_space_deployed(ask, queue, load, link, store, n):
    """Refuse queues whose storage has less usable space than STORAGE_MIN_FREE_SIZE (D73)."""
    usable, limit = store["usable_bytes"], ask["storage_min_free_bytes"]
    return store["present"] and usable < limit, usable, limit


@criterion("-read_lan_blacklist", **STATUS, **BOTH)
@compiled
def not_readable(ask, queue, load, link, store, n):
    """Refuse queues whose storage jobs cannot read."""
    return store["present"] and not store["read_lan"], np.nan, np.nan


@criterion("-write_lan_blacklist", **STATUS, **BOTH)
@compiled
def not_writable(ask, queue, load, link, store, n):
    """Refuse queues whose storage jobs cannot write to."""
    return store["present"] and not store["write_lan"], np.nan, np.nan


@criterion("-write_wan_blacklist", **STATUS, **DOCUMENTED)
@compiled
def receives_nothing(ask, queue, load, link, store, n):
    """Refuse satellites whose storage cannot receive files over WAN."""
    return store["present"] and not store["write_wan"] and not in_nucleus(ask, link), np.nan, np.nan


@criterion("-write_wan_blacklist", **STATUS, **DEPLOYED)
@compiled
def receives_nothing_deployed(ask, queue, load, link, store, n):
    """The same; queues of the nucleus as well if complete replicas of the input exist, but none there."""
    needs_input = ask["complete_somewhere"] and n["any_bytes"] < 1.0
    closed = store["present"] and not store["write_wan"]
    return closed and (needs_input or not in_nucleus(ask, link)), np.nan, np.nan


@criterion("-read_wan_blacklist", **STATUS, **BOTH)
@compiled
def sends_nothing(ask, queue, load, link, store, n):
    """Refuse satellites whose storage cannot send files over WAN."""
    return store["present"] and not store["read_wan"] and not in_nucleus(ask, link), np.nan, np.nan


@criterion("-source_blacklist", **STATUS, **DEPLOYED)
@compiled
def nobody_sends_input(ask, queue, load, link, store, n):
    """Refuse satellites if no storage with a complete replica of the input sends files over WAN."""
    return ask["no_remote_source"] and not in_nucleus(ask, link), np.nan, np.nan
