"""Agents change the tables of the world through named functions alone."""

import ast
from pathlib import Path

import pytest

from simgrid_broker import agents
from simgrid_broker.world.arrays import Arrays

FILES = sorted(Path(agents.__file__).parent.rglob("*.py"))
TABLES = {*Arrays.__annotations__}


def is_of_world(node, names) -> bool:
    """Whether an expression reads a table of the world, directly or through a local name."""
    return any(isinstance(each, ast.Attribute) and each.attr in TABLES and "arrays" in ast.unparse(each.value)
               or isinstance(each, ast.Name) and each.id in names for each in ast.walk(node))


def names_of_tables(function) -> set[str]:
    """Local names that are bound to a table of the world or to rows of one: `tasks = control.arrays.tasks`."""
    names: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = zip(target.elts, node.value.elts, strict=True) if (
                    isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)) else [(target, node.value)]
                names |= {one.id for one, value in pairs if isinstance(one, ast.Name) and is_view(value, names)}
    return names


def is_view(value, names) -> bool:
    """Whether a value is a table of the world or rows of one, not something that was computed of them."""
    while isinstance(value, ast.Subscript):
        value = value.value
    return isinstance(value, (ast.Attribute, ast.Name)) and is_of_world(value, names)


def assignments(tree):
    """Subscripts of tables of the world that a module assigns to, as text."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            names = names_of_tables(function)
            for node in ast.walk(function):
                targets = node.targets if isinstance(node, ast.Assign) else (
                    [node.target] if isinstance(node, ast.AugAssign) else [])
                for target in targets:
                    for each in target.elts if isinstance(target, ast.Tuple) else [target]:
                        if isinstance(each, ast.Subscript) and is_view(each, names):
                            yield f"line {node.lineno}: {ast.unparse(node)}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_agents_assign_to_no_table(path):
    assert list(assignments(ast.parse(path.read_text()))) == []


@pytest.mark.parametrize("line", [
    "control.arrays.tasks['frozen_s'][row] = 0", "control.world.arrays.tasks['n_jobs'][row] += 1",
    "tasks = control.arrays.tasks\n    tasks['errordialog'][row] = 3",
    "task = control.arrays.tasks[row]\n    task['old_status'], other = 1, 2",
    "arrays, now = control.arrays, 1\n    arrays.scout_inputs[row] = 0",
    "arrays = control.arrays\n    split = arrays.splitting[row]\n    split['nfilesperjob'] = 0",
])
def test_an_assignment_is_seen_by_whatever_name(line):
    assert len(list(assignments(ast.parse(f"def agent(control, row):\n    {line}\n")))) == 1
