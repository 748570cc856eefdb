"""Rules of both brokers as a run names them: tags, criteria and factors, and the order in which they refuse."""

from simgrid_broker.agents.policies import Policies
from simgrid_broker.names import DecisionKind
from simgrid_broker.policy.job_brokerage.decide import RANKING
from simgrid_broker.policy.rule import Criterion
from simgrid_broker.policy.scouts import REASONS as SCOUT_REASONS
from simgrid_broker.policy.task_brokerage.editions import PREASSIGNED


def steps_of(policies: Policies) -> dict[DecisionKind, tuple[Criterion, ...]]:
    """Everything that refuses candidates, by kind of decision, in the order of `Verdict.tags`."""
    return {DecisionKind.JOB_BROKERAGE: policies.job_rules.rules,
            DecisionKind.TASK_BROKERAGE: policies.task_rules.rules}


def in_order(policies: Policies) -> dict[DecisionKind, tuple[Criterion, ...]]:
    """The same steps in the order of removal: temporary refusals behind all others, then the ranking by weight."""
    jobs, tasks = policies.job_rules.funnel, policies.task_rules.funnel
    return {DecisionKind.JOB_BROKERAGE: (*(rule.rule for rule in jobs.by_rank), *RANKING),
            DecisionKind.TASK_BROKERAGE: (*PREASSIGNED.funnel.rules, *(rule.rule for rule in tasks.by_rank))}


def all_tags(policies: Policies) -> tuple[str, ...]:
    """Every tag with which a broker can refuse a candidate, each once."""
    return tuple(dict.fromkeys(step.tag for steps in steps_of(policies).values() for step in steps))


def all_criteria(policies: Policies) -> tuple[str, ...]:
    """Every name of a criterion of a broker, each once."""
    return tuple(dict.fromkeys(step.name for steps in steps_of(policies).values() for step in steps))


def all_reasons(policies: Policies) -> tuple[str, ...]:
    """Values of errorDialog of a task: every tag, and the reasons for which scouts exhaust or break a task."""
    return (*all_tags(policies), *SCOUT_REASONS)


def all_factors(policies: Policies) -> tuple[str, ...]:
    """Names of the factors of the weights of both brokers, each once."""
    factors = *policies.job_rules.factors, *policies.task_rules.factors
    return tuple(dict.fromkeys(factor.rule.name for factor in factors))


def criteria_in_order(policies: Policies) -> dict[str, list[dict[str, object]]]:
    """Criterion, tag and PanDA's name of every step by kind of decision, in the order of removal."""
    return {kind.word: [dict(criterion=step.name, tag=step.tag, panda=step.panda, temporary=step.temporary)
                        for step in steps] for kind, steps in in_order(policies).items()}
