"""What is said to read each key of gdpconfig is what reads it: the code is walked and compared with the registry.

A function reads a key if the key (or the beginning of its family) stands in its code, directly or as a constant of its
module, and the component stands in its module. Helpers hand their keys to the functions of their module that call them.
Only functions that a simulation can reach count: from the agents and from the policies of the package.
"""

import dataclasses
import importlib
import inspect
import pkgutil
from collections import defaultdict
from collections.abc import Mapping
from types import CodeType, FunctionType, ModuleType

import simgrid_broker
from simgrid_broker import agents, engine, policy
from simgrid_broker.agents.control import Control
from simgrid_broker.policy.registry import BUILT_IN
from simgrid_broker.scenario import REGISTRY
from simgrid_broker.scenario.gdpconfig_key import READ_BY

OURS = simgrid_broker.__name__


def codes_of(code):
    """A code object and those of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_of(constant)


def texts_in(value):
    """All text in a constant."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (tuple, list, frozenset)):
        for each in value:
            yield from texts_in(each)


def texts_of(function):
    """All text that a function names: constants, defaults, and constants of its module."""
    for code in codes_of(function.__code__):
        for constant in code.co_consts:
            yield from texts_in(constant)
        for name in code.co_names:
            yield from texts_in(function.__globals__.get(name))
    yield from texts_in(function.__defaults__ or ())
    yield from texts_in(tuple((function.__kwdefaults__ or {}).values()))


def ours(thing):
    """Whether a function, class or module belongs to the package."""
    name = thing.__name__ if isinstance(thing, ModuleType) else getattr(thing, "__module__", None)
    return isinstance(name, str) and name.split(".")[0] == OURS


def referenced(function):
    """Everything of the package that a function's code names: globals, and attributes of modules."""
    names = [name for code in codes_of(function.__code__) for name in code.co_names]
    for name in names:
        thing = function.__globals__.get(name)
        yield thing
        if isinstance(thing, ModuleType) and ours(thing):
            yield from (vars(thing)[other] for other in names if other in vars(thing))
    for cell in function.__closure__ or ():
        yield cell.cell_contents


def parts(thing):
    """What a thing of the package is made of."""
    if isinstance(thing, FunctionType):
        yield from referenced(thing)
    elif isinstance(thing, type) and ours(thing):
        for each in vars(thing).values():
            yield getattr(each, "fget", None) or getattr(each, "func", None) or each
    elif isinstance(thing, Mapping):
        yield from thing.values()
    elif isinstance(thing, (tuple, list)):
        yield from thing
    elif dataclasses.is_dataclass(thing) and not isinstance(thing, type) and ours(type(thing)):
        yield from (getattr(thing, field.name) for field in dataclasses.fields(thing))


def reachable(*roots):
    """All functions of the package that can be called from the roots."""
    seen, todo, found = set(), list(roots), []
    while todo:
        thing = getattr(todo[-1], "py_func", todo[-1])
        todo.pop()
        if id(thing) in seen or isinstance(thing, (str, int, float, ModuleType, type(None))):
            continue
        seen.add(id(thing))
        if isinstance(thing, FunctionType):
            if not ours(thing):
                continue
            found.append(thing)
        todo.extend(parts(thing))
    return found


def modules_that_may_read():
    """Every module of the rooms that read gdpconfig."""
    for room in (policy, agents):
        for info in pkgutil.walk_packages(room.__path__, room.__name__ + "."):
            yield importlib.import_module(info.name)


def functions_of(module):
    """Functions and methods that are defined in a module, by qualified name."""
    for thing in vars(module).values():
        if isinstance(thing, FunctionType) and thing.__module__ == module.__name__:
            yield thing
        elif inspect.isclass(thing) and thing.__module__ == module.__name__:
            yield from (each for each in vars(thing).values() if isinstance(each, FunctionType))


def entries_read(module, function):
    """Registry entries whose key a function names, of components that its module names."""
    texts = set(texts_of(function))
    known = {text for value in vars(module).values() for text in texts_in(value)}
    known |= {text for each in functions_of(module) for text in texts_of(each)}
    for entry in REGISTRY:
        beginnings = {entry.key, entry.prefix, entry.prefix + "_"} if entry.is_family else {entry.key}
        if entry.component in known and any(text in beginnings for text in texts):
            yield entry


def readers():
    """`component.KEY` to the functions that read it, as READ_BY has it."""
    live = {id(function) for function in reachable(agents.AGENTS, Control, BUILT_IN, engine.simulate)}
    found = defaultdict(set)
    for module in modules_that_may_read():
        functions = {function.__name__: function for function in functions_of(module)}
        for function in functions.values():
            for entry in entries_read(module, function):
                for name in public_callers(function, functions):
                    if id(functions[name]) in live:
                        found[entry.name].add(f"{module.__name__.removeprefix(OURS + '.')}.{name}")
    return {name: ", ".join(sorted(each)) for name, each in sorted(found.items())}


def public_callers(function, functions, seen=()):
    """The function itself if it is public, else the public functions of its module that call it."""
    if not function.__name__.startswith("_"):
        return {function.__name__}
    callers = [other for other in functions.values() if other is not function and other.__name__ not in seen
               and any(function.__name__ in code.co_names for code in codes_of(other.__code__))]
    return {name for caller in callers for name in public_callers(caller, functions, (*seen, function.__name__))}


def test_the_registry_says_what_reads_each_key():
    assert dict(sorted(READ_BY.items())) == readers()
