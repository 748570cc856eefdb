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
from simgrid_broker.policy.job_brokerage import decide
from simgrid_broker.policy.job_brokerage.question import Candidate

RULES_PER_EXIT = 8
"""Criteria between two tests whether any of the later ones can still matter."""
FRAME = (decide.begin, decide.close, decide.take_input, decide.choose, decide.note, decide.rank)
ARGUMENTS = ", ".join(Candidate._fields)
TEXT = '''\
"""A decision of job brokerage, written by `simgrid_broker.policy.job_brokerage.compose`; a change here is lost.

{calls}
"""


@compiled
def refusal({arguments}, first, tables, hint, k):
    """Smallest rank at which a criterion that needs no job numbers refuses a candidate, if below `first`."""
{refusals}
    return first


@compiled
def numbers_refusal({arguments}, first, tables, hint, k):
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
    best_class, last_class = 127, -1
    begin(tables, row)
    close(tables, row)
    for i in range(tables.n_open[asked["first"]]):
        k = tables.open[asked["first"], i]
        first, queue, tables.weighed[k] = tables.first[asked["first"], k], tables.queues[k], False
        place = queue["queue"]
        load, link = tables.load[asked["load"], place], tables.link[asked["link"], place]
        store, numbers = tables.store[place], tables.numbers[k]
        take_input(tables, row, queue, numbers)
        first = refusal({arguments}, first, tables, hint, k)
        if first > order["least_numbers"] and not hint:
            count({arguments})
            numbers["weight"] = tables.static_weight[asked["weight"], k] * weight({arguments}, tables, k)
            tables.weighed[k] = True
            first = numbers_refusal({arguments}, first, tables, hint, k)
{choice}
        note(tables, order["never"], k, first)
    if best_class < last_class:
        choose(tables, row, order, best_class)
    return rank(tables, row, order)
'''
REFUSAL = '''\
    if {rank} < first:
        refuses, value, limit = {name}({arguments})
        if refuses:
            first, tables.value[k], tables.limit[k] = {rank}, value, limit'''
CHOICE = '''\
        if first > order["choice_rank"]:
            tables.classes[k] = {name}({arguments})
            best_class = min(best_class, tables.classes[k])
            last_class = max(last_class, tables.classes[k])'''


def composed(criteria: Sequence[Callable], numbers_criteria: Sequence[Callable], factors: Sequence[Callable],
             choice: Callable | None, count: Callable) -> Callable:
    """The decision over these rules about one candidate, a function of (`decide.Tables`, row of a question).

    It is compiled if all rules are, and runs as it stands otherwise. Rank k belongs to the k-th of all criteria.
    """
    asked = (*criteria, *numbers_criteria, *factors, *(() if choice is None else (choice,)))
    names = named(asked)
    n, n_all = len(criteria), len(criteria) + len(numbers_criteria)
    calls = [f"{name}: {rule.__module__}.{rule.__qualname__}" for name, rule in zip(names, asked, strict=True)]
    text = TEXT.format(
        arguments=ARGUMENTS, calls="\n".join(calls),
        refusals="\n".join(_refusals(names[:n], 0)), numbers_refusals="\n".join(_refusals(names[n:n_all], n)),
        factors="\n".join(f"    f{i} = tables.factors[{i}, k] = {name}({ARGUMENTS})"
                          for i, name in enumerate(names[n_all:n_all + len(factors)])),
        product=" * ".join(f"f{i}" for i in range(len(factors))) or "1.0",
        choice="" if choice is None else CHOICE.format(name=names[-1], arguments=ARGUMENTS))
    is_compiled = all(hasattr(rule, "py_func") for rule in (*asked, count))
    frame = FRAME if is_compiled else [getattr(function, "py_func", function) for function in FRAME]
    known = {function.__name__: function for function in frame} | dict(zip(names, asked, strict=True))
    known |= {"count": count, "compiled": compiled if is_compiled else lambda function: function}
    return function_of(text, known)


def named(rules: Sequence[Callable]) -> list[str]:
    """A name for each rule in the text of a decision, which differs from those of the others."""
    return [re.sub(r"\W", "_", f"{rule.__name__}_{k}") for k, rule in enumerate(rules)]


def _refusals(names: Sequence[str], begin: int) -> Iterable[str]:
    """Lines that ask criteria whose ranks begin at index `begin`; only the first part of a chain has early exits."""
    for k, name in enumerate(names, begin):
        if k and not begin and k % RULES_PER_EXIT == 0:
            yield f"    if tables.later[hint, {k}] >= first:\n        return first"
        rank = f"tables.ranks[hint, {k}]"
        yield REFUSAL.format(rank=rank, name=name, arguments=ARGUMENTS)


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
