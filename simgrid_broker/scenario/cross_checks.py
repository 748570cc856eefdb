"""All checks between the parts of a scenario, and remarks on what is legal but suspicious."""

from collections.abc import Callable, Iterator

from simgrid_broker.errors import nearest
from simgrid_broker.names import ASKED_LABELS, JOB_TYPE_OF_TESTS
from simgrid_broker.scenario.accounts import group_names
from simgrid_broker.scenario.gdpconfig import find
from simgrid_broker.scenario.hopeless import (
    closed_storages,
    closed_too_soon,
    contradicting_incidents,
    data_slower_than_the_run,
    endpoints_without_use,
    jobs_longer_than_the_run,
    links_that_always_fail,
    more_cores_than_slots,
    nuclei_without_space,
    queue_of_nothing,
    remote_reading_nowhere,
    run_too_short,
    slot_memory_larger_than_site,
    storage_without_room,
    words_without_meaning,
)
from simgrid_broker.scenario.locate import Finding
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.scenario.retry_rules import RETRY_RULES
from simgrid_broker.scenario.rules_data import DATA_REMARKS, DATA_RULES
from simgrid_broker.scenario.rules_dirac import group_findings
from simgrid_broker.scenario.rules_grid import GRID_RULES, too_much_space
from simgrid_broker.scenario.rules_names import unknown_name
from simgrid_broker.scenario.rules_network import NETWORK_RULES
from simgrid_broker.scenario.rules_shares import SHARE_RULES, TAGS, shares_with_keys, work_without_share
from simgrid_broker.scenario.rules_tape import TAPE_REMARKS, TAPE_RULES
from simgrid_broker.scenario.rules_user_parameters import (
    USER_PARAMETER_RULES,
    patterns_without_queue,
    unread_parameters,
)
from simgrid_broker.scenario.rules_users import (
    accounts_without_effect,
    boosts_of_users,
    boosts_without_effect,
    owners_of_accounts,
)
from simgrid_broker.scenario.rules_work import WORK_RULES
from simgrid_broker.scenario.rules_work_queues import WORK_QUEUE_RULES
from simgrid_broker.scenario.rules_workers import WORKER_RULES, option_unread, remarks_of_modes
from simgrid_broker.schema.queues import NUMBERS, option_number, option_value, standby_slots

CHECKS: tuple[Callable[[Scenario], Iterator[Finding]], ...] = (
    *GRID_RULES, *NETWORK_RULES, *WORKER_RULES, too_much_space, *SHARE_RULES, work_without_share, *WORK_RULES,
    *DATA_RULES, *TAPE_RULES, *WORK_QUEUE_RULES, *RETRY_RULES, *USER_PARAMETER_RULES, boosts_of_users,
    owners_of_accounts, group_findings, unknown_name)
"""Every rule; each gives a finding for everything that breaks it."""


def findings(scenario: Scenario) -> tuple[Finding, ...]:
    """Everything that is wrong between the parts of a scenario."""
    return tuple(finding for check in CHECKS for finding in check(scenario))


def remarks(scenario: Scenario) -> tuple[str, ...]:
    """What is legal but may not be meant, and what an import could not use; one sentence each."""
    return (*scenario.import_remarks, *(remark for look in LOOKS for remark in look(scenario)))


def no_work(scenario: Scenario) -> Iterator[str]:
    """A run without work."""
    work = scenario.workload
    if not (work.campaigns or work.users or work.trace):
        yield "There is no work: neither campaigns nor users nor a trace."


def labels_without_pilots(scenario: Scenario) -> Iterator[str]:
    """Work whose label no pilot asks for; source: lifecycle reference, section 5.2."""
    asked = {label for labels in ASKED_LABELS.values() for label in labels}
    for stream in (*scenario.workload.campaigns, *scenario.workload.users):
        if stream.prodsourcelabel not in asked and stream.processingtype != JOB_TYPE_OF_TESTS:
            yield (f"No pilot asks for jobs of prodsourcelabel {stream.prodsourcelabel!r}, so that those of "
                   f"{stream.name!r} never start.")


def rule_of_inner_share(scenario: Scenario) -> Iterator[str]:
    """Regular expressions of shares that have children: only leaves tag tasks."""
    for _, share in shares_with_keys(scenario.shares):
        if share.children and any(getattr(share, tag) is not None for tag in TAGS):
            yield f"The rules of share {share.name!r} have no effect, because only shares without children take tasks."


def site_without_anything(scenario: Scenario) -> Iterator[str]:
    """Sites that have neither queue nor storage."""
    used = {queue.atlas_site for queue in scenario.grid.queues.values()}
    used |= {storage.site for storage in scenario.grid.storages.values()}
    for name in scenario.grid.sites:
        if name not in used:
            yield f"Site {name!r} has neither a queue nor a storage."


def no_open_queue(scenario: Scenario) -> Iterator[str]:
    """A grid none of whose queues is online."""
    queues = scenario.grid.queues.values()
    if all(queue.status != "online" for queue in queues):
        yield "No queue is online, so no job will be brokered unless an incident opens one."


def queue_refuses_all(scenario: Scenario) -> Iterator[str]:
    """Queues whose lower limit is above the upper one; an upper limit of 0 means no limit."""
    for name, queue in scenario.grid.queues.items():
        for lower, upper in (("minrss", "maxrss"), ("mintime", "maxtime")):
            if getattr(queue, lower) > getattr(queue, upper) > 0:
                yield f"Queue {name!r} takes no job: {lower} is above {upper}."


def option_of_full_chain(scenario: Scenario) -> Iterator[str]:
    """Options of full chains without effect: bareNucleus has two values, secondaryNucleus names a site."""
    for name, queue in scenario.grid.queues.items():
        bare, secondary = option_value(queue, "bareNucleus"), option_value(queue, "secondaryNucleus")
        if bare not in (None, "only", "allow"):
            yield f"bareNucleus={bare} of queue {name!r} has no effect; it may be only or allow."
        if secondary is not None and secondary not in scenario.grid.sites:
            yield f"secondaryNucleus={secondary} of queue {name!r} has no effect: unknown site."


def option_no_number(scenario: Scenario) -> Iterator[str]:
    """Options of queues that must be numbers and are not."""
    for name, queue in scenario.grid.queues.items():
        for key in NUMBERS:
            value = option_value(queue, key)
            if value is not None and option_number(queue, key, -1) < 0:
                yield f"{key}={value} of queue {name!r} has no effect; it must be a number, 0 or above."


def standby_of_nothing(scenario: Scenario) -> Iterator[str]:
    """Parts of nStandby that the edition does not read, that have another form, or whose share or type is unknown."""
    leaves = {share.name for _, share in shares_with_keys(scenario.shares_in_use) if not share.children}
    for name, queue in scenario.grid.queues.items():
        for part, share, kind, _ in standby_slots(queue):
            if scenario.edition == "documented":
                yield f"nStandby={part} of queue {name!r} has no effect: only the deployed edition reads it."
            elif share is None:
                yield f"nStandby={part} of queue {name!r} has no effect; write <share>:<resource type>:<slots>."
            elif share not in leaves or kind not in scenario.resource_types:
                what, word = ("share", share) if share not in leaves else ("resource type", kind)
                yield f"nStandby={part} of queue {name!r} has no effect: unknown {what} {word!r}."


def cut_off(scenario: Scenario) -> Iterator[str]:
    """Incidents and snapshots after the end of a run that is shorter than its scenario file states."""
    for times, what, done in (([incident.at for incident in scenario.incidents], "incident", "happen"),
                              (scenario.record.snapshots, "snapshot", "be taken")):
        late = sum(at >= scenario.duration for at in times)
        if late:
            yield f"{late} {what}(s) lie after the end of the run and will not {done}."


def settings_of(scenario: Scenario) -> Iterator[str]:
    """Names of the keys of gdpconfig that a scenario sets, at the start or by an incident, each once."""
    later = (incident.key for incident in scenario.incidents if incident.what == "gdpconfig" and incident.key)
    yield from dict.fromkeys((*scenario.gdpconfig, *later))


def setting_without_match(scenario: Scenario) -> Iterator[str]:
    """Keys of gdpconfig for a CRIC workflow of no queue, or for a working group of no work."""
    known: dict[str, tuple[str, set[str | None]]] = {
        "workflow": ("queue has the workflow", {queue.workflow for queue in scenario.grid.queues.values()}),
        "workingGroup": ("work has the working group", {*group_names(scenario.workload)})}
    for name in settings_of(scenario):
        for match in find(name):
            for member, (what, names) in known.items():
                text = match.members.get(member)
                if text is not None and text not in names:
                    close = nearest(text, [one for one in names if one])
                    yield (f"gdpconfig key {name!r} has no effect: no {what} {text!r}"
                           f"{'; did you mean ' + ', '.join(close) if close else ''}.")


def software_without_transhome(scenario: Scenario) -> Iterator[str]:
    """Requirements on software or hardware that the deployed edition ignores."""
    for stream in (*scenario.workload.campaigns, *scenario.workload.users):
        if scenario.edition == "deployed" and not stream.transhome and (stream.architecture or stream.container_name):
            yield (f"Neither architecture nor container of {stream.name!r} has an effect, because the deployed "
                   "edition ignores them without a transhome.")


def software_unknown(scenario: Scenario) -> Iterator[str]:
    """Queues whose software is to be checked and that publish none, if there is work that asks for any."""
    work = (*scenario.workload.campaigns, *scenario.workload.users)
    silent = [name for name, queue in scenario.grid.queues.items() if "AUTO" in queue.releases and not queue.software]
    if silent and any(stream.transhome or stream.architecture or stream.container_name for stream in work):
        yield (f"{len(silent)} queue(s) with releases AUTO publish no software and take no task that asks for any "
               f"({', '.join(silent[:3])}{', ...' if len(silent) > 3 else ''}); give grid.software.")


LOOKS: tuple[Callable[[Scenario], Iterator[str]], ...] = (
    no_work, labels_without_pilots, rule_of_inner_share, site_without_anything, no_open_queue,
    queue_refuses_all, cut_off, remarks_of_modes,
    setting_without_match, option_of_full_chain, option_no_number, option_unread, standby_of_nothing,
    software_without_transhome,
    software_unknown, boosts_without_effect, patterns_without_queue, unread_parameters, accounts_without_effect,
    more_cores_than_slots, queue_of_nothing, remote_reading_nowhere, slot_memory_larger_than_site,
    storage_without_room, run_too_short, jobs_longer_than_the_run, data_slower_than_the_run, contradicting_incidents,
    closed_too_soon, nuclei_without_space, closed_storages, endpoints_without_use, words_without_meaning,
    links_that_always_fail, *DATA_REMARKS, *TAPE_REMARKS)
