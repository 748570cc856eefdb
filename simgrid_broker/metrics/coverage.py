"""Rules, causes of ends, incidents and agents that a run has used, and what kept the others from acting."""

from collections.abc import Sequence

import pandas as pd

from simgrid_broker.metrics.event_service import event_service_ends
from simgrid_broker.metrics.refusals import ABOUT_QUEUES, criteria, sums_of_refusals
from simgrid_broker.metrics.window import once_per_run
from simgrid_broker.names import Cause, DecisionKind
from simgrid_broker.records import Run

CAUSES = tuple(cause.word for cause in Cause if cause is not Cause.NONE)
"""Causes of ends of attempts; source: lifecycle reference, section 3.3."""

EVENT_ENDS = ("es_merge", "es_retry", "es_wait", "es_inaction", "es_noevent", "es_badstatus", "es_killed", "es_unused",
              "es_aborted", "es_heartbeat", "es_toolong", "es_preempted", "es_merge_failed", "pilot_killed",
              "toreassign")
"""Ends of consumers of event service; source: JEDI TWiki, final status of event service jobs; lifecycle reference, 6.2.
"""


@once_per_run
def rules_used(run: Run) -> pd.DataFrame:
    """Every rule of all brokers: kind, rule (label), asked, refused, alone, why_not.

    asked: candidates that no rule before it had refused; refused: those that it was the first to refuse; alone:
    decisions in which it kept the task from the cores of a batch system, or from a site; why_not: what kept a rule that
    never refused from it, as far as the scenario tells.
    """
    columns = {"kind", "criterion", "tag"}
    counts = {number: sums_of_refusals(run, ["kind", "criterion"], columns, lambda rows: rows, number)
              for number in ("count", "pool_count")}
    sums = {number: table.set_index(["kind", "criterion"])["count"].to_dict() for number, table in counts.items()}
    rows = []
    for kind in DecisionKind.words():
        asked = sum(int(number) for (of, _), number in sums["count"].items() if of == kind)
        for rule in criteria(run, kind).itertuples():
            refused = int(sums["count"].get((kind, rule.criterion), 0))
            alone = int(sums["pool_count"].get((kind, rule.criterion), 0)) if kind in ABOUT_QUEUES else refused
            rows.append((kind, rule.label, asked, refused, alone, "" if refused else _why_not(run, rule, asked)))
            asked -= refused
    rules = pd.DataFrame(rows, columns=["kind", "rule", "asked", "refused", "alone", "why_not"])
    rules.loc[rules.groupby("kind").asked.transform("max") == 0, "why_not"] = "this broker made no decision"
    return rules


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
    """Every cause of the end of an attempt with the attempts that ended so: cause, attempts."""
    is_sample = len(run.table("ended", ["jobs"])) > 0
    if is_sample:
        rows = run.table("ended", ["cause", "jobs"])
        found = rows.groupby(rows.cause.astype(object)).jobs.sum()
    else:
        found = pd.concat([rows.cause.astype(object) for rows in run.batches("jobs", ["cause"])]).value_counts()
    return pd.DataFrame({"cause": CAUSES, "attempts": [int(found.get(cause, 0)) for cause in CAUSES]})


def event_ends_used(run: Run) -> pd.DataFrame:
    """Every end of consumers of event service with those that ended so: end, jobs; no row without event service."""
    ends = event_service_ends(run)
    found = ends[~ends.kind.isin(["merge", "jumbo"])].groupby("sub_status").jobs.sum()
    names = dict.fromkeys((*EVENT_ENDS, *filter(None, found.index))) if len(ends) else ()
    return pd.DataFrame([(name, int(found.get(name, 0))) for name in names], columns=["end", "jobs"])


def incidents_used(run: Run) -> pd.DataFrame:
    """Kinds of incidents of the scenario: incident, planned, and those that began and ended within the run."""
    planned = pd.DataFrame(run.manifest["scenario"].get("incidents") or (), columns=["what", "at", "until"])
    rows = [(kind, len(times), *(int((times[name] <= run.end_s).sum()) for name in ("at", "until")))
            for kind, times in planned.astype({"at": float, "until": float}).groupby("what", sort=False)]
    return pd.DataFrame(rows, columns=["incident", "planned", "began", "ended"])


def agents_used(run: Run) -> Sequence[str]:
    """Names of the agents that ran, in the order in which they act at the same instant."""
    return [agent["name"] for agent in run.manifest.get("agents", ())]
