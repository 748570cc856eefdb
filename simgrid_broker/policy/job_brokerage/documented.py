"""Production job brokerage as documented: its criteria and factors in order, and the compiled decision over them.

What lives here: the chain, and the compiled functions that ask those of its rules that look at one candidate; a test
holds both together. What does not: rules, and what every edition has in common (`decide`, `brokerage`).

Source of the order: PanDA brokerage documentation, production job brokerage.
"""

from simgrid_broker.compiled import compiled
from simgrid_broker.policy.funnel import Funnel
from simgrid_broker.policy.job_brokerage import (
    activity,
    candidates,
    connectivity,
    data_motion,
    endpoints,
    network,
    nucleus,
    preliminary,
    requirements,
    software,
)
from simgrid_broker.policy.job_brokerage import load as backlog
from simgrid_broker.policy.job_brokerage.brokerage import JobBrokerage
from simgrid_broker.policy.job_brokerage.decide import counts, note, rank, take_input


@compiled
def weight(ask, queue, load, link, store, n):
    """Product of the compiled factors for a candidate."""
    return (backlog.running_over_queued(ask, queue, load, link, store, n)
            * backlog.many_assigned(ask, queue, load, link, store, n)
            * backlog.data_availability(ask, queue, load, link, store, n)
            * nucleus.t1weight(ask, queue, load, link, store, n)
            * network.network(ask, queue, load, link, store, n))


@compiled
def refusal(ask, queue, load, link, store, n, first, ranks, later):
    """Smallest rank at which a compiled criterion that reads no job numbers refuses a candidate, if below `first`.

    later: the smallest rank from each criterion on, by which those that cannot matter any more are left out together.
    """
    if ranks[0] < first and network.link_blocked(ask, queue, load, link, store, n)[0]:
        first = ranks[0]
    if ranks[1] < first and network.link_full(ask, queue, load, link, store, n)[0]:
        first = ranks[1]
    if ranks[2] < first and network.nucleus_full(ask, queue, load, link, store, n)[0]:
        first = ranks[2]
    if ranks[3] < first and activity.inactive(ask, queue, load, link, store, n)[0]:
        first = ranks[3]
    if later[4] >= first:
        return first
    if ranks[4] < first and activity.opportunistic(ask, queue, load, link, store, n)[0]:
        first = ranks[4]
    if ranks[5] < first and data_motion.too_much_to_move(ask, queue, load, link, store, n)[0]:
        first = ranks[5]
    if ranks[6] < first and activity.disk_io(ask, queue, load, link, store, n)[0]:
        first = ranks[6]
    if later[7] >= first:
        return first
    if ranks[7] < first and requirements.too_little_memory(ask, queue, load, link, store, n)[0]:
        first = ranks[7]
    if ranks[8] < first and requirements.too_much_memory(ask, queue, load, link, store, n)[0]:
        first = ranks[8]
    if ranks[9] < first and requirements.too_little_scratch(ask, queue, load, link, store, n)[0]:
        first = ranks[9]
    if ranks[10] < first and endpoints.too_little_space(ask, queue, load, link, store, n)[0]:
        first = ranks[10]
    if ranks[11] < first and endpoints.not_readable(ask, queue, load, link, store, n)[0]:
        first = ranks[11]
    if ranks[12] < first and endpoints.not_writable(ask, queue, load, link, store, n)[0]:
        first = ranks[12]
    if ranks[13] < first and endpoints.receives_nothing(ask, queue, load, link, store, n)[0]:
        first = ranks[13]
    if ranks[14] < first and endpoints.sends_nothing(ask, queue, load, link, store, n)[0]:
        first = ranks[14]
    return first if later[15] >= first else refusal_behind(ask, queue, load, link, store, n, first, ranks)


@compiled
def refusal_behind(ask, queue, load, link, store, n, first, ranks):
    """The same for the criteria behind those, which fewer candidates come to."""
    if ranks[15] < first and network.nucleus_closed(ask, queue, load, link, store, n)[0]:
        first = ranks[15]
    if ranks[16] < first and requirements.too_short_for_scouts(ask, queue, load, link, store, n)[0]:
        first = ranks[16]
    if ranks[17] < first and requirements.too_short_for_unknown(ask, queue, load, link, store, n)[0]:
        first = ranks[17]
    if ranks[18] < first and requirements.too_little_walltime(ask, queue, load, link, store, n)[0]:
        first = ranks[18]
    if ranks[19] < first and requirements.too_much_walltime(ask, queue, load, link, store, n)[0]:
        first = ranks[19]
    if ranks[20] < first and activity.output_backlog(ask, queue, load, link, store, n)[0]:
        first = ranks[20]
    if ranks[21] < first and nucleus.off_nucleus(ask, queue, load, link, store, n)[0]:
        first = ranks[21]
    if ranks[22] < first and nucleus.off_the_chain(ask, queue, load, link, store, n)[0]:
        first = ranks[22]
    if ranks[23] < first and nucleus.for_full_chains_only(ask, queue, load, link, store, n)[0]:
        first = ranks[23]
    if ranks[24] < first and activity.no_pilots(ask, queue, load, link, store, n)[0]:
        first = ranks[24]
    if ranks[25] < first and network.low_network_weight(ask, queue, load, link, store, n)[0]:
        first = ranks[25]
    if ranks[26] < first and activity.non_pledged(ask, queue, load, link, store, n)[0]:
        first = ranks[26]
    if ranks[27] < first and activity.over_pledged(ask, queue, load, link, store, n)[0]:
        first = ranks[27]
    return first


@compiled
def overload(ask, queue, load, link, store, n, first, ranks):
    """The same for the other criteria, those about backlogs and weights: the last ones."""
    if ranks[28] < first and backlog.too_many_ready(ask, queue, load, link, store, n)[0]:
        first = ranks[28]
    if ranks[29] < first and backlog.too_many_queued(ask, queue, load, link, store, n)[0]:
        first = ranks[29]
    return first


@compiled
def decide_documented(question, answer):
    """The decision, see `brokerage.JobBrokerage`."""
    ask, n = question.ask[0], answer.numbers[0]
    ask["nucleus_queued_files"] = network.files_to_nucleus(ask, question.link)
    for k in range(len(question.queues)):
        first, queue = question.first[k], question.queues[k]
        if first > question.least:
            site = queue["site"]
            load, link, store = question.load[queue["queue"]], question.link[site], question.store[site]
            take_input(question, site, n)
            first = refusal(ask, queue, load, link, store, n, first, question.ranks, question.later)
            if counts(question, first):
                backlog.documented_numbers(ask, queue, load, link, store, n)
                n["weight"] = question.static_weight[k] * weight(ask, queue, load, link, store, n)
                first = overload(ask, queue, load, link, store, n, first, question.ranks)
        note(question, answer, k, first)
    return rank(question, answer)


DOCUMENTED = JobBrokerage(
    name="documented",
    funnel=Funnel((
        preliminary.not_preassigned,
        candidates.of_the_other_kind,
        candidates.named_test,
        candidates.not_online,
        network.link_blocked,
        network.link_full,
        network.nucleus_full,
        activity.inactive,
        activity.opportunistic,
        candidates.zero_share,
        data_motion.too_much_to_move,
        activity.disk_io,
        candidates.core_count_mismatch,
        candidates.too_many_cores,
        software.software_missing,
        software.platform_missing,
        requirements.too_little_memory,
        requirements.too_much_memory,
        connectivity.only_copies,
        requirements.too_little_scratch,
        endpoints.too_little_space,
        endpoints.not_readable,
        endpoints.not_writable,
        endpoints.receives_nothing,
        endpoints.sends_nothing,
        network.nucleus_closed,
        requirements.too_short_for_scouts,
        requirements.too_short_for_unknown,
        requirements.too_little_walltime,
        requirements.too_much_walltime,
        connectivity.network_mismatch,
        connectivity.without_event_service,
        connectivity.kept_for_high_event_service,
        connectivity.single_core_of_unified,
        connectivity.only_event_service,
        activity.output_backlog,
        nucleus.off_nucleus,
        nucleus.off_the_chain,
        nucleus.for_full_chains_only,
        activity.no_pilots,
        network.low_network_weight,
        activity.non_pledged,
        activity.over_pledged,
        backlog.too_many_ready,
        backlog.too_many_queued,
    )),
    factors=(backlog.running_over_queued, backlog.many_assigned, backlog.data_availability, nucleus.t1weight,
             network.network),
    count=backlog.documented_numbers,
    decide=decide_documented,
    caps=(data_motion.too_much_to_move, nucleus.off_the_chain, nucleus.for_full_chains_only, network.low_network_weight,
          backlog.too_many_ready, backlog.too_many_queued),
)
"""Production job brokerage as documented."""
