"""Rules of any brokerage in order, the insertion of the best candidates, the figures of a refusal on demand, and the
decision of a brokerage, written as source text out of its tuples of rules.

Each brokerage has a template of its decision (`decide`), whose places are filled with the lines that ask its rules. The
text goes to the folder of compiled code, where a debugger can step into it. Rules are called by name, so that Numba
compiles a whole decision in one piece.
"""

import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.compiled.kept_code import cache_folder, digest
from simgrid_broker.editions import ByEdition, editions
from simgrid_broker.policy.funnel import Funnel
from simgrid_broker.policy.rule import FINAL_STAGE, Answer, Criterion, CriterionFunction, FactorFunction, labels_of
from simgrid_broker.views import KEPT, Figures

LOW_WEIGHT = Criterion(tag="-low_weight", name="low_weight", unit="weight", panda="sorting by weight",
                       stage=FINAL_STAGE, says="weight {value}, the last queue used has {limit}",
                       source="brokerage reference, 10.3, 10.4 and 11.5 (D71)",
                       meaning="Refuse queues of lower weight than the best, which are used.")
"""Rule that refuses candidates behind the best."""


@dataclass(frozen=True)
class Brokerage:
    """A brokerage: its criteria in order and the factors of its weight. To change one rule, replace one field.

    gate: rules about the attempt, asked before all others; behind: what refuses candidates behind the criteria.
    """

    edition: str
    funnel: Funnel
    factors: tuple[FactorFunction, ...]
    gate: tuple[CriterionFunction, ...] = field(default=(), kw_only=True)
    behind: tuple[Criterion, ...] = field(default=(), kw_only=True)

    @cached_property
    def rules(self) -> tuple[Criterion, ...]:
        """Everything that a candidate can be refused for: the gate, the criteria, and what comes behind them."""
        return (*(rule.rule for rule in self.gate), *self.funnel.rules, *self.behind)

    @cached_property
    def labels(self) -> dict[str, str]:
        """Label of each of `rules`, by its name."""
        return labels_of(self.rules)

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """The tags of `rules`."""
        return tuple(rule.tag for rule in self.rules)


B = TypeVar("B", bound=Brokerage)


def by_edition(documented: B, deployed: B, later: Mapping[str, B] | None = None) -> ByEdition[B]:
    """Brokerages by edition, each with the name of its own release; the arguments are those of `ByEdition`."""
    named = {}
    for edition in editions()[1:]:
        deployed = (later or {}).get(edition.release, deployed)
        named[edition.release] = replace(deployed, edition=edition.name)
    return ByEdition(documented, deployed, named)


@compiled
def insert(k, keys, best, n_best, most):
    """Insert candidate k into the best ones, which are sorted by falling key; returns how many these are.

    At most `most` are left; candidates of one key stay in the order in which they came.
    """
    place = n_best
    while place > 0 and keys[best[place - 1]] < keys[k]:
        place -= 1
    if place >= most:
        return n_best
    n_best = min(n_best + 1, most)
    for later in range(n_best - 1, place, -1):
        best[later] = best[later - 1]
    best[place] = k
    return n_best


# ---- figures of a refusal --------------------------------------------------------------------------------------------

class Decided(NamedTuple):
    """A decision, as its rules are asked about it once more.

    refused_by, value, limit: (n,) of the decision; task: its record; case: of rules about all candidates, None = there
    are none; candidate: function from the number of a candidate to the arguments of the rules about one.
    """

    refused_by: np.ndarray
    value: np.ndarray
    limit: np.ndarray
    task: np.void
    case: Any
    candidate: Callable[[int], Sequence[Any]]


def figures_of(brokerage: Brokerage, decided: Decided, numbers: Iterable[str] = ()) -> Figures:
    """Value, limit and words of each refusal by the gate or a criterion; factors and the numbers named are all NaN.

    Rules that answer with a mask have no figures.
    """
    n, rules = len(decided.refused_by), (*brokerage.gate, *brokerage.funnel.criteria)
    refused = decided.refused_by[(decided.refused_by != KEPT) & (decided.refused_by < len(rules))]
    stopped = bool((refused < len(brokerage.gate)).any())
    texts: dict[int, str] = {}
    figures = Figures(np.full(n, np.nan), np.full(n, np.nan),
                    {rule.rule.name: np.full(n, np.nan) for rule in brokerage.factors},
                    {name: np.full(n, np.nan) for name in numbers}, texts,
                    frozenset(place for place, rule in enumerate(rules) if not concerns(rule, decided, stopped)))
    for place in np.unique(refused).tolist():
        texts |= explain(rules[place], decided, np.flatnonzero(decided.refused_by == place), figures)
    return figures


def concerns(rule: CriterionFunction, decided: Decided, stopped: bool) -> bool:
    """True if a rule concerned the task; stopped: the gate ended the attempt, and no other compiled rule was asked."""
    if not rule.rule.by_records:
        return rule.rule.concerns(decided.case)
    return (rule.rule.of_attempt or not stopped) and rule.rule.concerns(decided.task)


def explain(rule: CriterionFunction, decided: Decided, rows: np.ndarray, figures: Figures) -> dict[int, str]:
    """Fill in the figures of one rule about the candidates `rows` that it refused; returns its words for them."""
    if rule.rule.by_records:
        figures.value[rows], figures.limit[rows] = decided.value[rows], decided.limit[rows]
    elif isinstance(answer := rule(decided.case), Answer):
        figures.value[rows] = np.broadcast_to(answer.value, len(figures.value))[rows]
        figures.limit[rows] = np.broadcast_to(answer.limit, len(figures.limit))[rows]
    text, per_candidate = rule.rule.text, rule.rule.per_candidate
    return {} if text is None else {k: text(*(decided.candidate(k) if per_candidate else (decided.case, k)))
                                    for k in rows.tolist()}


HEAD = '''\
"""A decision of a brokerage, written by `simgrid_broker.policy.brokerage.brokerage`; a change here is lost.

{calls}
"""


'''
RULES_PER_EXIT = 6
"""Criteria between two tests whether any of the later ones can still matter."""
REFUSAL = '''\
    if tables.concern[0, {number}] < first:
        refuses, value, limit = {name}({arguments})
        if refuses:
            tables.value[k], tables.limit[k] = value, limit
            return tables.concern[0, {number}]'''
"""Lines that ask a criterion about one candidate in a function that returns the rank of the first refusal.

The ranks of the criteria ascend, so the first one that refuses a candidate is the one that counts.
"""
EXIT = '''\
    if tables.concern[1, {number}] >= first:
        return first
'''


class Part(NamedTuple):
    """The rules that a template asks in one place, and the text of each.

    text: with {number}, that of the rule, {name}, {arguments}, those of rules about a candidate, and {holds}, whether
    the rule concerns the task and may refuse; between: what stands between two rules; none: the text without any rule;
    first: number of the first one; exits: `EXIT` stands before every sixth rule.
    """

    rules: Sequence[Callable]
    text: str
    between: str = "\n"
    none: str = ""
    first: int = 0
    exits: bool = False


Place = str | Part | Sequence[str | Part]
"""Content of one place of a template: text, rules, or some of both."""


def composed(template: str, arguments: Sequence[str], frame: Sequence[Callable], **places: Place) -> Callable:
    """The function `decision` of a template; arguments: of rules about a candidate; frame: functions that it names.

    It is compiled if all rules are, and runs as it stands otherwise.
    """
    parts = [part for place in places.values() for part in _sequence(place) if isinstance(part, Part)]
    rules = tuple(dict.fromkeys(rule for part in parts for rule in part.rules))
    names = {rule: re.sub(r"\W", "_", f"{rule.__name__}_{k}") for k, rule in enumerate(rules)}
    is_compiled = all(hasattr(rule, "py_func") for rule in rules)
    terms = {rule: _terms(rule, names[rule], is_compiled) for part in parts if "{holds}" in part.text
             for rule in part.rules}
    calls = [f"{name}: {rule.__module__}.{rule.__qualname__}" for rule, name in names.items()]
    text = HEAD.format(calls="\n".join(calls)) + template.format(arguments=", ".join(arguments), **{
        place: "".join(part if isinstance(part, str) else _text(part, names, terms, ", ".join(arguments))
                       for part in _sequence(content)) for place, content in places.items()})
    functions = {function.__name__: function if is_compiled else getattr(function, "py_func", function)
             for function in frame}
    functions |= {name: rule for rule, name in names.items()} | {name: term for each in terms.values()
                                                             for name, term in each.items()}
    return function_of(text, functions | {"compiled": compiled if is_compiled else lambda function: function})


def _sequence(place: Place) -> Sequence[str | Part]:
    return (place,) if isinstance(place, str | Part) else place


def _text(part: Part, names: Mapping[Callable, str], terms: Mapping[Callable, dict], arguments: str) -> str:
    """The text of the rules of a part."""
    lines = (part.text.format(number=number, name=names[rule], arguments=arguments,
                              holds=" and ".join(f"{term}(task)" for term in terms.get(rule, ())) or "True")
             for number, rule in enumerate(part.rules, part.first))
    if part.exits:
        lines = (EXIT.format(number=k) + line if k % RULES_PER_EXIT == 0 else line for k, line in enumerate(lines))
    return part.between.join(lines) or part.none


def _terms(rule: Callable, name: str, is_compiled: bool) -> dict[str, Callable]:
    """The functions of a task's record by which a criterion is asked or not, by their names in the text."""
    about = getattr(rule, "rule", None)
    terms = {"applies": getattr(about, "applies", None), "may_refuse": getattr(about, "may_refuse", None)}
    return {f"{name}_{what}": term if hasattr(term, "py_func") or not is_compiled else compiled(term)
            for what, term in terms.items() if term is not None}


def function_of(text: str, functions: Mapping[str, object]) -> Callable:
    """Write the text and run it with the functions that it names; returns its decision."""
    name = f"decision_{digest(text)}"
    path = cache_folder() / f"{name}.py"
    if not path.exists():
        handle, draft = tempfile.mkstemp(dir=path.parent)
        with open(handle, "w") as file:
            file.write(text)
        os.replace(draft, path)
    module = ModuleType(f"{__package__}.{name}")
    vars(module).update(functions)
    sys.modules[module.__name__] = module                      # where Numba looks for what compiled code names
    exec(compile(text, str(path), "exec"), vars(module))
    return module.decision
