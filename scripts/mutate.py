#!/usr/bin/env python3
"""Break each rule of docs/fidelity.md in turn and run its tests: those that notice nothing are too weak.

    scripts/mutate.py                               every mutation of every rule
    scripts/mutate.py --rule too_little_scratch     of one rule; several --rule are possible
    scripts/mutate.py --rule world/transitions.py   of a file that the page names without a function
    scripts/mutate.py --most 3                      the three strongest mutations of each rule
    scripts/mutate.py --sample 50 --seed 2          50 mutations, drawn at random
    scripts/mutate.py --list                        what would be tried, without running anything

The tests of a rule are those with the marker `pytest.mark.rule`. They run uncompiled, each time in a forked process in
which the functions made of one piece of source have another code; no file is changed. A mutation is a comparison
negated or moved at its boundary, `and` for `or`, min for max, a constant plus one, a condition reversed, a criterion
that refuses everything or nothing or whose `applies` is always or never true, a factor of 1. Functions of a module that
are not rules are tried once, with the tests of all rules that use them. Where a row of the page names a file and no
function, all functions of the file are tried with the tests of that row.
Exit status 1 if a mutation survives that is not on the list of equivalent ones (scripts/equivalent_mutations.py), or
belongs to code that no function runs, or if the tests fail without a mutation.
"""

import argparse
import ast
import gc
import importlib
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import marked_tests
import pytest
from _pytest import runner
from equivalent_mutations import EQUIVALENT
from marked_tests import MAKES_RULES, PACKAGE
from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]

NEGATED = {ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
           ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}
MOVED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
SWAPPED = {ast.And: ast.Or, ast.Or: ast.And, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd}
NEGATED_NAMES = {"above": "at_most", "at_most": "above", "below": "at_least", "at_least": "below"}
MOVED_NAMES = {"above": "at_least", "at_least": "above", "below": "at_most", "at_most": "below"}
OTHER_NAMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "ceil": "floor",
               "floor": "ceil", "any": "all", "all": "any"}
CONSTANT, NEGATION, BOUNDARY, LOGIC, CONDITION, NAME, SHIFT = range(7)
"""Kinds of mutations, the strongest first."""
SHOWN = ast.expr, ast.keyword, ast.Return, ast.Assign, ast.AugAssign
"""What is printed around a number that changes."""

class Mutation(NamedTuple):
    """A change of one function: rules that use it, kind, line, the expression before and after, the module after it."""

    rule: str
    users: tuple[str, ...]
    module: str
    function: str
    kind: int
    line: int
    old: str
    new: str
    path: Path
    text: str

    @property
    def change(self) -> str:
        """The expression before and after."""
        return f"{self.old} -> {self.new}"

    @property
    def key(self) -> tuple[str, str]:
        """Function and change, as on the list of equivalent mutations."""
        return f"{self.module}.{self.function}", self.change


class Place(NamedTuple):
    """An expression, its position in the syntax tree, and the innermost function that contains it."""

    node: ast.AST
    parent: ast.AST
    field: str
    index: int | None
    function: ast.FunctionDef


# ---- what is changed -----------------------------------------------------------------------------------------------

def mutations(rules: dict[str, Path], chosen: Iterable[str]) -> list[Mutation]:
    """The mutations of the chosen rules, those of one rule by strength; a file counts as a rule."""
    found: dict[tuple[Path, str], Mutation] = {}
    files: dict[Path, tuple[ast.Module, dict]] = {}
    for rule in chosen:
        path = rules[rule]
        if path not in files:
            tree, names = ast.parse(path.read_text(encoding="utf-8")), _names_in(path, rules)
            files[path] = tree, {name: _with_helpers(tree, name, names) for name in sorted(names)}
        tree, reached = files[path]
        module = marked_tests.module_name(path, ROOT)
        local = marked_tests.local_name(rule, path, ROOT)
        own = []
        for function, node in (marked_tests.by_name(tree) if _is_file(rule) else reached[local]).items():
            users = tuple(f"{module}.{name}" for name in reached if function in reached[name])
            own += [Mutation(rule, users or (rule,), module, function, kind, line, old, new, path, text)
                    for kind, line, old, new, text in _of_function(tree, node, path)]
        for one in sorted(own, key=lambda one: one.kind):
            known = found.setdefault((path, one.text), one)     # a condition that several rules share is tried once
            found[path, one.text] = known._replace(users=tuple(dict.fromkeys((*known.users, *one.users))))
    return list(found.values())


def _is_file(rule: str) -> bool:
    """True of a file of the page, in contrast to a function."""
    return "/" in rule


def tests_of(mutation: Mutation, tests: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Tests of the rules that use the changed function."""
    return tuple(dict.fromkeys(test for rule in mutation.users for test in tests[rule]))


def _names_in(path: Path, rules: dict[str, Path]) -> set[str]:
    """Names of the rules of a file."""
    return {marked_tests.local_name(rule, path, ROOT) for rule, where in rules.items()
            if where == path and not _is_file(rule)}


def _with_helpers(tree: ast.Module, name: str, rules: set[str]) -> dict[str, ast.FunctionDef]:
    """A rule and the functions of its module that it uses, directly or through others, and that are not rules."""
    known = marked_tests.by_name(tree)
    found, todo = {}, [name]
    while todo:
        name = todo.pop(0)
        found[name] = known[name]
        owner = name.rpartition(".")[0]
        used = {node.id if isinstance(node, ast.Name) else f"{owner}.{node.attr}" for node in ast.walk(known[name])
                if isinstance(node, ast.Name) or _is_of_self(node)}
        todo += [other for other in known if other in used and other not in (*rules, *todo, *found)]
    return found


def _is_of_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _of_function(tree: ast.Module, function: ast.FunctionDef, path: Path) -> Iterator[tuple[int, int, str, str, str]]:
    """(kind, line, old, new, module after the change) of each mutation of a function."""
    numbers = _number_names(tree)
    lines = path.read_bytes().splitlines(keepends=True)
    for place in _places(tree, function):
        for kind, new in _variants(place, numbers):
            shown = place.parent if kind == SHIFT and isinstance(place.parent, SHOWN) else None
            old = _short(shown or place.node)
            with _replaced(place, new):
                changed = _short(shown or new)
            text = _spliced(lines, place.node, new)
            if changed == old:                  # the end of a long expression
                old, changed = _short(place.node), _short(new)
            yield kind, place.node.lineno, old, changed, text


def _spliced(lines: Sequence[bytes], node: Any, new: ast.AST) -> str:
    """The source of a module with other text in the place of an expression or a statement of one line."""
    text = ast.unparse(ast.fix_missing_locations(new))
    text = text if isinstance(new, ast.stmt) else f"({text})"
    before = b"".join(lines[:node.lineno - 1]) + lines[node.lineno - 1][:node.col_offset]
    after = lines[node.end_lineno - 1][node.end_col_offset:] + b"".join(lines[node.end_lineno:])
    return (before + text.encode() + after).decode()


def _places(tree: ast.Module, function: ast.FunctionDef) -> Iterator[Place]:
    """Every expression of the body of a function, its inner functions and the conditions of its decorators.

    Subscripts, texts, axes and shapes of arrays are left out.
    """
    first = int(ast.get_docstring(function) is not None)
    todo = [Place(node, function, "body", k, function) for k, node in enumerate(function.body)][first:]
    todo += [Place(one.body, one, "body", None, function) for one in _conditions(tree, function)]
    while todo:
        place = todo.pop(0)
        yield place
        if not isinstance(place.node, ast.JoinedStr):
            todo += [child for child in _children(place) if not _is_layout(child)]


def _conditions(tree: ast.Module, function: ast.FunctionDef) -> list[ast.Lambda]:
    """The conditions on which a rule applies, written in its decorator or in a dictionary that the decorator names."""
    decorators = [node for each in function.decorator_list for node in ast.walk(each)]
    names = {node.id for node in decorators if isinstance(node, ast.Name)}
    named = [node for each in tree.body if isinstance(each, (ast.Assign, ast.AnnAssign)) and each.value is not None
             and {target.id for target in ast.walk(each) if isinstance(target, ast.Name)
                  and isinstance(target.ctx, ast.Store)} & names for node in ast.walk(each.value)]
    pairs = [(node.arg, node.value) for node in (*decorators, *named) if isinstance(node, ast.keyword)]
    pairs += [(key.value, value) for node in (*decorators, *named) if isinstance(node, ast.Dict)
              for key, value in zip(node.keys, node.values, strict=True) if isinstance(key, ast.Constant)]
    return [value for name, value in pairs if name == "applies" and isinstance(value, ast.Lambda)]


def _is_layout(place: Place) -> bool:
    """Whether an expression only says where in an array something stands, or is part of a negative number."""
    is_shape = isinstance(place.parent, ast.Call) and place.field == "args" and place.index \
        and marked_tests.last_name(place.parent) == "reshape"
    is_axis = isinstance(place.node, ast.keyword) and place.node.arg == "axis"
    return bool(is_shape) or is_axis or place.field == "slice" or _is_negative(place.parent)


def _is_negative(node: ast.AST) -> bool:
    """Whether an expression is a negative number."""
    return (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant)
            and type(node.operand.value) in (int, float))


def _children(place: Place) -> Iterator[Place]:
    node = place.node
    function = node if isinstance(node, ast.FunctionDef) else place.function
    fields = ("body",) if isinstance(node, ast.FunctionDef) else node._fields
    for field, value in ((field, getattr(node, field)) for field in fields):
        if isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
            yield Place(value, node, field, None, function)
        elif isinstance(value, list):
            yield from (Place(each, node, field, k, function) for k, each in enumerate(value)
                        if isinstance(each, ast.AST))


def _variants(place: Place, numbers: set[str]) -> Iterator[tuple[int, ast.AST]]:
    """(kind, what takes the place of an expression) of each mutation."""
    node = place.node
    if isinstance(node, ast.Return) and node.value is not None:
        yield from ((CONSTANT, ast.Return(value)) for value in _constants(node.value, place.function))
    if place.field == "body" and isinstance(place.parent, ast.Lambda):
        yield from ((CONSTANT, value) for value in _booleans(node))
    if isinstance(node, ast.Compare):
        for kind, others in ((NEGATION, NEGATED), (BOUNDARY, MOVED)):
            for k, operator in enumerate(node.ops):
                if type(operator) in others:
                    operators = [*node.ops[:k], others[type(operator)](), *node.ops[k + 1:]]
                    yield kind, ast.Compare(node.left, operators, node.comparators)
    if isinstance(node, ast.BoolOp):
        yield LOGIC, ast.BoolOp(SWAPPED[type(node.op)](), node.values)
    if isinstance(node, ast.BinOp) and type(node.op) in SWAPPED:
        yield LOGIC, ast.BinOp(node.left, SWAPPED[type(node.op)](), node.right)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.Invert)):
        yield CONDITION, node.operand
    elif place.field == "test" and not isinstance(node, (ast.Compare, ast.BoolOp)):
        yield CONDITION, ast.UnaryOp(ast.Not(), node)
    if isinstance(node, ast.Call):
        for kind, names in ((NEGATION, NEGATED_NAMES), (BOUNDARY, MOVED_NAMES), (NAME, OTHER_NAMES)):
            if isinstance(node.func, ast.Name) and node.func.id in names:
                yield kind, ast.Call(ast.Name(names[node.func.id]), node.args, node.keywords)
            if isinstance(node.func, ast.Attribute) and node.func.attr in names:
                yield kind, ast.Call(ast.Attribute(node.func.value, names[node.func.attr]), node.args, node.keywords)
    is_number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
    if is_number:
        yield SHIFT, ast.Constant(node.value + 1)
    if _is_negative(node):
        yield SHIFT, ast.UnaryOp(ast.USub(), ast.Constant(node.operand.value + 1))
    if isinstance(node, ast.Name) and node.id in numbers:
        yield SHIFT, ast.BinOp(node, ast.Add(), ast.Constant(1))


def _constants(value: ast.expr, function: ast.FunctionDef) -> Iterator[ast.expr]:
    """What a rule returns in place of `value`: refusals of all and of no candidate, a factor of 1, True and False.

    A choice among classes refuses nothing by itself.
    """
    makers = [node for node in function.decorator_list if marked_tests.last_name(node) in MAKES_RULES]
    answer, word = ast.unparse(value), ast.unparse(value).lstrip("(").split(",")[0]
    if any("factor" in marked_tests.last_name(maker) for maker in makers):
        yield from () if answer in ("1.0", "ONE") else (ast.Constant(1.0),)
    elif makers and "is_choice=True" not in ast.unparse(makers[0]):
        for refused in (True, False):
            forced = "| True" if refused else "& False"
            if word != str(refused) and not (refused is False and word.startswith(("np.zeros", "_none"))):
                yield ast.parse(f"(lambda answer: answer._replace(refused=answer.refused {forced}) if hasattr(answer, "
                                f"'refused') else ({refused}, *answer[1:]) if isinstance(answer, tuple) else "
                                f"answer {forced})({answer})", mode="eval").body
    elif not makers and function.returns is not None and ast.unparse(function.returns) == "bool":
        yield from _booleans(value)


def _booleans(value: ast.expr) -> Iterator[ast.expr]:
    """True and False in place of a condition, which is kept unread: a function's code needs its free variables."""
    for each in (True, False):
        if ast.unparse(value) != str(each):
            yield ast.IfExp(ast.Constant(True), ast.Constant(each), value)


def _number_names(tree: ast.Module) -> set[str]:
    """Constants of a module that are numbers, by their names."""
    pairs = [(target, node.value) for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    pairs += [pair for target, value in pairs if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
              for pair in zip(target.elts, value.elts, strict=True)]
    return {target.id for target, value in pairs if isinstance(target, ast.Name) and target.id.isupper()
            and isinstance(value, (ast.Constant, ast.BinOp))
            and not any(isinstance(node, ast.Constant) and isinstance(node.value, (str, bool, type(None)))
                        for node in ast.walk(value))}


@contextmanager
def _replaced(place: Place, new: ast.AST) -> Iterator[None]:
    """The tree with another node in a place."""
    def put(node: ast.AST) -> None:
        if place.index is not None:
            getattr(place.parent, place.field)[place.index] = node
        else:
            setattr(place.parent, place.field, node)
    put(new)
    try:
        yield
    finally:
        put(place.node)


def _short(node: ast.AST) -> str:
    """An expression as text of one line; the refusals of all and of none by name, conditions that became constant."""
    text = re.sub(r"^(return )?(True|False) if True else .*", r"\1\2", " ".join(ast.unparse(node).split()))
    if text.startswith("return (lambda answer:"):
        return "refuse all" if "| True" in text else "refuse none"
    return text if len(text) <= 100 else f"{text[:97]}..."


# ---- what notices it -----------------------------------------------------------------------------------------------

class Run(NamedTuple):
    """A mutation and what became of it: `caught`, `caught (time)`, `survived`, `equivalent` or `not applied`."""

    mutation: Mutation
    result: str
    tests: tuple[str, ...]


PASSED, FAILED, NOT_APPLIED = range(3)
"""Exit status of a process that runs the tests of a mutation."""
MISSED = "survived", "not applied"
"""Results after which the script fails."""


class Breaker:
    """A plugin of pytest that runs collected tests once as they are, then for each mutation in a forked process.

    results: filled with what became of the mutations. pytest.main returns another status than 0 if tests cannot be
    collected or fail without a mutation.
    """

    def __init__(self, chosen: Sequence[Mutation], tests: dict[str, tuple[str, ...]], limit_s: float):
        self.chosen, self.tests, self.limit_s = chosen, tests, limit_s
        self.results: list[Run] = []

    def pytest_runtestloop(self, session: Any) -> bool:
        """Run the tests of each mutation; stands in for pytest's own loop."""
        if session.testsfailed:
            raise session.Failed("the tests cannot be collected")
        with tempfile.NamedTemporaryFile("r") as times:
            if self._status(session.items, None, 3600, times.name) != PASSED:
                raise session.Failed("the tests fail without a mutation")
            seconds = dict(zip(map(id, session.items), map(float, times), strict=True))
        groups: dict[str, list] = {}
        for item in session.items:
            name = item.nodeid.split("[")[0]
            for group in dict.fromkeys((item.nodeid, name, name.split("::")[0])):
                groups.setdefault(group, []).append(item)
        for mutation in tqdm(self.chosen, unit=" mutations", disable=None):
            own = {id(item): item for test in tests_of(mutation, self.tests) for item in groups.get(test, ())}
            items = sorted(own.values(), key=lambda item: seconds[id(item)])
            self._keep(mutation, self._status(items, mutation, self.limit_s) if items else PASSED)
        return True

    def _keep(self, mutation: Mutation, status: int | None) -> None:
        """Note a result, and print it if the tests missed the mutation."""
        result = {None: "caught (time)", PASSED: "survived", NOT_APPLIED: "not applied"}.get(status, "caught")
        if status == PASSED and mutation.key in EQUIVALENT:
            result = "equivalent"
        if result in MISSED:
            tqdm.write(f"{result}: {mutation.key[0]}, line {mutation.line}: {mutation.change}", sys.stderr)
        self.results.append(Run(mutation, result, tests_of(mutation, self.tests)))

    def _status(self, items: Sequence[Any], mutation: Mutation | None, limit_s: float,
                times: str = os.devnull) -> int | None:
        """Exit status of a process that runs tests with a mutation; None if it takes longer than limit_s.

        times: file to which the process writes the seconds of each test.
        """
        process = os.fork()
        if not process:
            _test(items, mutation, times)
        end = time.monotonic() + limit_s
        try:
            while time.monotonic() < end:
                done, status = os.waitpid(process, os.WNOHANG)
                if done:
                    return os.waitstatus_to_exitcode(status)
                time.sleep(0.005)
        finally:
            if not done:
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
        return None


def _test(items: Sequence[Any], mutation: Mutation | None, times: str) -> None:
    """Apply a mutation, run tests up to the first that fails, and leave the process; without mutation print all."""
    status, seconds = NOT_APPLIED, []
    try:
        if mutation is not None:
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 1)
            os.dup2(silent, 2)
            _apply(mutation)
        status = PASSED
        for item, following in zip(items, [*items[1:], None], strict=True):
            begin = time.monotonic()
            reports = runner.runtestprotocol(item, nextitem=following, log=False)
            seconds.append(f"{time.monotonic() - begin}\n")
            for report in reports:
                if report.failed:
                    status = FAILED
                    print(f"{item.nodeid}\n{report.longreprtext}", file=sys.stderr, flush=True)
            if status and mutation is not None:
                break
        Path(times).write_text("".join(seconds), encoding="utf-8")
    except BaseException:
        status = status or FAILED
        raise
    finally:
        os._exit(status)


def _apply(mutation: Mutation) -> None:
    """Give the functions of the changed source their new code, wherever they are referred to.

    Functions that a factory has made stand in no module; all that exist are looked through. Raises LookupError if none
    is changed.
    """
    file = importlib.import_module(f"{PACKAGE}.{mutation.module}").__file__ or ""
    old, new = (_codes(compile(text, file, "exec")) for text in (mutation.path.read_text("utf-8"), mutation.text))
    after = {_identity(code): other for name, codes in old.items() if len(codes) == len(new.get(name, ()))
             for code, other in zip(codes, new[name], strict=True) if _content(code) != _content(other)}
    changed = [(one, after[_identity(one.__code__)]) for one in gc.get_objects() if isinstance(one, FunctionType)
               and one.__code__.co_filename == file and _identity(one.__code__) in after]
    if not changed:
        raise LookupError(f"{mutation.module}.{mutation.function}: no function runs this code")
    for function, code in changed:
        function.__code__ = code


def _codes(code: CodeType) -> dict[str, list[CodeType]]:
    """Code of the functions, classes and lambdas of a module by qualified name, those of one name in their order."""
    found: dict[str, list[CodeType]] = {}
    todo = [code]
    while todo:
        code = todo.pop(0)
        found.setdefault(code.co_qualname, []).append(code)
        todo += [each for each in code.co_consts if isinstance(each, CodeType)]
    return found


def _content(code: CodeType) -> tuple:
    """Instructions of a code and of the functions inside it, wherever it stands in its file."""
    return (code.co_code, code.co_names, code.co_varnames, code.co_freevars,
            tuple(_content(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts))


def _identity(code: CodeType) -> tuple:
    """The piece of source that a code was made from."""
    return code.co_qualname, code.co_firstlineno, tuple(code.co_positions())


def run(chosen: Sequence[Mutation], tests: dict[str, tuple[str, ...]], limit_s: float) -> tuple[int, list[Run]]:
    """The exit status of pytest and what became of the mutations; one without tests has survived."""
    breaker = Breaker(chosen, tests, limit_s)
    needed = list(dict.fromkeys(test for mutation in chosen for test in tests_of(mutation, tests)))
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        os.environ |= {"NUMBA_DISABLE_JIT": "1", "SIMGRID_BROKER_CACHE": folder, "OPENBLAS_NUM_THREADS": "1"}
        os.chdir(ROOT)
        sys.path.insert(0, str(ROOT))
        status = pytest.main(["-o", "addopts=", "-p", "no:terminal", "-p", "no:cacheprovider", "-p", "no:xdist", "-s",
                              f"--rootdir={ROOT}", *needed], plugins=[breaker])
    return int(status), breaker.results


# ---- the command ---------------------------------------------------------------------------------------------------

def main() -> int:
    """Choose mutations, run or list them, print the table; the exit status."""
    options = _options()
    files = marked_tests.files_without_functions(ROOT)
    tests = marked_tests.tests_of_rules(ROOT) | {name: tested for name, (_, tested) in files.items()}
    rules = marked_tests.rules(ROOT) | {name: path for name, (path, _) in files.items()}
    names = [marked_tests.resolved(name, rules, "--rule") for name in options.rule] or list(rules)
    chosen = _chosen(mutations(rules, names), options)
    if options.list:
        _print_table([Run(mutation, "", tests_of(mutation, tests)) for mutation in chosen])
        return 0
    status, runs = run(chosen, tests, options.limit)
    _print_table(runs)
    return int(status != 0 or any(done.result in MISSED for done in runs))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rule", action="append", default=[], metavar="NAME", help="end of a rule's dotted name")
    parser.add_argument("--most", type=int, metavar="N", help="at most N mutations of each rule, the strongest first")
    parser.add_argument("--sample", type=int, metavar="N", help="only N mutations, drawn at random")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="seed of that draw, default 1")
    parser.add_argument("--limit", type=float, default=120, metavar="SECONDS", help="time for the tests of a mutation")
    parser.add_argument("--list", action="store_true", help="list mutations and tests, run nothing")
    return parser.parse_args()


def _chosen(found: list[Mutation], options: argparse.Namespace) -> list[Mutation]:
    """The mutations that the options leave."""
    if options.most is not None:
        seen: Counter = Counter()
        found = [one for one in found if (seen.update([one.rule]) or seen[one.rule]) <= options.most]
    if options.sample is not None and options.sample < len(found):
        kept = set(random.Random(options.seed).sample(range(len(found)), options.sample))
        found = [one for k, one in enumerate(found) if k in kept]
    return found


def _print_table(runs: Sequence[Run]) -> None:
    """One line for each mutation, then how many had which result."""
    for done in runs:
        mutation = done.mutation
        where = ", ".join(test.removeprefix("tests/") for test in done.tests)
        print(f"{mutation.rule} | {mutation.line}: {mutation.change} | {done.result} | {where}")
    for done in runs:
        if done.mutation.key in EQUIVALENT:
            print(f"equivalent: {': '.join(done.mutation.key)}: {EQUIVALENT[done.mutation.key]}")
    counts = Counter(done.result for done in runs if done.result)
    print(", ".join(f"{n} {result}" for result, n in counts.items()) or f"{len(runs)} mutations")


if __name__ == "__main__":
    sys.exit(main())
