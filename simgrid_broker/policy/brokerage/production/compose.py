"""The decision of a job brokerage, written as source text out of its tuples of rules.

The text goes to the folder of compiled code, where a debugger can step into it. Rules are called by name, so that Numba
compiles a whole decision in one piece.
"""

import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType

from simgrid_broker.compiled import compiled
from simgrid_broker.compiled.fingerprint import digest
from simgrid_broker.compiled.kept_code import cache_folder
from simgrid_broker.policy.brokerage.production import decide
from simgrid_broker.policy.brokerage.production.question import Candidate

RULES_PER_EXIT = 6
"""Criteria between two tests whether any of the later ones can still matter."""
FRAME = (decide.begin, decide.close, decide.take_input, decide.choose, decide.note, decide.rank)
ARGUMENTS = ", ".join(Candidate._fields)
TEXT = '''\
"""A decision of job brokerage, written by `simgrid_broker.policy.brokerage.production.compose`; a change here is lost.

{calls}
"""


@compiled
def concern(tables, task, hint):
    """Enter the ranks of the criteria that concern a task and may refuse; returns the smallest, and of the choice."""
    never, ranks = tables.orders[hint]["never"], tables.concern
{concerns}
    ranks[1, {n_all}] = never
    for k in range({n_all} - 1, -1, -1):
        ranks[1, k] = min(ranks[0, k], ranks[1, k + 1])
    choice_rank = {choice_rank}
    return min(ranks[1, 0], choice_rank, tables.orders[hint]["least_numbers"]), choice_rank


@compiled
def refusal({arguments}, first, tables, k):
    """Smallest rank at which a criterion that needs no job numbers refuses a candidate, if below `first`."""
{refusals}
    return first


@compiled
def numbers_refusal({arguments}, first, tables, k):
    """Smallest rank at which a criterion that needs job numbers or the weight refuses a candidate, if below `first`."""
{numbers_refusals}
    return first


@compiled
def weight({arguments}, tables, k):
    """Product of the factors of a candidate, which are noted."""
{factors}
    return {product}


@compiled
def decision(tables, row):
    """Refuse, weigh and rank the candidates of a question; returns the number of candidates in `tables.best`."""
    asked, task = tables.asked[row], tables.task[row]
    hint = 1 if asked["hint"] else 0
    order = tables.orders[hint]
    best_class, last_class, n_kept = 127, -1, 0
    begin(tables, row)
    cut, choice_rank = concern(tables, task, hint)
    n_open, numbers = close(tables, row, hint, cut), tables.numbers[len(tables.queues)]
    for i in range(n_open):
        k = tables.open[asked["first"], i]
        first, queue, tables.weighed[k] = tables.first[asked["first"], k], tables.queues[k], False
        place = queue["queue"]
        load, link = tables.load[asked["load"], place], tables.link[asked["link"], place]
        store = tables.store[place]
        take_input(tables, row, queue, numbers)
        first = refusal({arguments}, first, tables, k)
        if first > order["least_numbers"] and not hint:
            count({arguments})
            numbers["weight"] = tables.static_weight[asked["weight"], k] * weight({arguments}, tables, k)
            tables.numbers[k], tables.weighed[k] = numbers, True
            first = numbers_refusal({arguments}, first, tables, k)
{choice}
        n_kept = note(tables, order, hint, k, first, numbers, n_kept)
    if best_class < last_class:
        n_kept = choose(tables, row, order, best_class, n_kept)
    return rank(tables, row, order, n_kept)
'''
REFUSAL = '''\
    if tables.concern[0, {number}] < first:
        refuses, value, limit = {name}({arguments})
        if refuses:
            tables.value[k], tables.limit[k] = value, limit
            return tables.concern[0, {number}]'''
EXIT = '''\
    if tables.concern[1, {number}] >= first:
        return first'''
CHOICE = '''\
        tables.classes[k] = -1
        if first > choice_rank:
            tables.classes[k] = {name}({arguments})
            best_class = min(best_class, tables.classes[k])
            last_class = max(last_class, tables.classes[k])'''


def composed(criteria: Sequence[Callable], numbers_criteria: Sequence[Callable], factors: Sequence[Callable],
             choice: Callable | None, count: Callable) -> Callable:
    """The decision over these rules about one candidate, a function of (`decide.Tables`, row of a question).

    It is compiled if all rules are, and runs as it stands otherwise. Rank k belongs to the k-th of all criteria. Either
    part of them comes by rank, so the first that refuses a candidate is the one that counts.
    """
    asked = (*criteria, *numbers_criteria, *factors, *(() if choice is None else (choice,)))
    names = named(asked)
    n, n_all = len(criteria), len(criteria) + len(numbers_criteria)
    calls = [f"{name}: {rule.__module__}.{rule.__qualname__}" for name, rule in zip(names, asked, strict=True)]
    is_compiled = all(hasattr(rule, "py_func") for rule in (*asked, count))
    terms = [_terms(rule, name, is_compiled) for rule, name in zip(asked, names, strict=True)]
    text = TEXT.format(
        arguments=ARGUMENTS, calls="\n".join(calls),
        refusals="\n".join(_refusals(names[:n], 0)), numbers_refusals="\n".join(_refusals(names[n:n_all], n)),
        factors="\n".join(f"    f{i} = tables.factors[{i}, k] = {name}({ARGUMENTS})"
                          for i, name in enumerate(names[n_all:n_all + len(factors)])),
        product=" * ".join(f"f{i}" for i in range(len(factors))) or "1.0",
        concerns="\n".join(f"    ranks[0, {k}] = {_rank_if(known, f'tables.ranks[hint, {k}]')}"
                           for k, known in enumerate(terms[:n_all])), n_all=n_all,
        choice_rank="never" if choice is None else _rank_if(terms[-1], 'tables.orders[hint]["choice_rank"]'),
        choice="" if choice is None else CHOICE.format(name=names[-1], arguments=ARGUMENTS))
    frame = FRAME if is_compiled else [getattr(function, "py_func", function) for function in FRAME]
    known = {function.__name__: function for function in frame} | dict(zip(names, asked, strict=True))
    known |= {name: term for each in terms for name, term in each.items()}
    known |= {"count": count, "compiled": compiled if is_compiled else lambda function: function}
    return function_of(text, known)


def named(rules: Sequence[Callable]) -> list[str]:
    """A name for each rule in the text of a decision, which differs from those of the others."""
    return [re.sub(r"\W", "_", f"{rule.__name__}_{k}") for k, rule in enumerate(rules)]


def _refusals(names: Sequence[str], begin: int) -> Iterable[str]:
    """Lines that ask criteria whose ranks begin at index `begin`; only the first part of a chain has early exits."""
    for k, name in enumerate(names, begin):
        if not begin and k % RULES_PER_EXIT == 0:
            yield EXIT.format(number=k)
        yield REFUSAL.format(number=k, name=name, arguments=ARGUMENTS)


def _terms(rule: Callable, name: str, is_compiled: bool) -> dict[str, Callable]:
    """The functions of a task's record that say whether a criterion is asked, by their names in the text."""
    about = getattr(rule, "rule", None)
    asked = {"applies": getattr(about, "applies", None), "may_refuse": getattr(about, "may_refuse", None)}
    return {f"{name}_{what}": one if hasattr(one, "py_func") or not is_compiled else compiled(one)
            for what, one in asked.items() if one is not None}


def _rank_if(terms: Iterable[str], rank: str) -> str:
    """The rank of a criterion while all of its terms hold."""
    held = " and ".join(f"{name}(task)" for name in terms)
    return f"{rank} if {held} else never" if held else rank


def function_of(text: str, known: dict[str, object]) -> Callable:
    """Write the text and run it with the functions that it names; returns its decision."""
    name = f"decision_{digest(text)}"
    path = cache_folder() / f"{name}.py"
    if not path.exists():
        handle, draft = tempfile.mkstemp(dir=path.parent)
        with open(handle, "w") as file:
            file.write(text)
        os.replace(draft, path)
    module = ModuleType(f"{__package__}.{name}")
    vars(module).update(known)
    sys.modules[module.__name__] = module                      # where Numba looks for what compiled code names
    exec(compile(text, str(path), "exec"), vars(module))
    return module.decision
