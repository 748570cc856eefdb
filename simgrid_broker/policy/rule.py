"""Rules: functions with a PanDA tag, a source and editions.

A rule is a plain function, so it can be tested, pickled and found by its name; its description is its attribute `rule`.
A rule about all candidates (`criterion`, `factor`) is a function of a case that answers for all of them at once, in
NumPy. A rule about one candidate (`candidate_criterion`, `candidate_factor`) is a compiled function of the records of
a `Candidate` (`question` of each brokerage), which may change from minute to minute.
A rule about the attempt (`attempt_criterion`) is a compiled function of the records of a task and its user.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, wraps
from operator import ge, gt, le, lt
from typing import Any, NamedTuple, Protocol

import numpy as np

from simgrid_broker.compiled import compiled, uncompiled
from simgrid_broker.editions import ByEdition
from simgrid_broker.names import EDITIONS
from simgrid_broker.wording import first_sentence, labels

TEMPORARY_STAGE, FINAL_STAGE = "temporary problem check", "final check"
"""PanDA's names of the checks that remove candidates with temporary problems, and those behind them."""
JOB_BROKERAGE = "PanDA brokerage documentation, production job brokerage"
"""Source of most rules of job brokerage."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Description of a rule.

    panda: PanDA's name for the step; source: document and section; meaning: what it does, in one sentence: that of its
    function's docstring; static: names of the `views.Task` fields on which the answer depends besides the description
    of the candidates, or None if it depends on anything else; per_candidate: it is a function of one candidate;
    of_list: of the tables of a decision, about all candidates that are left; of_attempt: of the records of a task and
    its user, about the attempt to make jobs. The keys of gdpconfig that a rule reads follow from its code
    (`advice.readers`): a rule about one candidate or the attempt reads them as columns of its task.
    """

    panda: str
    source: str
    meaning: str = ""
    editions: tuple[str, ...] = EDITIONS
    static: tuple[str, ...] | None = None
    per_candidate: bool = False
    of_list: bool = False
    of_attempt: bool = False

    @property
    def by_records(self) -> bool:
        """True if it is a compiled function of records or tables."""
        return self.per_candidate or self.of_list or self.of_attempt


@dataclass(frozen=True, kw_only=True)
class Criterion(Rule):
    """Description of a rule that refuses candidates.

    tag: what PanDA logs for a refused candidate, which several criteria may share; name: the criterion's own, that of
    its function; stage: PanDA's name of the check that refuses a candidate; unit: of the figures that it compares;
    says: the sentence of a refusal, with `{value}`, `{limit}` and `{text}` (`wording.worded`); text: function of the
    arguments of the rule and, if that is about all candidates, the number of one, that names what is no figure;
    applies: function of a task's record, or of a case, that says whether the rule concerns the task, None = always; a
    rule that does not concern a task refuses none of its candidates, and a compiled decision does not ask it.
    may_refuse: compiled function of the record, whether a rule that concerns the task can refuse any candidate now,
    None = always; it is not asked otherwise.
    temporary: PanDA remembers the refusal and removes the candidate only before the final rules. For rules about one
    candidate: needs_numbers: it reads the candidate's job numbers or weight; cap: the hint to the task brokerage leaves
    it out (as it does every rule that needs numbers); is_choice: it returns a class, 0 being the best, and all
    candidates but those of the best class are refused. Of task brokerage: together: one refusal removes all candidates
    that are left.
    """

    tag: str
    name: str = ""
    stage: str = ""
    unit: str | ByEdition[str] = ""
    says: str | ByEdition[str] = ""
    text: Callable[..., str] | None = None
    applies: Callable[[Any], bool] | None = None
    may_refuse: Callable[[Any], bool] | None = None
    temporary: bool = False
    final: bool = False
    together: bool = False
    needs_numbers: bool = False
    cap: bool = False
    is_choice: bool = False

    @property
    def removed_in(self) -> str:
        """PanDA's name of the check in which a refused candidate leaves the list."""
        return TEMPORARY_STAGE if self.temporary else self.stage

    def concerns(self, asked: Any) -> bool:
        """True if the rule concerns a task, given by its record, or by its case."""
        return self.applies is None or bool(_plain(self.applies)(asked))

    def unit_in(self, edition: str) -> str:
        """Unit of the figures in an edition."""
        return self.unit if isinstance(self.unit, str) else self.unit[edition]

    def says_in(self, edition: str) -> str:
        """Sentence of a refusal in an edition."""
        return self.says if isinstance(self.says, str) else self.says[edition]


@dataclass(frozen=True, kw_only=True)
class Factor(Rule):
    """Description of a rule that gives each candidate a multiplier of its weight, by its name.

    before: tag of the criterion that follows it, where candidates that are refused earlier do not have it.
    """

    name: str
    before: str = ""


class RuleFunction(Protocol):
    """A function with its description; it is asked with a case, or with the records of a `Candidate`."""

    __name__: str
    __qualname__: str
    rule: Rule

    def __call__(self, *asked: Any) -> Any:
        """The answer."""

    def __hash__(self) -> int:
        """As that of any function, which is known by what it is."""


class CriterionFunction(RuleFunction, Protocol):
    """A rule that refuses candidates."""

    rule: Criterion


class FactorFunction(RuleFunction, Protocol):
    """A rule that gives a multiplier of the weight."""

    rule: Factor


OfCase = Callable[[Any], "Answer | np.ndarray | float"]
OfCandidate = Callable[..., Any]
OfTables = Callable[[Any, Any], None]


def criterion(tag: str, **description: Any) -> Callable[[OfCase], CriterionFunction]:
    """Mark a function of a case as a criterion: it returns the mask of refused candidates, (n,) bool, or an `Answer`.

    description: fields of `Criterion`; where `applies` does not hold, the function is not called.
    """
    return _marking(Criterion(tag=tag, **description))


def candidate_criterion(tag: str, *, plain: bool = False,
                        **description: Any) -> Callable[[OfCandidate], CriterionFunction]:
    """Make a function of one candidate a compiled criterion: it returns (refused, value, limit), or a class.

    description: fields of `Criterion`; plain: leave it uncompiled, which makes every decision with it uncompiled, too.
    """
    return _marking(Criterion(tag=tag, per_candidate=True, **description), plain)


def attempt_criterion(tag: str, *, plain: bool = False, **description: Any) -> Callable[[OfCandidate],
                                                                                      CriterionFunction]:
    """Make a function of the records of a task and its user a compiled criterion: it refuses all candidates or none.

    It returns (refused, value, limit); arguments as for `candidate_criterion`.
    """
    return _marking(Criterion(tag=tag, of_attempt=True, **description), plain)


def factor(name: str, **description: Any) -> Callable[[OfCase], FactorFunction]:
    """Mark a function of a case as a factor: it returns (n,) multipliers, or one number for all.

    description: fields of `Factor`.
    """
    return _marking(Factor(name=name, **description))


def candidate_factor(name: str, *, plain: bool = False, **description: Any) -> Callable[[OfCandidate], FactorFunction]:
    """Make a function of one candidate a compiled factor, which returns a number; arguments as above."""
    return _marking(Factor(name=name, per_candidate=True, **description), plain)


def list_criterion(tag: str, **description: Any) -> Callable[[OfTables], CriterionFunction]:
    """Make a function of (tables of a decision, own rank) a compiled criterion, which enters what it refuses there."""
    return _marking(Criterion(tag=tag, of_list=True, **description))


def list_factor(name: str, **description: Any) -> Callable[[OfTables], FactorFunction]:
    """Make a function of (tables of a decision, number of the factor) a compiled factor, which is entered there."""
    return _marking(Factor(name=name, of_list=True, **description))


def _marking(rule: Rule, plain: bool = False) -> Callable[[Any], Any]:
    def mark(function: Any) -> Any:
        about: dict[str, Any] = {"meaning": first_sentence(function.__doc__)}
        about |= {"name": function.__name__} if isinstance(rule, Criterion) else {}
        if rule.by_records:
            function = function if plain else compiled(function)
        elif isinstance(rule, Criterion) and rule.applies is not None:
            function = _of_tasks_concerned(function, rule)
        function.rule = replace(rule, **about)
        return function
    return mark


def _of_tasks_concerned(function: OfCase, rule: Criterion) -> OfCase:
    """A function of a case that refuses no candidate of tasks which the rule does not concern."""
    @wraps(function)
    def answer(case: Any) -> Any:
        return function(case) if rule.concerns(case) else np.zeros(case.n_candidates, bool)
    vars(answer)["py_func"] = function
    return answer


@cache
def _plain(function: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """A function that is asked too rarely to be compiled."""
    return uncompiled(function)


def labels_of(rules: Sequence[Criterion]) -> dict[str, str]:
    """Label of each rule of a brokerage, by its name."""
    names = [rule.name for rule in rules]
    return dict(zip(names, labels(names, [rule.tag for rule in rules]), strict=True))


class Answer(NamedTuple):
    """A criterion's answer with its figures: refused (n,) bool, the value of each candidate and the limit it met."""

    refused: np.ndarray
    value: np.ndarray | float
    limit: np.ndarray | float


def _refusing(compares: Callable[[Any, Any], Any]) -> Callable[..., Answer]:
    def answer(value: Any, limit: Any, where: Any = True) -> Answer:
        return Answer(compares(value, limit) & where, value, limit)
    return answer


above, below, at_least, at_most = map(_refusing, (gt, lt, ge, le))
"""Refuse candidates whose value is above, below, at least or at most the limit, where the comparison concerns them."""


def refused_of(answer: Answer | np.ndarray) -> np.ndarray:
    """The candidates that an answer refuses, (n,) bool, whether or not it comes with figures."""
    return answer.refused if isinstance(answer, Answer) else answer
