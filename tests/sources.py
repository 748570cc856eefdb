"""The sources of the package, each parsed once in a process of tests."""

import ast
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "simgrid_broker"
FILES = sorted(PACKAGE.rglob("*.py"))


@cache
def trees():
    """Syntax tree of each file of the package; not to be changed."""
    return {path: ast.parse(path.read_text(encoding="utf-8"), str(path)) for path in FILES}


@cache
def nodes():
    """Nodes of the syntax tree of each file of the package, in the order of `ast.walk`."""
    return {path: tuple(ast.walk(tree)) for path, tree in trees().items()}
