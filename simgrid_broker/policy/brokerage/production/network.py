"""The nucleus of a task and the links to it: t1Weight, full chains, the network weight and the link filter.

Sources of the links: PanDA brokerage documentation, production job brokerage, steps 2 and 3, and Network Weight; JEDI
TWiki, network weight; brokerage reference, sections 2.4 (P4), 7 and 10.3 rule 4. The numbers of waiting files are those
of the task's kind of transfers (Production Output, or Express); the documentation names no kind.
"""

from typing import Any

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.names import (
    CLOSENESS_BLOCKED,
    CLOSENESS_UNKNOWN,
    MAX_CLOSENESS,
    MIN_CLOSENESS,
    MISSING_CLOSENESS,
    BareNucleus,
)
from simgrid_broker.policy.rule import FINAL_STAGE, JOB_BROKERAGE, candidate_criterion, candidate_factor

ONLY_FULL_CHAIN = int(BareNucleus.ONLY)
CHAIN: Any = {"panda": "selection for full chain", "stage": "full chain check", "cap": True,
         "source": "PanDA brokerage documentation, Special Brokerage for ATLAS Full-chain; brokerage reference, 4 "
                   "(D35, D36)"}


@compiled
def in_nucleus(task, link):
    """True if a queue is at the nucleus; for a hint queues of all nuclei are (brokerage reference, 1.2)."""
    return link["in_nucleus"]


@compiled
def near_nucleus(task, link):
    """True if a queue is at the nucleus or, in the deployed edition, shares its storage."""
    return in_nucleus(task, link) or (task["sharing_counts"] and link["sharing"])


@compiled
def stays(task):
    """True if a task stays at its nucleus."""
    return task["stays_at_nucleus"] and (task["has_nucleus"] or task["hint"])


@candidate_criterion("-t1weight", says="not at the nucleus, where t1Weight keeps the task", applies=stays,
                     panda="selection for t1Weight", stage="T1 weight check",
                     source=f"{JOB_BROKERAGE}, step 2; brokerage reference, 2.3 P22")
def off_nucleus(task, queue, load, link, store, numbers):
    """Refuse queues that do not belong to the nucleus to normal jobs of tasks with t1Weight -1 (D72).

    In the deployed edition any negative t1Weight counts, and queues that share the nucleus' storage pass.
    """
    return stays(task) and not near_nucleus(task, link), np.nan, np.nan


@candidate_factor("t1weight", panda="t1Weight",
                  source="JEDI TWiki, T1 weight; brokerage reference, 2.3 P5, P22 and 10.1 (D21, D22)")
def t1weight(task, queue, load, link, store, numbers):
    """t1Weight of the task for queues at its nucleus, at least 100 from priority 900 on; 1 elsewhere.

    In the deployed edition also for queues that share the nucleus' storage, and at least 100 for scouts.
    """
    return task["t1value"] if task["has_nucleus"] and near_nucleus(task, link) else 1.0


@compiled
def stays_on_the_chain(task):
    """True if a task with fullChain has got a bare nucleus."""
    return task["has_nucleus"] and task["fullchain"] > 0 and task["nucleus_bare"] > 0


@compiled
def off_chains(task):
    """True if a task with a nucleus is on no full chain."""
    return task["has_nucleus"] and not stays_on_the_chain(task)


@candidate_criterion("-full_chain", says="not at the bare nucleus of the full chain", applies=stays_on_the_chain,
                     **CHAIN)
def off_the_chain(task, queue, load, link, store, numbers):
    """Refuse all but the queues of the nucleus to full chains that have a bare one."""
    return stays_on_the_chain(task) and not in_nucleus(task, link), np.nan, np.nan


@candidate_criterion("-not_full_chain", says="bareNucleus only: its nucleus is for full chains", applies=off_chains,
                     **CHAIN)
def for_full_chains_only(task, queue, load, link, store, numbers):
    """Refuse queues of nuclei with bareNucleus=only to all other tasks that have a nucleus."""
    return queue["bare_nucleus"] == ONLY_FULL_CHAIN and off_chains(task), np.nan, np.nan


# ---- links -----------------------------------------------------------------------------------------------------------

BEST = 2.0
"""Weight of a link without waiting files; source: PanDA brokerage documentation, Network Weight."""
NUCLEUS_WEIGHT = 2.5
"""Either weight at the nucleus itself in the deployed edition; source: brokerage reference, 7 (D46)."""

PASSES, DEST_BLACKLISTED, LINKS_FULL, LINK_BLOCKED, LINK_FULL = range(5)

PRODUCTION = "PanDA brokerage documentation, production job brokerage"
DOCUMENTED: Any = {"source": f"{PRODUCTION}, step 2", "editions": ("documented",)}
DEPLOYED: Any = {"source": "brokerage reference, 2.4", "editions": ("deployed",)}


@compiled
def waiting_files(task, link):
    """Files of the task's kind that wait on the link or are under way."""
    return float(link["queued_express"] if task["express"] else link["queued_files"])


@compiled
def at_nucleus(link):
    """True if output lies at the nucleus as soon as it is made."""
    return link["at_nucleus"]


# ---- the weight ----------------------------------------------------------------------------------------------------

@compiled
def queued_weight(task, link):
    """Straight line from 2 without waiting files to 1 at 300; more count as 300; source: the plot queued.png (D44).

    Deployed edition: 2 - files / NQUEUED_SAT_CAP, which may be negative; source: brokerage reference, 7.
    """
    weight = BEST - waiting_files(task, link) / max(task["files_per_weight"], 1.0)      # of a cap of 0 files, 1
    return task["least_queued_weight"] if weight < task["least_queued_weight"] else weight


@compiled
def throughput_step(mbps, above_50):
    """Weight of a throughput, MB/s, that is above 200, 100, 75, ...; above_50: that of more than 50 up to 75 (D45).

    The plot does not show to which side a limit belongs; the deployed edition compares strictly.
    """
    if mbps > 50:
        if mbps > 100:
            return 2.0 if mbps > 200 else 1.9
        return 1.8 if mbps > 75 else above_50
    if mbps > 10:
        return 1.5 if mbps > 20 else 1.3
    if mbps > 1:
        return 1.2 if mbps > 2 else 1.1
    return 1.0


@compiled
def closeness_weight(link):
    """1 + (MAX_CLOSENESS - closeness) / (MAX_CLOSENESS - MIN_CLOSENESS); a missing closeness is 7.7."""
    closeness = MISSING_CLOSENESS if link["closeness"] == CLOSENESS_UNKNOWN else float(link["closeness"])
    return 1 + (MAX_CLOSENESS - closeness) / (MAX_CLOSENESS - MIN_CLOSENESS)


@compiled
def throughput(task, link):
    """Throughput of the last hour, else of the last day, else of the last week; NaN = unknown (D47).

    In the deployed edition a throughput counts only if those of all longer times are known; source: brokerage
    reference, 7.
    """
    if task["week_required"] and (np.isnan(link["mbps_week"]) or np.isnan(link["mbps_day"])):
        return link["mbps_week"]
    if not np.isnan(link["mbps_hour"]):
        return link["mbps_hour"]
    return link["mbps_week"] if np.isnan(link["mbps_day"]) else link["mbps_day"]


@compiled
def throughput_weight(task, link):
    """Step of the throughput, or the closeness if none is known."""
    mbps = throughput(task, link)
    return closeness_weight(link) if np.isnan(mbps) else throughput_step(mbps, task["weight_above_50"])


@compiled
def network_weight(task, link):
    """0.5 x (queuedWeight + throughputWeight); the nucleus itself has no weight of its own (D46).

    The deployed edition mixes them by NW_QUEUE_IMPORTANCE; either is 2.5 where output is at the nucleus at once.
    """
    importance = task["NW_QUEUE_IMPORTANCE"]
    if task["nucleus_has_weight"] and at_nucleus(link):
        return importance * NUCLEUS_WEIGHT + (1 - importance) * NUCLEUS_WEIGHT
    return importance * queued_weight(task, link) + (1 - importance) * throughput_weight(task, link)


@candidate_factor("network", panda="network weight", source=f"{PRODUCTION}, step 3; brokerage reference, 7 and 10.1")
def network(task, queue, load, link, store, numbers):
    """The network weight; 1 for tasks without nucleus and, in the deployed edition, without NW_ACTIVE (D48)."""
    return network_weight(task, link) if task["has_nucleus"] and task["NW_ACTIVE"] else 1.0


WEAK = "network weight {value}, express tasks need {limit}"


@compiled
def minds_the_link(task):
    """True if a task is express and has a link to mind."""
    return task["express"] and task["has_nucleus"] and task["NW_ACTIVE"]


@compiled
def weak_link(task, link):
    """Test for the link of an express task below NW_THRESHOLD x NW_WEIGHT_MULTIPLIER, with both figures."""
    if not minds_the_link(task):
        return False, np.nan, np.nan
    weight, limit = network_weight(task, link), task["NW_THRESHOLD"] * task["NW_WEIGHT_MULTIPLIER"]
    return weight < limit, weight, limit


@candidate_criterion("-lowNetworkWeight", unit="weight", says=WEAK, applies=minds_the_link,
                     panda="network weight of express tasks", stage=FINAL_STAGE, cap=True, **DOCUMENTED)
def low_network_weight(task, queue, load, link, store, numbers):
    """Refuse express tasks links below NW_THRESHOLD x NW_WEIGHT_MULTIPLIER."""
    return weak_link(task, link)


@candidate_criterion("-lowNetworkWeight", unit="weight", says=WEAK, applies=minds_the_link,
                     panda="network weight of express tasks", stage=FINAL_STAGE, cap=True, final=True,
                     source="brokerage reference, 10.3 rule 4", editions=("deployed",))
def low_network_weight_deployed(task, queue, load, link, store, numbers):
    """Refuse express tasks links below NW_THRESHOLD x NW_WEIGHT_MULTIPLIER if NW_ACTIVE (D48)."""
    return weak_link(task, link)


# ---- the link filter -----------------------------------------------------------------------------------------------

def has_nucleus(task):
    """True if a task has a nucleus, to which there are links."""
    return task["has_nucleus"]


@candidate_criterion("-dest_blacklisted", says="the storage of the nucleus does not receive and send files over WAN",
                     applies=has_nucleus, panda="selection for storage endpoints of the nucleus", temporary=True,
                     **DOCUMENTED)
def nucleus_closed(task, queue, load, link, store, numbers):
    """Refuse satellites of nuclei whose storage does not receive and send files over WAN (D27)."""
    usable = task["nucleus_writable"] and task["nucleus_readable"]
    return task["has_nucleus"] and not at_nucleus(link) and not usable, np.nan, np.nan


@candidate_criterion("-links_full", unit="files", says="{value} wait for the nucleus, at most {limit:plain}",
                     applies=has_nucleus, panda="selection for files to the nucleus", temporary=True, **DOCUMENTED)
def nucleus_full(task, queue, load, link, store, numbers):
    """Refuse every queue if more files than NQUEUED_NUC_CAP_FOR_JOBS wait for the nucleus (D25)."""
    files, cap = float(task["nucleus_queued_files"]), float(task["NQUEUED_NUC_CAP_FOR_JOBS"])
    return task["has_nucleus"] and files > cap, files, cap


@compiled
def some_link_blocked(task):
    """True if any link to the task's nucleus is blocked, which is rare."""
    return task["some_link_blocked"]


@candidate_criterion("-link_unusable", unit="closeness", says="link to the nucleus blocked, closeness {value}",
                     applies=has_nucleus, may_refuse=some_link_blocked,
                     panda="selection for blocked links to the nucleus", **DOCUMENTED)
def link_blocked(task, queue, load, link, store, numbers):
    """Refuse queues whose link to the nucleus is blocked."""
    closeness = float(link["closeness"])
    blocked = task["has_nucleus"] and not at_nucleus(link) and closeness == CLOSENESS_BLOCKED
    return blocked, closeness, float(MIN_CLOSENESS)


@candidate_criterion("-link_unusable", unit="files",
                     says="{value} wait on the link to the nucleus, at most {limit:plain}", applies=has_nucleus,
                     panda="selection for files on the link to the nucleus", temporary=True, **DOCUMENTED)
def link_full(task, queue, load, link, store, numbers):
    """Refuse queues with more files than NQUEUED_SAT_CAP on their link to the nucleus (D26)."""
    files, cap = waiting_files(task, link), float(task["NQUEUED_SAT_CAP"])
    return task["has_nucleus"] and not at_nucleus(link) and files > cap, files, cap


@compiled
def first_hit(task, link):
    """The first test of the deployed edition's link filter that a link fails; later tests are not reached."""
    if not task["has_nucleus"] or at_nucleus(link) or link["unmapped"]:
        return PASSES
    if not task["nucleus_writable"]:
        return DEST_BLACKLISTED
    if task["nucleus_queued_files"] >= task["NQUEUED_NUC_CAP_FOR_JOBS"]:
        return LINKS_FULL
    if not link["known"]:
        return PASSES
    if link["closeness"] == CLOSENESS_BLOCKED:
        return LINK_BLOCKED
    return LINK_FULL if waiting_files(task, link) >= task["NQUEUED_SAT_CAP"] else PASSES


@candidate_criterion("-dest_blacklisted", says="the storage of the nucleus receives no files over WAN",
                     applies=has_nucleus, panda="selection for links to the nucleus", stage="link check",
                     temporary=True, **DEPLOYED)
def nucleus_closed_deployed(task, queue, load, link, store, numbers):
    """Refuse satellites of nuclei whose storage does not receive files over WAN (D27)."""
    return first_hit(task, link) == DEST_BLACKLISTED, np.nan, np.nan


@candidate_criterion("-links_full", unit="files", says="{value} wait for the nucleus, fewer than {limit:plain} allowed",
                     applies=has_nucleus, panda="selection for links to the nucleus", stage="link check",
                     temporary=True, **DEPLOYED)
def nucleus_full_deployed(task, queue, load, link, store, numbers):
    """Refuse satellites of nuclei for which NQUEUED_NUC_CAP_FOR_JOBS files or more wait (D25)."""
    files, cap = float(task["nucleus_queued_files"]), float(task["NQUEUED_NUC_CAP_FOR_JOBS"])
    return first_hit(task, link) == LINKS_FULL, files, cap


@candidate_criterion("-link_unusable", unit="closeness", says="link to the nucleus blocked, closeness {value}",
                     applies=has_nucleus, may_refuse=some_link_blocked, panda="selection for links to the nucleus",
                     stage="link check", **DEPLOYED)
def link_blocked_deployed(task, queue, load, link, store, numbers):
    """Refuse queues whose link to the nucleus is blocked, unless the nucleus was refused before."""
    return first_hit(task, link) == LINK_BLOCKED, float(link["closeness"]), float(MIN_CLOSENESS)


@candidate_criterion("-link_unusable", unit="files",
                     says="{value} wait on the link to the nucleus, fewer than {limit:plain} allowed",
                     applies=has_nucleus, panda="selection for links to the nucleus", stage="link check",
                     temporary=True, **DEPLOYED)
def link_full_deployed(task, queue, load, link, store, numbers):
    """Refuse queues with NQUEUED_SAT_CAP files or more on their link to the nucleus (D26)."""
    return first_hit(task, link) == LINK_FULL, waiting_files(task, link), float(task["NQUEUED_SAT_CAP"])
