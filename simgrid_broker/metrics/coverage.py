"""Rules, causes of ends, incidents and agents that a run has used, and what kept the others from acting."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from simgrid_broker.metrics.event_service import event_service_ends
from simgrid_broker.metrics.refusals import ABOUT_QUEUES, all_refusals, counted, rules_of
from simgrid_broker.metrics.window import once_per_run
from simgrid_broker.names import Cause, DecisionKind
from simgrid_broker.records import Run, incidents_so_far
from simgrid_broker.units import format_seconds

CAUSES = tuple(cause.word for cause in Cause if cause is not Cause.NONE)
"""Causes of ends of attempts; source: lifecycle reference, section 3.3."""

EVENT_ENDS = ("es_merge", "es_retry", "es_wait", "es_inaction", "es_noevent", "es_badstatus", "es_killed", "es_unused",
              "es_aborted", "es_heartbeat", "es_toolong", "es_preempted", "es_merge_failed", "pilot_killed",
              "toreassign")
"""Ends of consumers of event service; source: JEDI TWiki, final status of event service jobs; lifecycle reference, 6.2.
"""
SAME = 1 - 1e-9
"""Part of a weight from which another one is as heavy."""
Circumstance = tuple[str, str]
"""A place of the scenario and an attribute of it, an incident and its kind, or an agent and its name."""
LOSSES: tuple[Circumstance, ...] = tuple(("incident", what) for what in ("file_loss", "replica_lost",
                                                                         "dataset_deleted"))
BREAKS: tuple[Circumstance, ...] = tuple(("incident", what) for what in ("site_outage", "storage_status",
                                                                         "storage_outage"))
ENDS_EARLY: tuple[Circumstance, ...] = tuple(("queue", name) for name in ("eviction_rate", "slot_life", "window"))
COMMANDED, CONSUMERS, BUILDS = ("incident", "task_command"), ("stream", "nEventsPerWorker"), ("stream", "buildSpec")
MERGES, NOTICE = ("stream", "mergeOutput"), ("queue", "eviction_notice")
NEEDS: Mapping[str, tuple[tuple[Circumstance, ...], ...]] = {
    "site_error": ((("site", "failure_rate"), ("site", "submission_failures"), ("queue", "submission_failures"),
                    *BREAKS, *LOSSES),),
    "payload_error": ((("stream", "failure_rate"),),),
    "reassigned": ((COMMANDED, CONSUMERS, ("agent", "queue_filler")),),
    "analysis_rebrokerage": ((("agent", "priority_massage"),),),
    "task_aborted": ((COMMANDED, BUILDS),),
    "input_lost": ((("stream", "lost_input"), *LOSSES),), "input_broken": ((("stream", "broken_input"), *LOSSES),),
    "timeout_merging": ((MERGES,),), "merge_failed": ((MERGES, CONSUMERS),),
    "build_failed": ((BUILDS,),), "preempted": ((NOTICE,), ENDS_EARLY)}
"""Circumstances without which a cause ends no attempt: one of each group."""


@once_per_run
def rules_used(run: Run) -> pd.DataFrame:
    """Every rule of all brokers: kind, rule (label), asked, refused, alone, why_not.

    asked: candidates that no rule before it had refused; refused: those that it was the first to refuse; alone:
    decisions in which it kept the task from the cores of a batch system, or from a site; why_not: what kept a rule that
    never refused from it, as far as the scenario tells.
    """
    counts = {number: counted(all_refusals(run), ["kind", "criterion"], number)
              for number in ("count", "pool_count")}
    sums = {number: table.set_index(["kind", "criterion"])["count"].to_dict() for number, table in counts.items()}
    rows = []
    for kind in DecisionKind.words():
        asked = sum(int(number) for (of, _), number in sums["count"].items() if of == kind)
        for rule in rules_of(run, kind):
            refused = int(sums["count"].get((kind, rule.criterion), 0))
            alone = int(sums["pool_count"].get((kind, rule.criterion), 0)) if kind in ABOUT_QUEUES else refused
            rows.append((kind, rule.label, asked, refused, alone, "" if refused else _why_not(run, rule, asked)))
            asked -= refused
    rules = pd.DataFrame(rows, columns=["kind", "rule", "asked", "refused", "alone", "why_not"])
    rules.loc[rules.groupby("kind").asked.transform("max") == 0, "why_not"] = "this broker made no decision"
    return rules


@once_per_run
def factors_used(run: Run) -> pd.DataFrame:
    """Every factor of a weight: kind, factor, asked, changed, alone; of decisions whose candidates are recorded.

    asked: decisions with two candidates or more in use; changed: those in which the order of these would be another
    without the factor; alone: those whose first candidate would be another, or none.
    """
    rows = run.table("factors", ["decision", "candidate", "factor", "multiplier"])
    rows = rows.merge(run.table("decisions", ["decision", "kind"]), on="decision").astype({"kind": object})
    found = []
    for kind, of_kind in rows.groupby("kind"):
        weights = of_kind.pivot(index=["decision", "candidate"], columns="factor", values="multiplier").fillna(1.0)
        weights = weights[weights.groupby("decision").transform("size") > 1]
        decision, values = weights.index.get_level_values("decision").to_numpy(), weights.to_numpy()
        for k, name in enumerate(weights.columns):
            moved = _moved(decision, values.prod(axis=1), np.delete(values, k, axis=1).prod(axis=1))
            found.append((kind, str(name), len(np.unique(decision)), *moved))
    return pd.DataFrame(found, columns=["kind", "factor", "asked", "changed", "alone"])


def _moved(decision: np.ndarray, weight: np.ndarray, other: np.ndarray) -> tuple[int, int]:
    """Decisions in which one candidate has more weight than a second one, but not more of another weight; and those in
    which the heaviest candidate is such a one."""
    order = np.lexsort((-other, -weight, decision))
    decision, weight, other = decision[order], weight[order], other[order]
    lighter = (decision[1:] == decision[:-1]) & (weight[1:] < weight[:-1] * SAME)
    changed = decision[1:][lighter & (other[1:] >= other[:-1] * SAME)]
    first = np.searchsorted(decision, decision)                 # the heaviest candidate of each decision
    beaten = decision[(weight < weight[first] * SAME) & (other >= other[first] * SAME)]
    return len(np.unique(changed)), len(np.unique(beaten))


def _why_not(run: Run, rule, asked: int) -> str:
    """The circumstance that kept a rule from refusing anything."""
    if not asked:
        return "the rules before it left no candidate"
    keys = [key for key in rule.keys if _is_unset(run, key)]
    if rule.keys and len(keys) == len(rule.keys):
        return f"not set: {', '.join(keys)}"
    alike = [name for name in rule.queue if _is_alike(run, name)]
    if rule.queue and len(alike) == len(rule.queue):
        return f"all queues have one value of {', '.join(alike)}"
    return "its condition never held"


def _is_unset(run: Run, key: str) -> bool:
    """True if neither a key nor a member of its family is set."""
    begin = key.partition("<")[0].partition("[")[0].rstrip("_")
    return not any(name.partition(".")[2].startswith(begin) and entry["value"] is not None
                   for name, entry in run.manifest["gdpconfig"].items())


def _is_alike(run: Run, attribute: str) -> bool:
    """True if all queues of the scenario have the same value of an attribute, or of an option of `params`."""
    queues, (name, _, option) = run.manifest["scenario"]["grid"]["queues"].values(), attribute.partition(".")
    return len({str((queue.get(name) or {}).get(option) if option else queue.get(name)) for queue in queues}) == 1


@once_per_run
def ends_used(run: Run) -> pd.DataFrame:
    """Every cause of the end of an attempt: cause, attempts that ended so, why_not (what kept others from it)."""
    is_sample = len(run.table("ended", ["jobs"])) > 0
    if is_sample:
        rows = run.table("ended", ["cause", "jobs"])
        found = rows.groupby(rows.cause.astype(object)).jobs.sum()
    else:
        found = pd.concat([rows.cause.astype(object) for rows in run.batches("jobs", ["cause"])]).value_counts()
    rows = [(cause, number := int(found.get(cause, 0)), "" if number else why_never(run, cause)) for cause in CAUSES]
    return pd.DataFrame(rows, columns=["cause", "attempts", "why_not"])


def why_never(run: Run, cause: str) -> str:
    """Circumstance for want of which a cause ended no attempt, as far as the scenario and timeout rules tell."""
    for group in NEEDS.get(cause, ()):
        if not any(_has(run, *each) for each in group):
            return _lacking(group)
    limit_s = run.manifest.get("timeouts", {}).get(cause)
    if limit_s is None:
        is_timeout = cause.startswith("timeout_") and "timeouts" in run.manifest
        return f"no rule of the edition {run.manifest['edition']}" if is_timeout else "it could, and ended none"
    limit = f"the shortest limit of its rules, {format_seconds(limit_s)}"
    return f"{limit}, is longer than the run" if limit_s > run.end_s else f"no job came to {limit}"


def _has(run: Run, place: str, name: str) -> bool:
    """True if there is such a circumstance; of agents also where a run did not count them."""
    said = run.manifest["scenario"]
    if place == "incident":
        return any(each["what"] == name for each in said.get("incidents") or ())
    if place == "agent":
        return name in run.manifest.get("coverage", {}).get("agents", {name: ()})
    things = {"site": said["grid"]["sites"].values(), "queue": said["grid"]["queues"].values(),
              "stream": (*said["workload"]["campaigns"], *said["workload"]["users"])}[place]
    values = [each.get(name) for each in things]
    values = [value.get("median", True) or value.get("sigma") if isinstance(value, dict) else value for value in values]
    return any(value is not None and (value or (place, name) == NOTICE) for value in values)


def _lacking(group: Sequence[Circumstance]) -> str:
    """A group of circumstances of which there is none, in words."""
    names: dict[str, list[str]] = {}
    for place, name in group:
        names.setdefault(place, []).append(name)
    said = {"incident": "no incident is {}", "agent": "the agent {} has no cycles"}
    *most, last = (said.get(place, f"no {place} has {{}}").format(" or ".join(each)) for place, each in names.items())
    return f"{', '.join(most)} and {last}" if most else last


def event_ends_used(run: Run) -> pd.DataFrame:
    """Every end of consumers of event service with those that ended so: end, jobs; no row without event service."""
    ends = event_service_ends(run)
    found = ends[~ends.kind.isin(["merge", "jumbo"])].groupby("sub_status").jobs.sum()
    names = dict.fromkeys((*EVENT_ENDS, *filter(None, found.index))) if len(ends) else ()
    return pd.DataFrame([(name, int(found.get(name, 0))) for name in names], columns=["end", "jobs"])


def incidents_used(run: Run) -> pd.DataFrame:
    """Kinds of incidents of the scenario: incident, planned, and those that began and ended within the run."""
    found = incidents_so_far(run.manifest["scenario"].get("incidents") or (), run.end_s)
    return pd.DataFrame([(kind, *counts) for kind, counts in found.items()],
                        columns=["incident", "planned", "began", "ended"])


def agents_used(run: Run) -> pd.DataFrame:
    """Agents that ran, in the order in which they act at the same instant: agent, asked (its cycles), acted.

    acted: cycles in which something moved. Both are NaN for an agent without a period, and in a run that was killed.
    """
    counts = run.manifest.get("coverage", {}).get("agents", {})
    rows = [(name, *counts.get(name, (np.nan, np.nan)))
            for name in dict.fromkeys(each["name"] for each in run.manifest.get("agents", ()))]
    return pd.DataFrame(rows, columns=["agent", "asked", "acted"])
