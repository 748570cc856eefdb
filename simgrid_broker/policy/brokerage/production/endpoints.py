"""Criteria on a queue's storage, its space and its access over LAN and WAN, which a site without storage passes."""

from typing import Any

import numpy as np

from simgrid_broker.policy.brokerage.production.nucleus import in_nucleus
from simgrid_broker.policy.rule import JOB_BROKERAGE, candidate_criterion
from simgrid_broker.units import GIB

MIN_FREE_BYTES = 200e9
"""Space that must be free; source: step 2."""

STEP_2 = f"{JOB_BROKERAGE}, step 2"
STATUS: Any = {"panda": "selection for storage endpoints", "stage": "Storage check", "temporary": True,
          "source": f"{STEP_2}; brokerage reference, 2.5"}


@candidate_criterion("-disk", unit="bytes", says="{value} free in its storage, more than {limit} needed",
                     panda="selection for storage space", stage="Storage check", temporary=True, source=STEP_2,
                     editions=("documented",))
def too_little_space(task, queue, load, link, store, numbers):
    """Refuse queues whose storage does not have more than 200 GB free (D73)."""
    return store["present"] and store["free_bytes"] <= MIN_FREE_BYTES, store["free_bytes"], MIN_FREE_BYTES


@candidate_criterion("-disk", unit="bytes",
                     says="{value:binary} usable in its storage, {limit:binary} needed (STORAGE_MIN_FREE_SIZE)",
                     panda="selection for storage space", stage="Storage check", temporary=True, editions=("deployed",),
                     source="brokerage reference, 2.3 P15")
def too_little_space_deployed(task, queue, load, link, store, numbers):
    """Refuse queues whose storage has less usable space than STORAGE_MIN_FREE_SIZE (D73)."""
    usable, limit = store["usable_bytes"], task["STORAGE_MIN_FREE_SIZE"] * GIB
    return store["present"] and usable < limit, usable, limit


@candidate_criterion("-read_lan_blacklist", says="jobs cannot read from its storage", **STATUS)
def not_readable(task, queue, load, link, store, numbers):
    """Refuse queues whose storage jobs cannot read (D2)."""
    return store["present"] and not store["read_lan"], np.nan, np.nan


@candidate_criterion("-write_lan_blacklist", says="jobs cannot write to its storage", **STATUS)
def not_writable(task, queue, load, link, store, numbers):
    """Refuse queues whose storage jobs cannot write to (D2)."""
    return store["present"] and not store["write_lan"], np.nan, np.nan


@candidate_criterion("-write_wan_blacklist", says="its storage receives no files over WAN", **STATUS)
def receives_nothing(task, queue, load, link, store, numbers):
    """Refuse satellites whose storage cannot receive files over WAN.

    The deployed edition refuses queues of the nucleus as well if complete replicas of the input exist, but none there.
    """
    needs_input = task["complete_somewhere"] and not numbers["complete"]
    closed = store["present"] and not store["write_wan"]
    return closed and (needs_input or not in_nucleus(task, link)), np.nan, np.nan


@candidate_criterion("-read_wan_blacklist", says="its storage sends no files over WAN", **STATUS)
def sends_nothing(task, queue, load, link, store, numbers):
    """Refuse satellites whose storage cannot send files over WAN (D2)."""
    return store["present"] and not store["read_wan"] and not in_nucleus(task, link), np.nan, np.nan


@candidate_criterion("-source_blacklist", says="no storage with all of the input sends files over WAN",
                     applies=lambda task: task["no_remote_source"] or task["total_bytes"] > 0,
                     **STATUS | {"source": "brokerage reference, 2.5"}, editions=("deployed",))
def input_cannot_be_sent(task, queue, load, link, store, numbers):
    """Refuse satellites if no storage with a complete replica of the input sends files over WAN."""
    return task["no_remote_source"] and not in_nucleus(task, link), np.nan, np.nan
