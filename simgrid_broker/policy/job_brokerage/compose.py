"""The decision of a job brokerage, written as source text out of its tuples of rules.

The text goes to the folder of compiled code, because Numba keeps the compiled code of files only; a debugger can step
into it. Rules are called by name, so that Numba compiles a whole decision in one piece.
"""

import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import ModuleType

from simgrid_broker.compiled import PACKAGE, cache_folder, compiled
from simgrid_broker.policy.job_brokerage import decide
from simgrid_broker.policy.job_brokerage.question import Candidate

RULES_PER_EXIT = 8
"""Criteria between two tests whether any of the later ones can still matter."""
FRAME = (decide.begin, decide.take_input, decide.choose, decide.note, decide.rank)
ARGUMENTS = ", ".join(Candidate._fields)
TEXT = '''\
"""A decision of job brokerage, written by `simgrid_broker.policy.job_brokerage.compose`; a change here is lost.

{calls}
"""


@compiled
def refusal({arguments}, first, tables, hint):
    """Smallest rank at which a criterion that needs no job numbers refuses a candidate, if below `first`."""
{refusals}
    return first


@compiled
def numbers_refusal({arguments}, first, tables, hint):
    """Smallest rank at which a criterion that needs job numbers or the weight refuses a candidate, if below `first`."""
{numbers_refusals}
    return first


@compiled
def weight({arguments}):
    """Product of the factors of a candidate."""
    return {factors}


@compiled
def decision(tables, row):
    """Refuse, weigh and rank the candidates of a question; returns the number of candidates in `tables.best`."""
    asked, task, numbers = tables.asked[row], tables.task[row], tables.numbers[0]
    hint = 1 if asked["hint"] else 0
    order = tables.orders[hint]
    best_class, last_class = 127, -1
    begin(tables, row)
    for k in range(len(tables.queues)):
        first, queue = tables.first[asked["first"], k], tables.queues[k]
        if first > order["least"]:
            place = queue["queue"]
            load, link = tables.load[asked["load"], place], tables.link[asked["link"], place]
            store = tables.store[place]
            take_input(tables, row, queue, numbers)
            first = refusal({arguments}, first, tables, hint)
            if first > order["least_numbers"] and not hint:
                count({arguments})
                numbers["weight"] = tables.static_weight[asked["weight"], k] * weight({arguments})
                first = numbers_refusal({arguments}, first, tables, hint)
{choice}
        note(tables, order["never"], k, first)
    if best_class < last_class:
        choose(tables, order, best_class)
    return rank(tables, row, order)
'''
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
    names = [re.sub(r"\W", "_", f"{rule.__name__}_{k}") for k, rule in enumerate(asked)]
    n, n_all = len(criteria), len(criteria) + len(numbers_criteria)
    calls = [f"{name}: {rule.__module__}.{rule.__qualname__}" for name, rule in zip(names, asked, strict=True)]
    text = TEXT.format(
        arguments=ARGUMENTS, calls="\n".join((*calls, *_fingerprints((*asked, count)))),
        refusals="\n".join(_refusals(names[:n], 0)), numbers_refusals="\n".join(_refusals(names[n:n_all], n)),
        factors=" * ".join(f"{name}({ARGUMENTS})" for name in names[n_all:n_all + len(factors)]) or "1.0",
        choice="" if choice is None else CHOICE.format(name=names[-1], arguments=ARGUMENTS))
    is_compiled = all(hasattr(rule, "py_func") for rule in (*asked, count))
    frame = FRAME if is_compiled else [getattr(function, "py_func", function) for function in FRAME]
    known = {function.__name__: function for function in frame} | dict(zip(names, asked, strict=True))
    known |= {"count": count, "compiled": compiled if is_compiled else lambda function: function}
    return _run(text, known, any("<locals>" in rule.__qualname__ for rule in asked))


def _refusals(names: Sequence[str], begin: int) -> Iterable[str]:
    """Lines that ask criteria whose ranks begin at index `begin`; only the first part of a chain has early exits."""
    for k, name in enumerate(names, begin):
        if k and not begin and k % RULES_PER_EXIT == 0:
            yield f"    if tables.later[hint, {k}] >= first:\n        return first"
        rank = f"tables.ranks[hint, {k}]"
        yield f"    if {rank} < first and {name}({ARGUMENTS})[0]:\n        first = {rank}"


def _fingerprints(functions: Iterable[Callable]) -> list[str]:
    """Files outside this package in which rules, and the compiled functions that they name, are written, with a digest.

    A function is named as `f` or `module.f`. The folder of compiled code follows the sources of this package only, and
    Numba notices changes of one file only; changed constants of further files are not noticed.
    """
    todo, seen = [getattr(function, "py_func", function) for function in functions], set()
    while todo:
        function = todo.pop()
        if function not in seen and not function.__code__.co_filename.startswith(str(PACKAGE)):
            seen.add(function)
            names, known = function.__code__.co_names, function.__globals__
            named = [known[name] for name in names if name in known]
            named += [vars(module)[name] for module in named if isinstance(module, ModuleType)
                      for name in names if name in vars(module)]
            todo += [callee.py_func for callee in named if hasattr(callee, "py_func")]
    files = {Path(function.__code__.co_filename) for function in seen}
    return [f"{file}: {_digest(file.read_bytes())}" for file in sorted(files) if file.exists()]


def _run(text: str, known: dict[str, object], is_local: bool) -> Callable:
    """Write the text and run it with the functions that it names; returns its decision.

    is_local: a rule is no function of a module, so that no name says which it is and its compiled code is not kept.
    """
    folder = Path(tempfile.mkdtemp(prefix="simgrid_broker-")) if is_local else cache_folder("policy")
    name = f"decision_{_digest(text.encode())}"
    path = folder / f"{name}.py"
    if not path.exists():
        handle, draft = tempfile.mkstemp(dir=folder)
        with open(handle, "w") as file:
            file.write(text)
        os.utime(draft, (0, 0))        # Numba compares times: the file is the same whichever process wrote it
        os.replace(draft, path)
    module = ModuleType(f"{__package__}.{name}")
    vars(module).update(known)
    sys.modules[module.__name__] = module                      # where Numba looks for what compiled code names
    exec(compile(text, str(path), "exec"), vars(module))
    return module.decision


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
