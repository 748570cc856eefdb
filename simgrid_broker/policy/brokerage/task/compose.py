"""The decision of a task brokerage, written as source text out of its criteria and factors, as that of job brokerage.

Steps are asked one after the other as PanDA asks them: a group of criteria may be lifted for those that are left.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from simgrid_broker.compiled import compiled
from simgrid_broker.policy.brokerage.production.compose import function_of, named
from simgrid_broker.policy.brokerage.task import rank
from simgrid_broker.policy.brokerage.task.question import Candidate
from simgrid_broker.policy.funnel import Funnel, Liftable
from simgrid_broker.policy.rule import FactorFunction

FRAME = rank.begin, rank.is_left, rank.best_first
ARGUMENTS = ", ".join(Candidate._fields)
TEXT = '''\
"""A decision of task brokerage, written by `simgrid_broker.policy.brokerage.task.compose`; a change here is lost.

{calls}
"""


@compiled
def weight({arguments}):
    """Product of the factors of a nucleus."""
    return {factors}


@compiled
def decision(tasks, nuclei, uniform, refused_by, weights, order):
    """Refuse, weigh and draw; returns the number of nuclei in `order`, the drawn one first."""
    task = tasks[0]
    begin(task, nuclei, refused_by)
{steps}
    for k in range(len(nuclei)):
        nucleus = nuclei[k]
        weights[k] = weight({arguments}) if is_left(refused_by, k) else 0.0
    return best_first(nuclei, uniform, refused_by, weights, order)
'''
EACH = '''\
    for k in range(len(nuclei)):
        nucleus = nuclei[k]
        if is_left(refused_by, k):
'''
ALONE = EACH + '''\
            if {0}({arguments})[0]:
                refused_by[k] = {place}
'''
TOGETHER = '''\
    refuses = False
''' + EACH + '''\
            refuses = refuses or {0}({arguments})[0]
    for k in range(len(nuclei)):
        if refuses and is_left(refused_by, k):
            refused_by[k] = {place}
'''
GROUP = '''\
    passes = False
''' + EACH + '''\
            passes = passes or not ({any})
    task["{flag}"] = not passes and {when}(task)
    if not task["{flag}"]:
{members}
'''


def composed(funnel: Funnel, factors: Sequence[FactorFunction]) -> Callable:
    """The decision over these rules about one nucleus, a function as `decision` above.

    It is compiled if all rules are, and runs as it stands otherwise.
    """
    lifting = (step.when for step in funnel.steps if isinstance(step, Liftable))
    asked: tuple[Any, ...] = (*funnel.criteria, *factors, *lifting)
    names = dict(zip(asked, named(asked), strict=True))
    calls = [f"{name}: {rule.__module__}.{rule.__qualname__}" for rule, name in names.items()]
    text = TEXT.format(
        arguments=ARGUMENTS, calls="\n".join(calls),
        steps="\n".join(_steps(funnel, names)).rstrip("\n"),
        factors=" * ".join(f"{names[rule]}({ARGUMENTS})" for rule in factors) or "1.0")
    is_compiled = all(hasattr(rule, "py_func") for rule in asked)
    frame = FRAME if is_compiled else [getattr(function, "py_func", function) for function in FRAME]
    known = {function.__name__: function for function in frame} | {name: rule for rule, name in names.items()}
    known |= {"compiled": compiled if is_compiled else lambda function: function}
    return function_of(text, known)


def _steps(funnel: Funnel, names: dict[Callable, str]) -> Iterator[str]:
    """The text of each step of a chain."""
    place = 0
    for step in funnel.steps:
        if isinstance(step, Liftable):
            asked = [f"{names[rule]}({ARGUMENTS})[0]" for rule in step.criteria]
            members = "\n".join(_indented(ALONE.format(names[rule], arguments=ARGUMENTS, place=place + k))
                                for k, rule in enumerate(step.criteria))
            yield GROUP.format(any=" or ".join(asked), flag=step.name, when=names[step.when], members=members)
            place += len(step.criteria)
        else:
            kind = TOGETHER if step.rule.together else ALONE
            yield kind.format(names[step], arguments=ARGUMENTS, place=place)
            place += 1


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
