"""The decision of a brokerage, written as source text out of its tuples of rules.

Each brokerage has a template of its decision (`decide`), whose places are filled with the lines that ask its rules. The
text goes to the folder of compiled code, where a debugger can step into it. Rules are called by name, so that Numba
compiles a whole decision in one piece.
"""

import os
import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import NamedTuple

from simgrid_broker.compiled import compiled
from simgrid_broker.compiled.fingerprint import digest
from simgrid_broker.compiled.folder import cache_folder

HEAD = '''\
"""A decision of a brokerage, written by `simgrid_broker.policy.brokerage.compose`; a change here is lost.

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
