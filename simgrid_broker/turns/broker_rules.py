"""Rules of all brokers as a run names them: tags, criteria and factors, and the order in which they refuse."""

import re
from operator import itemgetter

from simgrid_broker.names import DecisionKind
from simgrid_broker.policy.brokerage.analysis.editions import AnalysisBrokerage
from simgrid_broker.policy.brokerage.production.decide import RANKING
from simgrid_broker.policy.brokerage.production.editions import JobBrokerage
from simgrid_broker.policy.brokerage.task.editions import PREASSIGNED, TaskBrokerage
from simgrid_broker.policy.jobs.build_jobs import BUILD_FAILURES
from simgrid_broker.policy.readings import read_by
from simgrid_broker.policy.rule import Criterion
from simgrid_broker.policy.tasks.ends import REASONS as END_REASONS
from simgrid_broker.policy.tasks.scouts import REASONS as SCOUT_REASONS
from simgrid_broker.turns.policies import Policies
from simgrid_broker.views import KEPT, Verdict

CITED = re.compile(r" \(D\d+(, D\d+)*\)")
"""Citation of a difference between the editions in the sentence of a rule."""


def steps_of(policies: Policies) -> dict[DecisionKind, tuple[Criterion, ...]]:
    """Everything that refuses candidates, by kind of decision, in the order of `Verdict.tags`."""
    return {DecisionKind.JOB_BROKERAGE: policies.job_rules.rules,
            DecisionKind.TASK_BROKERAGE: policies.task_rules.rules,
            DecisionKind.ANALYSIS_BROKERAGE: policies.analysis_rules.rules}


def in_order(policies: Policies) -> dict[DecisionKind, tuple[Criterion, ...]]:
    """Order of removal of candidates: temporary refusals behind all others, then the ranking by weight."""
    jobs, tasks = policies.job_rules.funnel, policies.task_rules.funnel
    return {DecisionKind.JOB_BROKERAGE: (*(rule.rule for rule in jobs.by_rank), *RANKING),
            DecisionKind.TASK_BROKERAGE: (*PREASSIGNED.funnel.rules, *(rule.rule for rule in tasks.by_rank)),
            DecisionKind.ANALYSIS_BROKERAGE: policies.analysis_rules.rules}


def all_tags(policies: Policies) -> tuple[str, ...]:
    """Every tag with which a broker can refuse a candidate, each once."""
    return tuple(dict.fromkeys(step.tag for steps in steps_of(policies).values() for step in steps))


def all_criteria(policies: Policies) -> tuple[str, ...]:
    """Every name of a criterion of a broker, each once."""
    return tuple(dict.fromkeys(step.name for steps in steps_of(policies).values() for step in steps))


def all_reasons(policies: Policies) -> tuple[str, ...]:
    """Values of errorDialog of a task: what rules are called, why scouts or build jobs stopped it, or why it failed."""
    return (*dict.fromkeys(label for kind in DecisionKind for label in labels_of(policies, kind).values()),
            *SCOUT_REASONS, BUILD_FAILURES, *END_REASONS)


def labels_of(policies: Policies, kind: DecisionKind) -> dict[str, str]:
    """Label of each rule of a broker, by its name."""
    rules: dict[DecisionKind, JobBrokerage | TaskBrokerage | AnalysisBrokerage] = {
        DecisionKind.JOB_BROKERAGE: policies.job_rules, DecisionKind.TASK_BROKERAGE: policies.task_rules,
        DecisionKind.ANALYSIS_BROKERAGE: policies.analysis_rules}
    return rules[kind].labels


def rules_behind(policies: Policies, kind: DecisionKind, tags: tuple[str, ...]) -> tuple[Criterion, ...]:
    """The rule behind each tag of a verdict.

    A policy of another package may have fewer tags than the rules; each is then the first rule of that tag.
    """
    rules = steps_of(policies)[kind]
    if tuple(rule.tag for rule in rules) == tags:
        return rules
    first = {rule.tag: rule for rule in reversed(rules)}
    return tuple(first[tag] for tag in tags)


def last_refusal(policies: Policies, kind: DecisionKind, verdict: Verdict) -> Criterion | None:
    """The rule that removed the last candidates; None if some were kept or none came."""
    if len(verdict.order) or not verdict.refused_by.size:
        return None
    removal = removal_of(policies, kind, verdict.tags)
    return max((removal[place] for place in set(verdict.refused_by.tolist())), key=itemgetter(1))[0]


def removal_of(policies: Policies, kind: DecisionKind, tags: tuple[str, ...]) -> tuple[tuple[Criterion, int], ...]:
    """The rule behind each tag of a verdict with its place in the order of removal, worked out once."""
    if (kind, tags) not in policies.removal:
        ordered = in_order(policies)[kind]
        policies.removal[kind, tags] = tuple((rule, ordered.index(rule)) for rule in rules_behind(
            policies, kind, tags))
    return policies.removal[kind, tags]


def reason(policies: Policies, kind: DecisionKind, verdict: Verdict) -> str:
    """Value of errorDialog of a task for which a broker has no candidate; empty if it has one."""
    last = last_refusal(policies, kind, verdict)
    return "" if last is None else labels_of(policies, kind)[last.name]


def reason_at(policies: Policies, kind: DecisionKind, tags: tuple[str, ...], place: int) -> str:
    """As `reason`, where the rule behind the tag at a place removed the last candidates; KEPT = none came."""
    return "" if place == KEPT else labels_of(policies, kind)[removal_of(policies, kind, tags)[place][0].name]


def all_factors(policies: Policies) -> tuple[str, ...]:
    """Names of the factors of the weights of all brokers, each once."""
    factors = *policies.job_rules.factors, *policies.task_rules.factors, *policies.analysis_rules.factors
    return tuple(dict.fromkeys(factor.rule.name for factor in factors))


def criteria_in_order(policies: Policies) -> dict[str, list[dict[str, object]]]:
    """Names, sentences, meanings and settings of all steps by kind of decision, in the order of removal."""
    edition, jobs = policies.edition, policies.job_rules
    functions = {rule.rule: rule for rules in (jobs, policies.task_rules, policies.analysis_rules)
                 for rule in (*rules.gate, *rules.funnel.criteria)}

    def reads(step: Criterion, kind: DecisionKind) -> dict[str, list[str]]:
        count = jobs.count if kind == DecisionKind.JOB_BROKERAGE else None
        return read_by(functions[step], edition, count) if step in functions else {}
    return {kind.word: [dict(criterion=step.name, tag=step.tag, panda=step.panda, temporary=step.temporary,
                             unit=step.unit_in(edition), says=step.says_in(edition),
                             meaning=CITED.sub("", step.meaning), **reads(step, kind)) for step in steps]
            for kind, steps in in_order(policies).items()}
