"""The link from a queue's site to the nucleus of a task: who is cut off from it, and what its state is worth.

What lives here: the network weight and the link filter, compiled functions of one candidate. What does not: measuring
links (`world.network_metrics`).

Sources: PanDA brokerage documentation, production job brokerage, steps 2 and 3, and Network Weight; JEDI TWiki, network
weight; brokerage reference, sections 2.4 (P4), 7 and 10.3 rule 4. The numbers of waiting files are those of the task's
kind of transfers (Production Output, or Express); the documentation names no kind.
"""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.names import CLOSENESS_BLOCKED, CLOSENESS_UNKNOWN, MAX_CLOSENESS, MIN_CLOSENESS, MISSING_CLOSENESS
from simgrid_broker.policy.job_brokerage.ask import JOBBROKER
from simgrid_broker.policy.rule import criterion, factor

QUEUED_FILES_OF_PLOT = 300
"""Files at which the plotted queued weight is 1; source: JEDI TWiki, queued.png (brokerage reference, 7)."""
HALF = 0.5
"""Part of either weight in the network weight; source: PanDA brokerage documentation, Network Weight."""
BEST = 2.0
"""Weight of a link without waiting files; source: as above."""
NUCLEUS_WEIGHT = 2.5
"""Either weight at the nucleus itself in the code; source: brokerage reference, 7 (D46)."""
MBPS_50_DOCUMENTED, MBPS_50_DEPLOYED = 1.7, 1.6
"""Throughput weight of more than 50 up to 75 MB/s: as plotted, and in the code (D45)."""

PASSES, DEST_BLACKLISTED, LINKS_FULL, LINK_BLOCKED, LINK_FULL = range(5)

NETWORK = "PanDA brokerage documentation, production job brokerage, step 2"
DOCUMENTED = {"source": NETWORK, "editions": ("documented",)}
DEPLOYED = {"source": "brokerage reference, 2.4", "editions": ("deployed",)}
SAT_CAP = (JOBBROKER, "NQUEUED_SAT_CAP")
NUC_CAP = (JOBBROKER, "NQUEUED_NUC_CAP_FOR_JOBS")
THRESHOLD = ((JOBBROKER, "NW_THRESHOLD"), (JOBBROKER, "NW_WEIGHT_MULTIPLIER"))
ACTIVE, IMPORTANCE = (JOBBROKER, "NW_ACTIVE"), (JOBBROKER, "NW_QUEUE_IMPORTANCE")


@compiled
def waiting_files(ask, link):
    """Files of the task's kind that wait on the link or are under way."""
    return float(link["queued_express"] if ask["express"] else link["queued_files"])


@compiled
def files_to_nucleus(ask, links):
    """Files of the task's kind that wait on the links from all sites, (n_sites,), to its nucleus."""
    files = 0.0
    for site in range(len(links)):
        files += waiting_files(ask, links[site])
    return files


@compiled
def at_nucleus(link):
    """Whether output lies in the nucleus' storage as soon as it is made."""
    return link["in_nucleus"] or link["sharing"]


# ---- the weight ----------------------------------------------------------------------------------------------------

@compiled
def queued_weight(ask, link):
    """Straight line from 2 without waiting files to 1 at 300; source: the plot queued.png. More count as 300 (D44)."""
    return BEST - min(waiting_files(ask, link) / QUEUED_FILES_OF_PLOT, 1.0)


@compiled
def queued_weight_deployed(ask, link):
    """2 - files / NQUEUED_SAT_CAP, below 1 and below 0 where more wait (D44); source: brokerage reference, 7."""
    return BEST - waiting_files(ask, link) / ask["nqueued_sat_cap"]


@compiled
def throughput_step(mbps, above_50):
    """Weight of a throughput, MB/s, that is above 200, 100, 75, ...; above_50: that of more than 50 up to 75 (D45).

    The plot does not show to which side a limit belongs; the code compares strictly.
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
def throughput(link):
    """Throughput of the last hour, else of the last day, else of the last week; NaN = none is known (D47)."""
    if not np.isnan(link["mbps_hour"]):
        return link["mbps_hour"]
    return link["mbps_week"] if np.isnan(link["mbps_day"]) else link["mbps_day"]


@compiled
def throughput_deployed(link):
    """Throughput of the last hour if those of the day and the week are known, else of the day if that of the week is.

    NaN = that of the week is not known: then nothing is (D47). Source: brokerage reference, 7.
    """
    if np.isnan(link["mbps_week"]) or np.isnan(link["mbps_day"]):
        return link["mbps_week"]
    return link["mbps_day"] if np.isnan(link["mbps_hour"]) else link["mbps_hour"]


@compiled
def throughput_weight(link):
    """Step of the throughput, or the closeness if none is known."""
    mbps = throughput(link)
    return closeness_weight(link) if np.isnan(mbps) else throughput_step(mbps, MBPS_50_DOCUMENTED)


@compiled
def throughput_weight_deployed(link):
    """Step of the throughput as the code looks it up, or the closeness if none is known; source: as above."""
    mbps = throughput_deployed(link)
    return closeness_weight(link) if np.isnan(mbps) else throughput_step(mbps, MBPS_50_DEPLOYED)


@compiled
def network_weight(ask, link):
    """0.5 x (queuedWeight + throughputWeight); the nucleus itself has no weight of its own (D46)."""
    return HALF * (queued_weight(ask, link) + throughput_weight(link))


@compiled
def network_weight_deployed(ask, link):
    """Both weights mixed by NW_QUEUE_IMPORTANCE; 2.5 each where output is at the nucleus at once (D46)."""
    importance = ask["nw_queue_importance"]
    if at_nucleus(link):
        return importance * NUCLEUS_WEIGHT + (1 - importance) * NUCLEUS_WEIGHT
    return importance * queued_weight_deployed(ask, link) + (1 - importance) * throughput_weight_deployed(link)


@factor("network", panda="network weight", source="PanDA brokerage documentation, production job brokerage, step 3",
        editions=("documented",))
@compiled
def network(ask, queue, load, link, store, n):
    """The network weight; 1 for tasks without nucleus. Nothing in the documentation turns it off (D48)."""
    return network_weight(ask, link) if ask["has_nucleus"] else 1.0


@factor("network", panda="network weight", source="brokerage reference, 7 and 10.1", editions=("deployed",),
        gdpconfig=(ACTIVE, IMPORTANCE, SAT_CAP))
@compiled
def network_deployed(ask, queue, load, link, store, n):
    """The network weight if NW_ACTIVE (D48) and the task has a nucleus, else 1."""
    return network_weight_deployed(ask, link) if ask["has_nucleus"] and ask["nw_active"] else 1.0


@criterion("-lowNetworkWeight", panda="network weight of express tasks", gdpconfig=THRESHOLD, **DOCUMENTED)
@compiled
def low_network_weight(ask, queue, load, link, store, n):
    """Refuse express tasks links whose network weight is below NW_THRESHOLD x NW_WEIGHT_MULTIPLIER."""
    if not (ask["express"] and ask["has_nucleus"]):
        return False, np.nan, np.nan
    weight, limit = network_weight(ask, link), ask["nw_threshold"] * ask["nw_weight_multiplier"]
    return weight < limit, weight, limit


@criterion("-lowNetworkWeight", panda="network weight of express tasks", source="brokerage reference, 10.3 rule 4",
           gdpconfig=(*THRESHOLD, ACTIVE, IMPORTANCE, SAT_CAP), editions=("deployed",))
@compiled
def low_network_weight_deployed(ask, queue, load, link, store, n):
    """Refuse express tasks links whose network weight is below the threshold, if NW_ACTIVE (D48)."""
    if not (ask["express"] and ask["has_nucleus"] and ask["nw_active"]):
        return False, np.nan, np.nan
    weight, limit = network_weight_deployed(ask, link), ask["nw_threshold"] * ask["nw_weight_multiplier"]
    return weight < limit, weight, limit


# ---- the link filter -----------------------------------------------------------------------------------------------

@criterion("-dest_blacklisted", panda="selection for storage endpoints of the nucleus", temporary=True, **DOCUMENTED)
@compiled
def nucleus_closed(ask, queue, load, link, store, n):
    """Refuse satellites of nuclei whose storage does not receive and send files over WAN (D27)."""
    usable = ask["nucleus_writable"] and ask["nucleus_readable"]
    return ask["has_nucleus"] and not at_nucleus(link) and not usable, np.nan, np.nan


@criterion("-links_full", panda="selection for files to the nucleus", temporary=True, gdpconfig=(NUC_CAP,),
           **DOCUMENTED)
@compiled
def nucleus_full(ask, queue, load, link, store, n):
    """Refuse every queue if more files than NQUEUED_NUC_CAP_FOR_JOBS wait for the nucleus (D25)."""
    files, cap = float(ask["nucleus_queued_files"]), float(ask["nqueued_nuc_cap_for_jobs"])
    return ask["has_nucleus"] and files > cap, files, cap


@criterion("-link_unusable", panda="selection for blocked links to the nucleus", **DOCUMENTED)
@compiled
def link_blocked(ask, queue, load, link, store, n):
    """Refuse queues whose link to the nucleus is blocked."""
    closeness = float(link["closeness"])
    blocked = ask["has_nucleus"] and not at_nucleus(link) and closeness == CLOSENESS_BLOCKED
    return blocked, closeness, float(MIN_CLOSENESS)


@criterion("-link_unusable", panda="selection for files on the link to the nucleus", temporary=True,
           gdpconfig=(SAT_CAP,), **DOCUMENTED)
@compiled
def link_full(ask, queue, load, link, store, n):
    """Refuse queues with more files than NQUEUED_SAT_CAP on their link to the nucleus (D26)."""
    files, cap = waiting_files(ask, link), float(ask["nqueued_sat_cap"])
    return ask["has_nucleus"] and not at_nucleus(link) and files > cap, files, cap


@compiled
def first_hit(ask, link):
    """Which test of the code's link filter a link meets first; those behind it are not asked any more."""
    if not ask["has_nucleus"] or at_nucleus(link):
        return PASSES
    if not ask["nucleus_writable"]:
        return DEST_BLACKLISTED
    if ask["nucleus_queued_files"] >= ask["nqueued_nuc_cap_for_jobs"]:
        return LINKS_FULL
    if not link["known"]:
        return PASSES
    if link["closeness"] == CLOSENESS_BLOCKED:
        return LINK_BLOCKED
    return LINK_FULL if waiting_files(ask, link) >= ask["nqueued_sat_cap"] else PASSES


@criterion("-dest_blacklisted", panda="selection for links to the nucleus", temporary=True, **DEPLOYED)
@compiled
def nucleus_closed_deployed(ask, queue, load, link, store, n):
    """Refuse satellites of nuclei whose storage does not receive files over WAN (D27)."""
    return first_hit(ask, link) == DEST_BLACKLISTED, np.nan, np.nan


@criterion("-links_full", panda="selection for links to the nucleus", temporary=True, gdpconfig=(NUC_CAP,), **DEPLOYED)
@compiled
def nucleus_full_deployed(ask, queue, load, link, store, n):
    """Refuse satellites of nuclei for which NQUEUED_NUC_CAP_FOR_JOBS files or more wait (D25)."""
    files, cap = float(ask["nucleus_queued_files"]), float(ask["nqueued_nuc_cap_for_jobs"])
    return first_hit(ask, link) == LINKS_FULL, files, cap


@criterion("-link_unusable", panda="selection for links to the nucleus", **DEPLOYED)
@compiled
def link_blocked_deployed(ask, queue, load, link, store, n):
    """Refuse queues whose link to the nucleus is blocked, unless the nucleus was refused before."""
    return first_hit(ask, link) == LINK_BLOCKED, float(link["closeness"]), float(MIN_CLOSENESS)


@criterion("-link_unusable", panda="selection for links to the nucleus", temporary=True, gdpconfig=(SAT_CAP,),
           **DEPLOYED)
@compiled
def link_full_deployed(ask, queue, load, link, store, n):
    """Refuse queues with NQUEUED_SAT_CAP files or more on their link to the nucleus (D26)."""
    return first_hit(ask, link) == LINK_FULL, waiting_files(ask, link), float(ask["nqueued_sat_cap"])
