"""The brokers with what they see of the grid, which a run and a dry run ask in the same way; and their rules as a
run names them: tags, criteria and factors, and the order in which they refuse."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import is_, itemgetter

import numpy as np

from simgrid_broker import luck
from simgrid_broker.names import ANALYSIS_LABELS, DecisionKind
from simgrid_broker.policy.brokerage.analysis.editions import AnalysisBrokerage
from simgrid_broker.policy.brokerage.analysis.gate import slots_of_class_a
from simgrid_broker.policy.brokerage.production.broker import Hints
from simgrid_broker.policy.brokerage.production.decide import RANKING
from simgrid_broker.policy.brokerage.production.editions import JobBrokerage
from simgrid_broker.policy.brokerage.task.editions import PREASSIGNED, TaskBrokerage
from simgrid_broker.policy.funnel import MaskCache
from simgrid_broker.policy.jobs.resource_types import OF_ONE_TYPE
from simgrid_broker.policy.readings import read_by
from simgrid_broker.policy.rule import Criterion
from simgrid_broker.policy.tasks.ends import REASONS as END_REASONS
from simgrid_broker.policy.tasks.scouts import REASONS as SCOUT_REASONS
from simgrid_broker.policy.users.tasks import BUILD_FAILURES
from simgrid_broker.turns.policies import Policies
from simgrid_broker.views import KEPT, InputAt, JobInput, Nuclei, Queues, Stats, Task, Verdict
from simgrid_broker.world.jobs import loads
from simgrid_broker.world.jobs.counts import Snapshot
from simgrid_broker.world.users.metrics import note_use
from simgrid_broker.world.views import observe
from simgrid_broker.world.views.nuclei import Burden, nuclei, nucleus_number
from simgrid_broker.world.world import World


class Brokers:
    """Job and task brokerage; snapshot: statistics, replaced at each refresh; queues: candidates as in CRIC."""

    def __init__(self, world: World, policies: Policies, snapshot: Snapshot):
        self.world, self.policies, self.snapshot = world, policies, snapshot
        self.queues: Queues = observe.queues(world)
        self.cache = MaskCache()
        self.hints: Hints
        self.lasting: tuple = (None,) * 3                   # what the hints depend on: descriptions
        self.passing: tuple = None, None                     # statistics, and the version of the network's
        sites = world.arrays.sites
        self.asked_about = (sites["nucleus"] > 0) | (sites["bare_nucleus"] > 0)

    def refresh_queues(self) -> None:
        """Read the description of the queues again after a change; cached masks are dropped."""
        self.world.note_new_descriptions()
        self.queues = observe.queues(self.world)

    def question(self, task: Task, parts: JobInput | None, wanted: int, account: int | None = None) -> tuple:
        """Arguments of the job brokerage for `wanted` jobs of a task, without the cache.

        parts: input, as `observe.job_input` gives it; account: where the jobs count, default the task's share.
        """
        account = task.share if account is None else account
        stats = observe.stats(self.world, self.snapshot, account, task.nucleus, self._type_asked(task))
        types_at = self.snapshot.types_at.get(task.jeditaskid)
        if types_at and OF_ONE_TYPE[self.policies.edition]:
            load = loads.of_types_at(self.world, self.snapshot, account, stats.load, types_at)
            stats = stats._replace(load=load)
        return (task, self.queues, stats, observe.locality(task, parts, wanted), self.policies.cfg,
                self.policies.edition)

    def queues_for(self, task: Task, parts: JobInput | None, wanted: int, account: int | None = None,
                   cache: bool = True) -> Verdict:
        """Verdict of the job brokerage; arguments as for `question`; cache: reuse masks of earlier decisions."""
        asked = self.question(task, parts, wanted, account)
        return self.policies.job_brokerage(*asked, self.cache) if cache else self.policies.job_brokerage(*asked)

    def is_asked_about_users(self, task: Task) -> bool:
        """True if analysis brokerage decides about the jobs of a task."""
        return task.prodsourcelabel in ANALYSIS_LABELS and self.policies.asks_about_users

    def broker(self, row: int, task: Task, parts: JobInput | None, wanted: int,
               account: int, cache: bool = True) -> tuple[DecisionKind, Verdict]:
        """Which broker the jobs of the task in a row go by, and its verdict; arguments as for `queues_for`."""
        if self.is_asked_about_users(task):
            given = observe.output_at_queues(self.world, parts, task) if parts is not None and task.is_merging else None
            kept = cache or task.is_merging                        # masks of merge jobs do not follow their size
            return DecisionKind.ANALYSIS_BROKERAGE, self.analysis_queues_for(row, task, wanted, account, kept, given)
        return DecisionKind.JOB_BROKERAGE, self.queues_for(task, parts, wanted, account, cache)

    def note_use(self, task: Task, queues: Iterable[int]) -> None:
        """Note the PanDA queues that got jobs of an analysis task."""
        if self.is_asked_about_users(task):
            used = self.world.analysis.used
            used.lengthen(len(self.world.arrays.tasks))
            for queue in queues:
                note_use(used.table, used.of, self.world.row_of[task.jeditaskid], task.jeditaskid, queue)

    def analysis_queues_for(self, row: int, task: Task, wanted: float, account: int | None = None,
                            cache: bool = True, given: InputAt | None = None) -> Verdict:
        """Verdict of the analysis brokerage for `wanted` jobs of the task in a row; account: as for `question`.

        given: where their input lies, default the input of the task.
        """
        account = task.share if account is None else account
        policies = self.policies
        seen = observe.analysis_view(self.world, self.snapshot, row, account, wanted, slots_of_class_a(policies.cfg),
                                     given)
        return policies.analysis_brokerage(task, self.queues, seen, policies.cfg, policies.edition,
                                           self.cache if cache else None)

    def nucleus_for(self, row: int, burden: Burden) -> tuple[Task, Nuclei, Verdict]:
        """Verdict of the task brokerage on the task in a row, with the views that it was given."""
        task = observe.task(self.world, row)
        seen = nuclei(self.world, row, burden, partial(self._able, row, task), WhyNot(self, row, task))
        uniform, given = nucleus_number(self.world, row), self.world.facts_of(row).uniform
        if given is not None:
            seen.records["draw"], uniform = np.nan, given
        policies = self.policies
        return task, seen, policies.task_brokerage(task, seen, policies.cfg, policies.edition, uniform)

    def uniforms(self, stream: int, task: Task, begins: int, verdict: Verdict, n_jobs: int = 1,
                 block: int = 1) -> np.ndarray:
        """Numbers that draw queues for blocks of jobs, (n_blocks, n_used); begins: key of the first attempt."""
        keys = luck.keys_of(self.queues.names)[verdict.order]
        return luck.draws_of_blocks(self.world.scenario.seed, stream, task.luck, begins, block, n_jobs, keys)

    def _type_asked(self, task: Task) -> int | None:
        """Resource type whose jobs are counted: that of the task alone, by edition; None = all."""
        return task.resource_type if OF_ONE_TYPE[self.policies.edition] else None

    def _able(self, row: int, task: Task, site: np.ndarray, is_whole: bool, asked: np.ndarray) -> np.ndarray:
        """Which of the nuclei asked, (n,) bool, have a queue for the jobs of the task in a row (T6).

        is_whole: its input is complete at a site that sends files, so that it can be read whatever else there is.
        """
        hints = self.ask(row, task, site[asked], is_whole)
        sites = np.zeros(len(self.world.arrays.sites), bool)
        sites[site] = asked
        return hints.groups_possible(sites)[site]

    def ask(self, row: int, task: Task, sites: np.ndarray, is_whole: bool = False) -> Hints:
        """Hints about the queues of these sites, asked about the task in a row; is_whole: as for `_able`."""
        hints = self.hints_about(sites)
        load = loads.load_row(self.world, self.snapshot, task.share, self._type_asked(task))
        hints.ask(task, () if is_whole else observe.datasets(self.world, row), load)
        return hints

    def hints_about(self, sites: np.ndarray) -> Hints:
        """Hints about the queues of these sites and all nuclei, made again when what they depend on has changed."""
        world, policies = self.world, self.policies
        lasting, version = (self.queues, policies.cfg, policies.job_rules), world.network.version
        is_known = all(map(is_, lasting, self.lasting)) and self.asked_about[sites].all()
        if is_known and self.passing[0] is self.snapshot and self.passing[1] == version:
            return self.hints
        observe.stores_known(world, self.snapshot)
        assert self.snapshot.store is not None
        link = observe.links_of_hint(world, world.network.ways[observe.way_row(world, -1)])
        stats = Stats(self.snapshot.taken_at, self.snapshot.load, self.snapshot.store, link)
        if is_known:
            self.hints.renew(stats)
        else:
            self.asked_about[sites] = True
            of_queues = np.where(self.asked_about[self.queues.site], self.queues.site, -1)
            self.hints = Hints(policies.job_rules, self.queues, stats, policies.cfg, of_queues, self.cache)
        self.lasting, self.passing = lasting, (self.snapshot, version)
        return self.hints


@dataclass
class WhyNot:
    """Tells which rules refuse how many of the pseudo-queues of a site to the jobs of the task in a row.

    Hints are asked about the task once, with its first site; ranks: of the first refusals that they then said.
    """

    brokers: Brokers
    row: int
    task: Task
    hints: Hints | None = None
    ranks: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int16))

    def __call__(self, site: int) -> str:
        """Sentence about a site."""
        hints = self.brokers.hints_about(np.array([site]))
        if hints is not self.hints:
            self.hints = self.brokers.ask(self.row, self.task, np.array([site]))
            self.ranks = self.hints.tables.refused_by.copy()
        ranks = self.ranks[hints.groups == site].tolist()
        if not ranks:
            return "it has no queue"
        names = self.brokers.policies.job_rules.funnel.labels_by_rank
        told = ", ".join(f"{number} {names[rank]}" for rank, number in sorted(Counter(ranks).items()))
        return f"none of its {len(ranks)} pseudo-queues can run the jobs: {told}"


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


def rules_of(policies: Policies, kind: str, verdict: Verdict) -> tuple[Sequence[Criterion | None], Sequence[int]]:
    """Rule behind each tag of a verdict, and the tags in the order of removal.

    None where a policy of another package has tags of its own, whose order is that of removal.
    """
    steps, ordered = steps_of(policies)[DecisionKind.of(kind)], in_order(policies)[DecisionKind.of(kind)]
    if verdict.tags == tuple(step.tag for step in steps):
        places = {(step.tag, step.name): place for place, step in enumerate(steps)}     # equal rules may be copies
        return steps, [places[step.tag, step.name] for step in ordered]
    return (None,) * len(verdict.tags), range(len(verdict.tags))


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
