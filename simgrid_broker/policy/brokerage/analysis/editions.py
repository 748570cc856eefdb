"""Analysis brokerage by edition: the rules of its gate, its criteria in order, and its factors."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from simgrid_broker.policy.brokerage.analysis import candidates, gate, lists, locality, requirements, users
from simgrid_broker.policy.brokerage.analysis.decide import FINAL_RULES, FRAME, GATE, LIST, TERMS, TEXT
from simgrid_broker.policy.brokerage.analysis.question import Candidate
from simgrid_broker.policy.brokerage.brokerage import LOW_WEIGHT, REFUSAL, Brokerage, Part, by_edition, composed
from simgrid_broker.policy.brokerage.production import storage
from simgrid_broker.policy.brokerage.production.requirements import too_little_memory, too_much_memory
from simgrid_broker.policy.funnel import Funnel
from simgrid_broker.policy.rule import Criterion, CriterionFunction

NEVER = 10_000
"""Rank of a candidate that nothing refused, behind those of all rules."""


@dataclass(frozen=True)
class AnalysisBrokerage(Brokerage):
    """An analysis brokerage; used_first: queues that the task has used come first."""

    used_first: bool = False
    behind: tuple[Criterion, ...] = field(default=(LOW_WEIGHT,), kw_only=True)

    @cached_property
    def n_gate(self) -> int:
        """Number of the rules of the gate, which come first among `rules`."""
        return len(self.gate)

    @cached_property
    def asked(self) -> tuple[tuple[CriterionFunction, ...], ...]:
        """Compiled criteria by kind: about one candidate, about the list, then both kinds that need job numbers."""
        one = [rule for rule in self.funnel.criteria if rule.rule.per_candidate]
        of_list = [rule for rule in self.funnel.criteria if rule.rule.of_list]
        return tuple(tuple(rule for rule in kind if rule.rule.needs_numbers == late)
                     for late in (False, True) for kind in (one, of_list))

    @cached_property
    def decide(self) -> Callable:
        """The decision, a function of `decide.Tables`, made when it is first asked for."""
        criteria, lists, problems, late_lists = self.asked
        of_numbers = len(criteria) + len(lists)
        return composed(
            TEXT, Candidate._fields, FRAME, gate=Part(self.gate, GATE), refusals=Part(criteria, REFUSAL),
            lists=Part(lists, LIST, first=len(criteria)),
            problems=Part(problems, REFUSAL.replace("{arguments}", "{arguments}, numbers"), first=of_numbers),
            late_lists=Part(late_lists, LIST, first=of_numbers + len(problems)),
            factors=Part(self.factors, "    {name}(tables, {number})"),
            product=Part(self.factors, "tables.factors[{number}, k]", " * ", "1.0"))

    @cached_property
    def concern(self) -> np.ndarray:
        """Places of the compiled criteria among the criteria, (1, n_rules), in the order of `asked`."""
        place = {rule: number for number, rule in enumerate(self.funnel.criteria)}
        return np.array([[place[rule] for kind in self.asked for rule in kind]], np.int64)

    @cached_property
    def terms(self) -> np.ndarray:
        """Course of a decision, (1,) of `decide.TERMS`, but for its loops; not to be changed."""
        found, never = np.zeros(1, TERMS), len(self.funnel.criteria)
        names = [rule.name for rule in self.rules[self.n_gate:]]
        passing = [place for place, rule in enumerate(self.funnel.rules) if rule.temporary]
        found["n_gate"] = self.n_gate
        found["never"], found["least"] = NEVER, self.concern.min(initial=never)
        found["marks"], found["used_first"] = not passing, self.used_first
        found["passing"] = min(passing, default=never)
        for column in ("low_weight", "below_min_weight", "unavailable"):
            found[column] = names.index(column) if column in names else -1
        return found


DOCUMENTED = AnalysisBrokerage(
    edition="documented",
    gate=(gate.too_many_running_jobs, gate.too_many_queued_jobs, gate.too_many_running_cores,
          gate.too_many_queued_cores, gate.over_quota, gate.share_above_target, gate.no_readable_input),
    funnel=Funnel((
        candidates.not_for_analysis, candidates.names_another_queue, candidates.excluded, candidates.not_included,
        candidates.not_accepting, users.without_data, requirements.disks_too_busy, candidates.cores_mismatch,
        candidates.above_max_cores, users.virtual_placement, users.overloaded_vp_documented, candidates.release_missing,
        candidates.platform_unresolved, too_little_memory, too_much_memory, candidates.cannot_read_directly,
        requirements.scratch_too_small, requirements.storage_nearly_full, requirements.closed_storage,
        requirements.maxtime_too_short, requirements.mintime_too_long, requirements.no_day_for_scouts,
        requirements.no_day_for_unknown, requirements.pilots_missing, users.many_bad_jobs_documented,
        users.share_queue_too_long, users.long_queue_of_user_documented)),
    factors=(locality.original,))
"""Source of the order: PanDA brokerage documentation, analysis job brokerage; zero share is not among its checks."""

DEPLOYED = AnalysisBrokerage(
    edition="deployed",
    gate=(gate.too_many_running_jobs, gate.too_many_queued_jobs, gate.too_many_running_cores,
          gate.too_many_queued_cores, gate.share_above_target, gate.over_quota, gate.near_quota,
          gate.no_readable_input),
    funnel=Funnel((
        candidates.not_for_analysis, users.without_data, candidates.not_accepting, candidates.no_share_there,
        requirements.disks_too_busy, storage.too_intense, users.virtual_placement, candidates.cores_mismatch,
        candidates.above_max_cores, candidates.gpu_without_platform, users.had_closed_jobs, candidates.release_missing,
        candidates.platform_unresolved, too_little_memory, too_much_memory, candidates.cannot_read_directly,
        requirements.scratch_too_small_deployed, requirements.without_output, requirements.too_little_output_space,
        requirements.too_little_input_space, requirements.closed_storage, requirements.over_local_quota,
        requirements.maxtime_too_short_deployed, requirements.mintime_too_long_deployed,
        requirements.no_day_for_scouts, requirements.no_day_for_unknown, requirements.pilots_missing,
        candidates.excluded, candidates.not_included, candidates.of_another_cloud, lists.auto_not_needed,
        lists.preassigned_lost, lists.not_the_named_queue, lists.hospital, lists.overloaded, lists.overloaded_virtual,
        users.nothing_runs, users.long_queue_of_user, users.many_bad_jobs, lists.only_problems)),
    factors=(locality.by_class, locality.by_data), behind=(*FINAL_RULES, LOW_WEIGHT), used_first=True)
"""Source of the order: brokerage reference, sections 3.1, 3.3 and 11.5."""

ANALYSIS = by_edition(DOCUMENTED, DEPLOYED)
"""Analysis brokerage by edition."""
