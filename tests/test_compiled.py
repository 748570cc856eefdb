"""Compiled functions, what their code is found by, and where it is kept."""

import gc
import importlib
import json
import operator
import os
import platform
import subprocess
import sys
from hashlib import sha256

import numba
import pytest
from llvmlite import binding
from numba import types
from numba.core.registry import cpu_target
from numba.core.typing.context import Context

from simgrid_broker.compiled import compiled, kept_code, passes
from simgrid_broker.compiled.compiler import _no_collection, as_one_module
from simgrid_broker.compiled.kept_code import fingerprint, read_own, with_digest

TWO_FILES = {
    "inner": "from simgrid_broker.compiled import compiled\nLIMIT = 10\n"
             "@compiled\ndef above(x):\n    return x > LIMIT\n",
    "outer": "from simgrid_broker.compiled import compiled\nfrom inner import above\n"
             "@compiled\ndef asked(x):\n    return above(x)\nif __name__ == '__main__':\n    print(asked(11))\n",
}


@pytest.fixture
def two_files(tmp_path):
    """A function and one that it calls, in two files."""
    for name, text in TWO_FILES.items():
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


def printed(folder):
    """What the outer function returns in a new process that keeps its compiled code in `folder`."""
    environment = os.environ | {"SIMGRID_BROKER_CACHE": str(folder / "kept"), "NUMBA_DISABLE_JIT": "0",
                                "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, folder / "outer.py"], env=environment, capture_output=True, text=True,
                          timeout=300, check=True).stdout.strip()


def test_a_change_of_an_inner_function_or_its_constants_changes_the_result(two_files):
    assert [printed(two_files), printed(two_files), len(list((two_files / "kept").iterdir()))] == ["True", "True", 1]
    (two_files / "inner.py").write_text(TWO_FILES["inner"].replace("10", "11"))
    assert printed(two_files) == "False"
    (two_files / "inner.py").write_text(TWO_FILES["inner"].replace("x >", "x <="))
    assert printed(two_files) == "False"
    (two_files / "inner.py").write_text(TWO_FILES["inner"])
    assert [printed(two_files), len(list((two_files / "kept").iterdir()))] == ["True", 3]


RULES = """
import enum
import numpy as np
import {limits} as limits
from {limits} import above, plainly

class Status(enum.IntEnum):
    READY = 1

ROW = np.dtype([("a", np.int32)])
TABLE = np.array([1.0, 2.0])
PAIR = (1, (2, 3))
UNUSED = 7

def made(limit):
    def rule(n, more=4):
        return above(n) + limits.far(n) + plainly(n) + limit + Status.READY + TABLE[0] + PAIR[1][1] + ROW.itemsize
    return rule

rule = made(5)
"""
LIMITS = """
FAR = 3
def above(n): return n > 1
def far(n): return n > FAR
def plainly(n): return n
above.py_func, far.py_func = above, far
"""


@pytest.mark.parametrize(("before", "after", "is_new"), [
    pytest.param("READY = 1", "READY = 2", True, id="a member of an enumeration"),
    pytest.param('"a", np.int32', '"b", np.int32', True, id="a column"),
    pytest.param("[1.0, 2.0]", "[1.0, 2.5]", True, id="an array"),
    pytest.param("(2, 3)", "(2, 4)", True, id="a number in a tuple in a tuple"),
    pytest.param("made(5)", "made(6)", True, id="a number of the function around it"),
    pytest.param("more=4", "more=5", True, id="a default"),
    pytest.param("above(n) + limits", "above(n) - limits", True, id="its own code"),
    pytest.param("n > 1", "n > 2", True, id="a function that it names"),
    pytest.param("FAR = 3", "FAR = 4", True, id="a constant of a function of a module that it names"),
    pytest.param("plainly(n): return n", "plainly(n): return 1", True, id="a function that is not compiled"),
    pytest.param("UNUSED = 7", "UNUSED = 8", False, id="a constant that it does not name"),
    pytest.param("class Status", "# a comment\nclass Status", False, id="a comment"),
])
def test_the_fingerprint_follows_all_that_a_function_names(before, after, is_new, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)

    def written(name, change):
        texts = {f"limits_{name}": LIMITS, f"rules_{name}": RULES.format(limits=f"limits_{name}")}
        for module, text in texts.items():
            (tmp_path / f"{module}.py").write_text(text.replace(*change))
        for module in texts:
            sys.modules.pop(module, None)
        importlib.invalidate_caches()
        return fingerprint(importlib.import_module(f"rules_{name}").rule)
    name = f"of_{abs(hash((before, after)))}"
    first = written(name, ("", ""))
    for file in tmp_path.glob("__pycache__/*"):
        file.unlink()
    assert (written(name, (before, after)) != first) is is_new


def test_rules_that_exchange_their_names_are_told_apart():
    def low(n):
        return n < 1

    def high(n):
        return n > 1

    def both(first, second):
        first.py_func, second.py_func = first, second
        return lambda n: first(n) or second(n)
    assert fingerprint(both(low, high)) != fingerprint(both(high, low))


def test_compiled_code_is_kept_where_the_user_says(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMGRID_BROKER_CACHE", str(tmp_path / "kept"))
    assert kept_code.cache_folder.__wrapped__() == tmp_path / "kept" and (tmp_path / "kept").is_dir()


def test_a_cache_that_cannot_be_made_is_replaced_by_a_passing_one(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("SIMGRID_BROKER_CACHE", str(tmp_path / "file"))
    assert kept_code.kept_folder() is None and kept_code.cache_folder.__wrapped__().is_dir()


def test_without_a_home_folder_compiled_code_is_not_kept(monkeypatch):
    def unknown():
        raise RuntimeError("Could not determine home directory.")
    monkeypatch.delenv("SIMGRID_BROKER_CACHE", raising=False)
    monkeypatch.setattr(kept_code.Path, "home", unknown)
    assert kept_code.kept_folder() is None and kept_code.cache_folder.__wrapped__().is_dir()


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_a_compiled_function_says_what_the_plain_one_says():
    def weigh(x, y):
        return x / y

    made = compiled(weigh)
    assert made(6.0, 3.0) == weigh(6.0, 3.0)
    assert made(1.0, 0.0) == float("inf")            # IEEE: no exception within compiled code


VARIANTS = """
import numpy as np
from simgrid_broker.compiled import compiled, watched

@compiled
def inner(x):
    return x + 1

@compiled
def outer(row):
    return inner(row["byte"]) + inner(row["word"]) + inner(row["long"]) + inner(3) + inner(row["sign"])

names = []
with watched(names.append):
    row = np.zeros(1, [("byte", np.int8), ("word", np.uint32), ("long", np.int64), ("sign", np.uint64)])[0]
    print(outer(row), len(inner._parts), names, len(inner.overloads))
"""


def test_a_part_is_compiled_once_for_whole_numbers_of_all_widths(tmp_path):
    """Signed and unsigned words of 64 bits stay apart; only the function that Python calls is compiled as a whole."""
    environment = os.environ | {"SIMGRID_BROKER_CACHE": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
    answer = subprocess.run([sys.executable, "-c", VARIANTS], env=environment, capture_output=True, text=True,
                            timeout=300, check=True).stdout
    assert answer == "8 2 ['__main__.outer'] 0\n"


UNUSUAL = """
import numpy as np
from numba import literal_unroll
from simgrid_broker.compiled import compiled

FIELDS = ("byte", "word")
RECORD = [("byte", np.int8), ("word", np.uint32)]

@compiled
def add_up(row):
    total = 0
    for name in literal_unroll(FIELDS):
        total += row[name]
    return total

@compiled
def within(row):
    twice = lambda number: 2 * number
    return twice(row["byte"])

@compiled
def of_pair(row):
    found = 0
    for number in (row["byte"], np.int8(7)):
        found = max(found, number)
    return found

@compiled
def unpacked(row):
    pair = row["word"], row["byte"]
    return max(*pair, 2)

row = np.zeros(1, RECORD)[0]
row["byte"], row["word"] = 3, 5
print(add_up(row), within(row), of_pair(row), unpacked(row))
"""


def test_functions_that_need_all_of_numbas_passes_have_them(tmp_path):
    environment = os.environ | {"SIMGRID_BROKER_CACHE": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
    answer = subprocess.run([sys.executable, "-c", UNUSUAL], env=environment, capture_output=True, text=True,
                            timeout=300, check=True).stdout
    assert answer == "8 6 7 5\n"


ONE_CALLER = """
from simgrid_broker.compiled import compiled

@compiled
def inner(x):
{lines}
    return x

@compiled
def once(x):
    return inner(x)

@compiled
def twice(x):
    return inner(x) + inner(x + 1)

def parts(outer):
    library = next(iter(outer.overloads.values())).library
    return sum("inner" in function.name for function in library._final_module.functions)
found = inner.py_func(5), inner.py_func(6)
print(twice(5) == sum(found), once(5) == found[0], parts(once), parts(twice))
"""


def test_a_long_part_is_inlined_if_it_has_one_caller(tmp_path):
    lines = "\n".join(f"    x = (x * 5 + {k}) % 1009 if x > {7 * k} else x + {k}" for k in range(60))
    environment = os.environ | {"SIMGRID_BROKER_CACHE": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
    answer = subprocess.run([sys.executable, "-c", ONE_CALLER.format(lines=lines)], env=environment, text=True,
                            capture_output=True, timeout=300, check=True).stdout
    assert answer == "True True 0 1\n"


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_modules_are_linked_in_order(n):
    calls = "".join(f"call void @f{k}()\n" for k in range(n))
    modules = [binding.parse_assembly("".join(f"declare void @f{other}()\n" for other in range(n) if other != k)
                                      + f"define weak_odr void @f{k}() {{ {calls if k == n // 2 else ''} ret void }}")
               for k in range(n)]
    assert [function.name for function in as_one_module(modules).functions if not function.is_declaration] == [
        f"f{k}" for k in range(n)]


def test_what_compiling_made_counts_as_old_for_the_search_of_garbage():
    gc.unfreeze()                                             # what other tests may have frozen
    with _no_collection():
        made = [[] for _ in range(100_000)]
    assert any(one is made for one in gc.get_objects(2)) and gc.isenabled()


def test_objects_that_someone_froze_stay_frozen():
    gc.freeze()
    try:
        with _no_collection():
            pass
        assert gc.get_freeze_count() > 0                      # other threads free some of them at any time
    finally:
        gc.unfreeze()


def test_numbas_own_calls_are_resolved_once_for_the_same_types(monkeypatch):
    plain, asked = cpu_target.typing_context, []
    plain.refresh()
    resolve = Context.resolve_function_type
    monkeypatch.setattr(passes, "_signatures", {})
    monkeypatch.setattr(Context, "resolve_function_type", lambda *call: asked.append(call[1]) or resolve(*call))
    pairs = (types.uint8, types.float32), (types.float32, types.uint8)
    answers = [[passes.view(plain, passes.Typing).resolve_function_type(operator.mul, pair, {}) for pair in pairs]
               for _ in range(2)]
    assert answers[0] == [resolve(plain, operator.mul, pair, {}) for pair in pairs] and None not in answers[0]
    assert all(map(operator.is_, *answers)) and asked.count(operator.mul) == 2


def test_the_larger_of_two_whole_numbers_is_compiled_once_for_all_widths():
    cpu_target.typing_context.refresh()
    typing = passes.view(cpu_target.typing_context, passes.Typing)
    larger = typing.resolve_value_type(max)
    pairs = (types.int8, types.int8), (types.int16, types.uint8), (types.int64, types.int64)
    assert len({typing.resolve_function_type(larger, pair, {}) for pair in pairs}) == 1
    assert typing.resolve_function_type(larger, (types.float32, types.float32), {}).return_type == types.float32


def test_calls_of_other_functions_and_with_numbers_are_not_remembered():
    """A function of the user's own has other answers once it is compiled, and 1, 1.0 and True are equal keys."""
    record, own = types.UniTuple(types.int64, 2), types.Dispatcher(numba.njit(lambda x: x))
    assert passes.key_of("static_getitem", (record, 1)) is passes.key_of(own, (types.int64,)) is None
    assert passes.key_of("static_getitem", (record, "a")) != passes.key_of("static_getitem", (record, "b"))


FULL = """
import os
from simgrid_broker.compiled import compiled

@compiled
def one(x):
    return x

def full(*_):
    raise OSError("No space left on device")
os.replace = full
print(one(1))
"""


def test_code_that_cannot_be_written_is_not_kept_and_runs(tmp_path):
    environment = os.environ | {"SIMGRID_BROKER_CACHE": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
    answer = subprocess.run([sys.executable, "-c", FULL], env=environment, capture_output=True, text=True,
                            timeout=300, check=True).stdout
    assert answer == "1\n" and not list(tmp_path.iterdir())


REDUCED = """
import sys
import numpy as np
from simgrid_broker.compiled import compiled

@compiled
def reduced(values):
    return values[values.argmin()] + values.sum()

print(reduced(np.array([1.0, 2.0])))
try:
    reduced(np.zeros(0))
except ValueError as error:
    print(error)
print("numba.np.arraymath" in sys.modules)
"""


def test_kept_code_runs_and_raises_without_the_modules_of_its_parts(tmp_path):
    environment = os.environ | {"SIMGRID_BROKER_CACHE": str(tmp_path / "kept"), "NUMBA_DISABLE_JIT": "0"}
    (tmp_path / "reduced.py").write_text(REDUCED)
    answers = [subprocess.run([sys.executable, tmp_path / "reduced.py"], env=environment, capture_output=True,
                              text=True, timeout=300, check=True).stdout.splitlines() for _ in range(2)]
    said = ["4.0", "attempt to get argmin of an empty sequence"]
    assert answers == [[*said, "True"], [*said, "False"]]


PLACES = """
from typing import NamedTuple
from simgrid_broker.compiled import compiled

class Pair(NamedTuple):
    {fields}

@compiled
def difference(pairs):
    return pairs[0].one - pairs[0].other

print(difference((Pair(one=3, other=1),)))
"""


def test_code_that_reads_fields_by_place_is_not_read_for_fields_in_another_order(tmp_path):
    environment = os.environ | {"SIMGRID_BROKER_CACHE": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
    answers = [subprocess.run([sys.executable, "-c", PLACES.format(fields=fields)], env=environment, text=True,
                              capture_output=True, timeout=300, check=True).stdout
               for fields in ("one: int; other: int", "other: int; one: int")]
    assert answers == ["2\n", "2\n"] and len(list(tmp_path.iterdir())) == 2


def test_importing_the_package_compiles_nothing():
    code = "import sys, simgrid_broker; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


TWINS = """\
import sys
from simgrid_broker.compiled import compiled, compiled_with

@compiled
def step(x):
    return x

@compiled
def part(x):
    total = 0
{lines}
    return total

@compiled
def loop(x):
    return part(x) + part(x + 1)

def made(number):
    @compiled
    def own(x):
        return x + number
    return own

twins = {{name: compiled_with(loop, part=compiled_with(part, step=made(number)))
         for name, number in (("one", 10), ("other", 1000))}}
print(*(twins[name](3) for name in sys.argv[1:]))
"""


@pytest.mark.slow
def test_variants_kept_by_several_processes_are_not_taken_for_one_another(tmp_path):
    program = tmp_path / "twins.py"
    lines = "\n".join(f"    total = (total * {k} + step(x)) % 1000003" for k in range(2, 90))      # too long to inline
    program.write_text(TWINS.format(lines=lines))
    environment = os.environ | {"SIMGRID_BROKER_CACHE": str(tmp_path / "cache")}
    answers = [subprocess.run([sys.executable, program, *names], env=environment, capture_output=True, text=True,
                              check=True).stdout.split() for names in (["one"], ["other"], ["one", "other"])]
    assert answers[0] != answers[1] and answers[2] == answers[0] + answers[1]


@pytest.mark.parametrize(("mode", "change", "is_read"), [
    pytest.param(0o600, lambda content: content, True, id="whole"),
    pytest.param(0o600, lambda content: content[:-1], False, id="cut"),
    pytest.param(0o600, lambda content: b"", False, id="empty"),
    pytest.param(0o600, lambda content: content[:-1] + bytes([content[-1] ^ 1]), False, id="a flipped bit"),
    pytest.param(0o620, lambda content: content, False, id="the group may write"),
    pytest.param(0o602, lambda content: content, False, id="all may write"),
])
def test_compiled_code_is_read_only_whole_and_if_no_other_user_can_write_it(tmp_path, mode, change, is_read):
    path = tmp_path / "a.code"
    path.write_bytes(change(with_digest(b"code")))
    path.chmod(mode)
    assert read_own(path) == (b"code" if is_read else None)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_compiled_code_of_another_user_is_not_read(tmp_path):
    path = tmp_path / "a.code"
    path.write_bytes(with_digest(b"code"))
    os.chown(path, 12_345, 12_345)
    assert read_own(path) is None


def test_the_folder_of_the_user_is_private_and_one_in_which_others_write_is_not_used(tmp_path, monkeypatch):
    monkeypatch.delenv("SIMGRID_BROKER_CACHE", raising=False)
    monkeypatch.setattr(kept_code.Path, "home", lambda: tmp_path)
    assert kept_code.kept_folder().stat().st_mode & 0o777 == 0o700
    kept_code.kept_folder().chmod(0o777)
    assert kept_code.kept_folder().stat().st_mode & 0o777 == 0o700
    monkeypatch.setenv("SIMGRID_BROKER_CACHE", str(tmp_path / "common"))
    assert kept_code.kept_folder() == tmp_path / "common"
    (tmp_path / "common").chmod(0o770)
    assert kept_code.kept_folder() is None


SHIPPING = """
import sys
from pathlib import Path
from simgrid_broker.compiled import kept_code
kept_code.SHIPPED = Path(sys.argv[1])
from outer import asked
print(asked(11))
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="code in wheels is for x86-64-v3")
def test_code_that_came_with_the_package_is_read_if_it_is_as_listed(two_files):
    """A first process compiles for the processor of wheels, others find its file as one that the package brings."""
    kept, shipped = two_files / "kept", two_files / "shipped"
    (two_files / "shipping.py").write_text(SHIPPING)

    def compiled_files(**environment):
        ran = subprocess.run([sys.executable, two_files / "shipping.py", shipped], capture_output=True, text=True,
                             env=os.environ | {"SIMGRID_BROKER_CACHE": str(kept)} | environment, check=True)
        assert ran.stdout == "True\n"
        files = sorted(kept.glob("*.code"))
        return files, ran.stderr

    (made,), _ = compiled_files(NUMBA_CPU_NAME=kept_code.GENERIC, NUMBA_CPU_FEATURES="")
    shipped.mkdir()
    code, copy = made.read_bytes(), shipped / made.name
    listed = {"versions": kept_code.VERSIONS, "files": {made.name: sha256(code).hexdigest()}}
    for case, content, told, n_compiled, remark in (
            ("as listed", code, listed, 0, ""),
            ("damaged", code[:-1] + b"x", listed, 1, ""),
            ("missing", None, listed, 1, ""),
            ("not listed", code, listed | {"files": {}}, 1, ""),
            ("other versions", code, listed | {"versions": "cpython 3.99"}, 1, "is for cpython 3.99")):
        for path in (*kept.iterdir(), *shipped.iterdir()):
            path.unlink()
        (shipped / kept_code.DIGESTS).write_text(json.dumps(told))
        if content is not None:
            copy.write_bytes(content)
        files, said = compiled_files()
        assert (len(files), said.count("note:")) == (n_compiled, bool(remark)) and remark in said, case


@pytest.mark.slow
def test_damaged_code_is_compiled_again(tmp_path):
    folder_of_code = dict(os.environ, SIMGRID_BROKER_CACHE=str(tmp_path / "kept"))
    text = "from simgrid_broker.compiled import compiled\n@compiled\ndef twice(n):\n    return 2 * n\nprint(twice(4))\n"
    (tmp_path / "module.py").write_text(text)

    def printed():
        return subprocess.run([sys.executable, tmp_path / "module.py"], env=folder_of_code, capture_output=True,
                              text=True, check=True).stdout
    assert printed() == "8\n"
    kept = [*(tmp_path / "kept").glob("*.code")]
    assert kept
    for damage in (b"", kept[0].read_bytes()[:-9], b"\0" * 999):
        kept[0].write_bytes(damage)
        assert printed() == "8\n" and kept[0].read_bytes() != damage
