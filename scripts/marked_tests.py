"""Rules of docs/fidelity.md, and the tests that name them with `pytest.mark.rule`; read without importing either."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE, PAGE = "simgrid_broker", "docs/fidelity.md"
MAKES_RULES = {"criterion", "candidate_criterion", "attempt_criterion", "list_criterion", "factor", "candidate_factor",
               "list_factor"}
"""Decorators of the rules of brokers."""
NAMED = re.compile(r"`((?:policy|world|fabric|ledgers|turns|systems|agents\.\w+)\.(?:\w+\.)*\w+)`")
"""Functions and methods that the page names, in contrast to files, which it names with slashes."""
FILE = re.compile(r"`((?!tests/)\w+/[\w/]+\.py)`")
TEST_FILE = re.compile(r"`(tests/[\w/]+\.py)`")


def rules(root: Path) -> dict[str, Path]:
    """File of each rule by its dotted name: decorated functions, then the others that the page names.

    Raises ValueError for a name on the page that is not a function.
    """
    known: dict[Path, set[str]] = {}
    found = {f"{module_name(path, root)}.{function.name}": path
             for room in ("policy", "systems") for path in sorted((root / PACKAGE / room).rglob("*.py"))
             for function in functions(path) if MAKES_RULES & {last_name(each) for each in function.decorator_list}}
    for name in dict.fromkeys(NAMED.findall((root / PAGE).read_text(encoding="utf-8"))):
        if name not in found:
            found[name] = _file_of(name, root, known)
    return found


def rows(root: Path) -> list[list[str]]:
    """Cells of each row of the page's tables, the last two of which name code and tests."""
    lines = (root / PAGE).read_text(encoding="utf-8").splitlines()
    return [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines if line.startswith("| ")]


def files_without_functions(root: Path) -> dict[str, tuple[Path, tuple[str, ...]]]:
    """Files of the package in whose rows of the page no function is named, each with the files of tests of its rows."""
    tests: dict[str, list[str]] = {}
    for *_, code, tested in rows(root):
        if not NAMED.search(code):
            for name in FILE.findall(code):
                tests.setdefault(name, []).extend(TEST_FILE.findall(tested))
    return {name: (root / PACKAGE / name, tuple(dict.fromkeys(each))) for name, each in tests.items()
            if (root / PACKAGE / name).is_file()}


def functions(path: Path) -> list[ast.FunctionDef]:
    """Functions of a module, without methods and inner functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    return [node for node in tree.body if isinstance(node, ast.FunctionDef)]


def by_name(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """Functions of a module, and methods as `Class.method`."""
    found = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return found | {f"{each.name}.{node.name}": node for each in classes for node in each.body
                    if isinstance(node, ast.FunctionDef)}


def local_name(rule: str, path: Path, root: Path) -> str:
    """The function of a rule within its module, or `Class.method`."""
    return rule.removeprefix(f"{module_name(path, root)}.")


def last_name(node: ast.AST) -> str:
    """Last part of the name of a decorator or variable."""
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def tests_of_rules(root: Path, known: dict[str, Path] | None = None) -> dict[str, tuple[str, ...]]:
    """Tests of each rule as pytest names them, `file::function`, or `file` where `pytestmark` names the rule.

    A rule that a single parameter names has `file::function[id]`. known: as `rules` finds them.

    Raises ValueError for a marker that names no rule, or several.
    """
    known = rules(root) if known is None else known
    found: dict[str, list[str]] = {name: [] for name in known}
    for path in sorted((root / "tests").rglob("test_*.py")):
        for name, test in marks(path):
            where = path.relative_to(root).as_posix()
            found[resolved(name, known, where)].append(f"{where}::{test}" if test else where)
    return {name: tuple(dict.fromkeys(tests)) for name, tests in found.items()}


def marks(path: Path) -> tuple[tuple[str, str], ...]:
    """(rule as written, test function) of each marker of a file, with the id of the parameter that it marks alone.

    The function is empty for `pytestmark`.
    """
    return _marks_in(path.read_text(encoding="utf-8"))


@cache
def _marks_in(source: str) -> tuple[tuple[str, str], ...]:
    """As `marks`, by the text of a file: several documents are made of the same tests."""
    return tuple(_marks(ast.parse(source))) if "pytest.mark.rule" in source else ()


def _marks(module: ast.Module) -> Iterator[tuple[str, str]]:
    for node in module.body:
        if isinstance(node, ast.FunctionDef):
            single = sum(last_name(each) == "parametrize" for each in node.decorator_list) == 1
            for decorator in node.decorator_list:
                params = [call for call in ast.walk(decorator)
                          if isinstance(call, ast.Call) and last_name(call) == "param"]
                of = {call: _id(param) for param in params for call in ast.walk(param)} if single else {}
                yield from ((name, node.name + of.get(call, "")) for call in ast.walk(decorator)
                            for name in _marked(call))
        elif isinstance(node, ast.Assign) and any(last_name(target) == "pytestmark" for target in node.targets):
            yield from ((name, "") for call in ast.walk(node.value) for name in _marked(call))


def resolved(name: str, known: dict[str, Path], where: str) -> str:
    """The one rule whose dotted name ends with `name`; raises ValueError if none does, or several."""
    fits = [rule for rule in known if f".{rule}".endswith(f".{name}")]
    if len(fits) != 1:
        raise ValueError(f"{where}: marker {name!r}: expected the end of the dotted name of one rule, not of "
                         f"{' and '.join(fits) if fits else 'none: see ' + PAGE}")
    return fits[0]


def _id(param: ast.Call) -> str:
    """Id of a `pytest.param` in brackets, empty if it does not follow from constants."""
    said = [each.value for each in param.keywords if each.arg == "id"] or param.args
    known = [str(each.value) for each in said if isinstance(each, ast.Constant)]
    return f"[{'-'.join(known)}]" if len(known) == len(said) else ""


def _marked(node: ast.AST) -> list[str]:
    """Names in a call of `pytest.mark.rule`; empty for anything else."""
    if isinstance(node, ast.Call) and last_name(node) == "rule" and ast.unparse(node.func) == "pytest.mark.rule":
        return [ast.literal_eval(argument) for argument in node.args]
    return []


def module_name(path: Path, root: Path) -> str:
    """Dotted name of a module within the package."""
    return ".".join(path.relative_to(root / PACKAGE).with_suffix("").parts).removesuffix(".__init__")


def _file_of(name: str, root: Path, known: dict[Path, set[str]]) -> Path:
    """File of a function that the page names; known: functions by file, of the files that were read before."""
    parts = name.split(".")
    for k in (len(parts) - 1, len(parts) - 2):
        path = root.joinpath(PACKAGE, *parts[:k]).with_suffix(".py")
        if path not in known:
            known[path] = set(by_name(ast.parse(path.read_text(encoding="utf-8")))) if path.is_file() else set()
        if ".".join(parts[k:]) in known[path]:
            return path
    raise ValueError(f"{PAGE}: `{name}` is not a function")
