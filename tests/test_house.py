"""The house is as the plan has it: who may import whom, no cycles, sizes, and a docstring everywhere."""

import ast

from sources import FILES, PACKAGE, nodes, trees

NAME = PACKAGE.name

MAY_IMPORT = {
    "names": set(), "units": set(), "errors": set(), "compiled": set(), "bundle": set(), "notebook": set(),
    "process": set(),
    "files": {"errors"}, "editions": {"names", "errors"}, "plugins": {"errors"},
    "luck": {"compiled"}, "wording": {"units"},
    "systems": {"plugins"},
    "schema": {"names", "units", "errors", "systems"},
    "gdpconfig": {"names"},
    "views": {"names", "schema", "gdpconfig"},
    "scenario": {"editions", "files", "systems", "schema", "gdpconfig", "names", "units", "errors", "luck",
                 "notebook"},
    "systems.events.table": {"names", "compiled"},
    "systems.events.policy": {"editions", "systems.events.table", "names", "units", "compiled"},
    "systems.events": {"editions", "systems.events.table", "systems.events.policy", "agents", "fabric", "world",
                       "scenario", "schema", "views", "names", "units", "luck", "policy", "ledgers", "errors"},
    "systems.harvester": {"systems", "scenario", "views", "names", "errors"},
    "systems.panda": {"systems", "agents", "fabric", "world", "views"},
    "systems.dirac.policy": {"editions", "policy", "errors"},
    "systems.dirac.input": {"scenario", "schema", "errors"},
    "systems.dirac.match": {"systems.dirac.policy", "systems.dirac.input", "errors", "luck"},
    "systems.dirac": {"editions", "systems", "systems.dirac.policy", "systems.dirac.input", "agents", "fabric", "world",
                      "policy", "scenario", "views", "errors"},
    "policy": {"editions", "systems", "plugins", "errors", "views", "gdpconfig", "names", "units", "wording",
               "compiled", "bundle"},
    "advice": {"editions", "plugins", "systems", "scenario", "policy", "gdpconfig", "world", "views", "names",
               "wording", "errors", "compiled"},
    "world": {"editions", "systems", "systems.events.table",
              "scenario", "schema", "views", "names", "units", "errors", "luck", "compiled",
              "bundle"},
    "fabric": {"world", "systems.events.table", "names", "units", "luck", "compiled", "bundle"},
    "ledgers": {"world", "fabric", "policy", "schema", "luck", "names", "units", "compiled", "bundle"},
    "turns": {"systems", "ledgers", "world", "policy", "schema", "views", "luck", "names", "units", "compiled",
              "bundle"},
    "agents": {"plugins", "turns", "ledgers", "world", "fabric", "policy", "schema", "views", "luck", "names", "units",
               "wording"},
    "records": {"notebook", "files", "schema", "names", "units", "errors"},
    "dry_run": {"editions", "agents", "turns", "world", "scenario", "policy", "schema", "views", "gdpconfig", "names",
                "units", "wording", "errors", "luck"},
    "reach": {"turns", "world", "scenario", "policy", "views", "names", "wording"},
    "engine": {"editions", "systems.events", "agents", "dry_run", "turns", "fabric", "world", "scenario", "records",
               "luck", "errors", "notebook"},
    "metrics": {"errors", "systems", "records", "gdpconfig", "schema", "names", "units", "wording"},
    "report": {"errors", "notebook", "metrics", "records", "gdpconfig", "names", "units"},
    "experiments": {"editions", "engine", "metrics", "records", "report", "scenario", "gdpconfig", "schema", "names",
                    "units", "errors", "files", "wording", "luck", "notebook", "process"},
    "desk": {"cli", "experiments", "report", "metrics", "records", "scenario", "schema", "gdpconfig", "advice",
             "errors", "files", "units"},
}
"""Rooms to the other rooms that they may import; the door (`cli` and the package itself) may import anything."""

DOOR = {"cli", "__init__", "__main__"}

LONGEST_FUNCTION, USUAL_FUNCTION, LONGEST_FILE = 60, 30, 400
"""Lines of code of any function, of nine functions in ten, and of any file."""

def room(path):
    """Name of the room that a file belongs to."""
    return room_of(path.relative_to(PACKAGE).with_suffix("").parts)


def room_of(parts):
    """Innermost room of the table around a module, of which the names within the package are given."""
    names = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((name for name in names if name in MAY_IMPORT), parts[0])


def module_name(path):
    """Dotted name of a file's module."""
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_name(path): path for path in FILES}


def imported(nodes):
    """Dotted names of the modules of the package that import statements name."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == NAME)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == NAME:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def needed(nodes):
    """Modules of the package that import statements need: `from package import module` needs that module alone."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from {alias.name for alias in node.names} & MODULES.keys()
        elif isinstance(node, ast.ImportFrom):
            named = {f"{node.module}.{alias.name}" for alias in node.names} & MODULES.keys()
            yield from named
            if len(named) < len(node.names) and node.module in MODULES:
                yield node.module


def rooms_of(names):
    """Rooms that dotted names belong to."""
    return {room_of(name.split(".")[1:]) for name in names if "." in name}


def functions(path):
    """Every function of a file, methods and inner functions included."""
    return [node for node in nodes()[path] if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def code_lines(node, source):
    """Lines of a function's body without docstring, comments and blank lines."""
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    if not body:
        return 1
    lines = source[body[0].lineno - 1:node.end_lineno]
    return sum(1 for line in lines if line.strip() and not line.strip().startswith("#"))


def test_every_room_is_in_the_table():
    assert {room(path) for path in FILES} - DOOR == MAY_IMPORT.keys(), "say here what a room may import"


def test_rooms_import_only_what_they_may():
    others = {path: rooms_of(imported(found)) - {room(path)} for path, found in nodes().items()
              if room(path) not in DOOR}
    assert [f"{path.relative_to(PACKAGE)} may not import {', '.join(sorted(names - MAY_IMPORT[room(path)]))}"
            for path, names in others.items() if not names <= MAY_IMPORT[room(path)]] == []


def test_imports_are_absolute():
    relative = [f"{path}:{node.lineno}" for path, found in nodes().items() for node in found
                if isinstance(node, ast.ImportFrom) and node.level]
    assert relative == []


def test_no_import_circle_even_inside_functions():
    edges = {name: set(needed(nodes()[path])) - {name} for name, path in MODULES.items()}

    def reached(name):
        seen, todo = set(), list(edges[name])
        while todo:
            other = todo.pop()
            if other not in seen:
                seen.add(other)
                todo.extend(edges[other])
        return seen
    assert [name for name in edges if name in reached(name)] == []


def test_only_the_door_imports_inside_functions():
    inside = [f"{path.relative_to(PACKAGE)}:{node.lineno}" for path, found in nodes().items() if room(path) not in DOOR
              for node in found if isinstance(node, (ast.Import, ast.ImportFrom))
              and any(function.lineno < node.lineno <= function.end_lineno for function in functions(path))]
    assert inside == [], "only commands import late, so that --help is fast"


def constants(tree):
    """(name, value) of each constant that a module defines, values as text."""
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                values = node.value.elts if isinstance(node.value, ast.Tuple) and len(names) > 1 else [node.value]
                for name, value in zip(names, values, strict=False):
                    if isinstance(name, ast.Name) and name.id.isupper() and not name.id.startswith("_"):
                        yield name.id, ast.unparse(value)


def test_constants_of_a_leaf_are_defined_once():
    leaves = {MODULES[f"{NAME}.{leaf}"] for leaf in ("names", "units")}
    names = {name for leaf in leaves for name, _ in constants(trees()[leaf])}
    words = {value for leaf in leaves for _, value in constants(trees()[leaf]) if value[0] in "'({"}
    again = [f"{path.relative_to(PACKAGE)}: {name} = {value}" for path, tree in trees().items() if path not in leaves
             for name, value in constants(tree) if name in names or value in words]
    assert again == [], "import it from names or units"


def test_modules_say_what_lives_in_them():
    assert [str(path.relative_to(PACKAGE)) for path, tree in trees().items() if not ast.get_docstring(tree)] == []


RULES_AND_FIGURES = {"lexsort", "argsort", "sort", "bincount", "histogram", "median", "mean", "average", "std",
                     "var", "percentile", "quantile", "sum", "cumsum", "at", "reduceat"}
"""Methods and functions of NumPy that order rows or make figures of them."""

AGENTS_MAY = {
    ("job_splitter", "make", "sum"): "counts the files that it has just cut into jobs",
    ("live_tasks", "watch", "at"): "a running total of each task"}
"""Orders and figures that agents make themselves, by module and function, each with its reason."""


def test_agents_leave_orders_and_figures_to_policy_world_and_metrics():
    found = {(path.stem, function.name, node.func.attr) for path in FILES
             if room(path) in ("agents", "ledgers") for function in functions(path) for node in ast.walk(function)
             if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
             and node.func.attr in RULES_AND_FIGURES}
    assert found == set(AGENTS_MAY), "agents wake, look, ask a policy, act"


def test_public_functions_and_classes_are_explained():
    silent = [f"{path.relative_to(PACKAGE)}:{node.lineno} {node.name}" for path, found in nodes().items()
              for holder in found if isinstance(holder, (ast.Module, ast.ClassDef))
              for node in holder.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))
              if not node.name.startswith("_") and ast.get_docstring(node) is None]
    assert silent == []


def test_functions_fit_on_a_screen():
    sizes = sorted((code_lines(node, lines), f"{path.relative_to(PACKAGE)}: {node.name}")
                   for path in FILES for lines in [path.read_text().splitlines()] for node in functions(path))
    assert sizes[-1][0] <= LONGEST_FUNCTION, sizes[-1]
    assert sizes[int(0.9 * len(sizes))][0] <= USUAL_FUNCTION


def test_files_are_short():
    lengths = {str(path.relative_to(PACKAGE)): sum(1 for line in path.read_text().splitlines()
                                                   if line.strip() and not line.strip().startswith("#"))
               for path in FILES}
    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}


def test_editions_are_compared_in_records_alone():
    """An edition is a record of terms (`editions.ByEdition`); nothing asks for its name."""
    names = {"documented", "deployed", "DOCUMENTED", "DEPLOYED"}

    def is_name(node):
        return getattr(node, "value", None) in names if isinstance(node, ast.Constant) else (
            isinstance(node, ast.Name) and node.id in names)
    compared = [f"{path.relative_to(PACKAGE)}:{node.lineno}" for path, found in nodes().items()
                if room(path) != "editions" for node in found if isinstance(node, ast.Compare)
                and any(is_name(one) for one in (node.left, *node.comparators))]
    assert compared == []
