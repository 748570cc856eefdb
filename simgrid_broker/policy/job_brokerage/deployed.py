"""Production job brokerage as deployed: its criteria and factors in order, and the compiled decision over them.

What lives here: the chain, and the compiled functions that ask those of its rules that look at one candidate; a test
holds both together. What does not: rules, and what every edition has in common (`decide`, `brokerage`).

Source of the order: brokerage reference, sections 2.3 and 10.3.
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
from simgrid_broker.policy.job_brokerage.decide import choose, counts, look_for_sources, note, rank, take_input


@compiled
def weight(ask, queue, load, link, store, n):
    """Product of the compiled factors for a candidate."""
    return (backlog.running_over_queued(ask, queue, load, link, store, n)
            * backlog.many_assigned_deployed(ask, queue, load, link, store, n)
            * backlog.data_availability(ask, queue, load, link, store, n)
            * nucleus.t1weight_deployed(ask, queue, load, link, store, n)
            * network.network_deployed(ask, queue, load, link, store, n)
            * backlog.bootstrap(ask, queue, load, link, store, n))


@compiled
def refusal(ask, queue, load, link, store, n, first, ranks, later):
    """Smallest rank at which a compiled criterion that reads no job numbers refuses a candidate, if below `first`.

    later: the smallest rank from each criterion on, by which those that cannot matter any more are left out together.
    """
    if ranks[0] < first and network.nucleus_closed_deployed(ask, queue, load, link, store, n)[0]:
        first = ranks[0]
    if ranks[1] < first and network.nucleus_full_deployed(ask, queue, load, link, store, n)[0]:
        first = ranks[1]
    if ranks[2] < first and network.link_blocked_deployed(ask, queue, load, link, store, n)[0]:
        first = ranks[2]
    if ranks[3] < first and network.link_full_deployed(ask, queue, load, link, store, n)[0]:
        first = ranks[3]
    if later[4] >= first:
        return first
    if ranks[4] < first and activity.opportunistic(ask, queue, load, link, store, n)[0]:
        first = ranks[4]
    if ranks[5] < first and activity.inactive_deployed(ask, queue, load, link, store, n)[0]:
        first = ranks[5]
    if ranks[6] < first and activity.disk_io(ask, queue, load, link, store, n)[0]:
        first = ranks[6]
    if later[7] >= first:
        return first
    if ranks[7] < first and requirements.too_little_memory_deployed(ask, queue, load, link, store, n)[0]:
        first = ranks[7]
    if ranks[8] < first and requirements.too_much_memory_deployed(ask, queue, load, link, store, n)[0]:
        first = ranks[8]
    if ranks[9] < first and requirements.too_little_scratch_deployed(ask, queue, load, link, store, n)[0]:
        first = ranks[9]
    if ranks[10] < first and endpoints.too_little_space_deployed(ask, queue, load, link, store, n)[0]:
        first = ranks[10]
    if ranks[11] < first and endpoints.not_readable(ask, queue, load, link, store, n)[0]:
        first = ranks[11]
    if ranks[12] < first and endpoints.not_writable(ask, queue, load, link, store, n)[0]:
        first = ranks[12]
    if ranks[13] < first and endpoints.receives_nothing_deployed(ask, queue, load, link, store, n)[0]:
        first = ranks[13]
    if ranks[14] < first and endpoints.sends_nothing(ask, queue, load, link, store, n)[0]:
        first = ranks[14]
    return first if later[15] >= first else refusal_behind(ask, queue, load, link, store, n, first, ranks)


@compiled
def refusal_behind(ask, queue, load, link, store, n, first, ranks):
    """The same for the criteria behind those, which fewer candidates come to."""
    if ranks[15] < first and endpoints.nobody_sends_input(ask, queue, load, link, store, n)[0]:
        first = ranks[15]
    if ranks[16] < first and requirements.too_little_walltime_deployed(ask, queue, load, link, store, n)[0]:
        first = ranks[16]
    if ranks[17] < first and requirements.too_short_for_scouts_deployed(ask, queue, load, link, store, n)[0]:
        first = ranks[17]
    if ranks[18] < first and requirements.too_short_for_unknown_deployed(ask, queue, load, link, store, n)[0]:
        first = ranks[18]
    if ranks[19] < first and requirements.too_much_walltime_deployed(ask, queue, load, link, store, n)[0]:
        first = ranks[19]
    if ranks[20] < first and activity.output_backlog_deployed(ask, queue, load, link, store, n)[0]:
        first = ranks[20]
    if ranks[21] < first and activity.non_pledged(ask, queue, load, link, store, n)[0]:
        first = ranks[21]
    if ranks[22] < first and activity.over_pledged_deployed(ask, queue, load, link, store, n)[0]:
        first = ranks[22]
    if ranks[23] < first and nucleus.off_nucleus_deployed(ask, queue, load, link, store, n)[0]:
        first = ranks[23]
    if ranks[24] < first and data_motion.too_intense(ask, queue, load, link, store, n)[0]:
        first = ranks[24]
    if ranks[25] < first and nucleus.off_the_chain(ask, queue, load, link, store, n)[0]:
        first = ranks[25]
    if ranks[26] < first and nucleus.for_full_chains_only(ask, queue, load, link, store, n)[0]:
        first = ranks[26]
    if ranks[27] < first and activity.no_pilots_deployed(ask, queue, load, link, store, n)[0]:
        first = ranks[27]
    if ranks[28] < first and data_motion.not_local(ask, queue, load, link, store, n)[0]:
        first = ranks[28]
    return first


@compiled
def overload(ask, queue, load, link, store, n, first, ranks):
    """The same for the other criteria, those about backlogs and weights: the last ones."""
    if ranks[29] < first and backlog.over_cap(ask, queue, load, link, store, n)[0]:
        first = ranks[29]
    if ranks[30] < first and network.low_network_weight_deployed(ask, queue, load, link, store, n)[0]:
        first = ranks[30]
    if ranks[31] < first and backlog.over_cap_of_type(ask, queue, load, link, store, n)[0]:
        first = ranks[31]
    if ranks[32] < first and backlog.below_min_weight(ask, queue, load, link, store, n)[0]:
        first = ranks[32]
    return first


@compiled
def decide_deployed(question, answer):
    """The decision, see `brokerage.JobBrokerage`."""
    ask, n = question.ask[0], answer.numbers[0]
    ask["nucleus_queued_files"] = network.files_to_nucleus(ask, question.link)
    look_for_sources(question)
    choosing = data_motion.choice_is_open(ask)
    for k in range(len(question.queues)):
        first, queue = question.first[k], question.queues[k]
        if first > question.least:
            site = queue["site"]
            load, link, store = question.load[queue["queue"]], question.link[site], question.store[site]
            take_input(question, site, n)
            first = refusal(ask, queue, load, link, store, n, first, question.ranks, question.later)
            if counts(question, first):
                backlog.deployed_numbers(ask, queue, load, link, store, n)
                n["weight"] = question.static_weight[k] * weight(ask, queue, load, link, store, n)
                first = overload(ask, queue, load, link, store, n, first, question.ranks)
            if choosing and first > question.choice_rank:
                answer.classes[k] = data_motion.io_class(ask, queue, load, link, store, n)
        note(question, answer, k, first)
    if choosing:
        choose(question, answer, data_motion.REFUSED)
    return rank(question, answer)


DEPLOYED = JobBrokerage(
    name="deployed",
    funnel=Funnel((
        preliminary.not_preassigned_deployed,
        candidates.of_the_other_kind,
        candidates.neither_online_nor_standby,
        network.nucleus_closed_deployed,
        network.nucleus_full_deployed,
        network.link_blocked_deployed,
        network.link_full_deployed,
        activity.opportunistic,
        activity.inactive_deployed,
        candidates.zero_share_deployed,
        connectivity.kept_for_jumbo,
        connectivity.too_few_events,
        activity.disk_io,
        candidates.core_count_mismatch,
        candidates.too_many_cores,
        software.software_missing_deployed,
        software.platform_missing_deployed,
        requirements.too_little_memory_deployed,
        requirements.too_much_memory_deployed,
        connectivity.only_copies_deployed,
        requirements.too_little_scratch_deployed,
        endpoints.too_little_space_deployed,
        endpoints.not_readable,
        endpoints.not_writable,
        endpoints.receives_nothing_deployed,
        endpoints.sends_nothing,
        endpoints.nobody_sends_input,
        requirements.too_little_walltime_deployed,
        requirements.too_short_for_scouts_deployed,
        requirements.too_short_for_unknown_deployed,
        requirements.too_much_walltime_deployed,
        connectivity.network_mismatch_deployed,
        connectivity.without_event_service,
        connectivity.kept_for_high_event_service,
        connectivity.single_core_of_unified,
        connectivity.only_event_service,
        activity.output_backlog_deployed,
        activity.non_pledged,
        activity.over_pledged_deployed,
        nucleus.off_nucleus_deployed,
        data_motion.too_intense,
        nucleus.off_the_chain,
        nucleus.for_full_chains_only,
        activity.no_pilots_deployed,
        data_motion.io_class,
        data_motion.not_local,
        backlog.over_cap,
        network.low_network_weight_deployed,
        backlog.over_cap_of_type,
        backlog.below_min_weight,
    )),
    factors=(software.cpu_preference, backlog.running_over_queued, backlog.many_assigned_deployed,
             backlog.data_availability, nucleus.t1weight_deployed, network.network_deployed, backlog.bootstrap),
    count=backlog.deployed_numbers,
    decide=decide_deployed,
    caps=(nucleus.off_the_chain, nucleus.for_full_chains_only, data_motion.not_local, backlog.over_cap,
          network.low_network_weight_deployed, backlog.over_cap_of_type, backlog.below_min_weight),
    choice=data_motion.io_class, busiest=True,
)
"""Production job brokerage as deployed."""
