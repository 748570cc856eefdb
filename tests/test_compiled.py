"""Where compiled code is kept, and when it is kept no longer."""

import subprocess
import sys

import pytest

from simgrid_broker import compiled


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of one source file for each place where compiled code may stand."""
    for place in ("luck.py", "names.py", "schema/jobs.py", "world/rows.py", "world/build.py", "fabric/loop.py",
                  "agents/adder.py"):
        file = tmp_path / place
        file.parent.mkdir(exist_ok=True)
        file.write_text("from simgrid_broker.compiled import compiled" if place != "world/build.py" else "plain = 1")
    monkeypatch.setattr(compiled, "PACKAGE", tmp_path)
    return tmp_path


@pytest.mark.parametrize(("place", "text", "is_new"), [
    pytest.param("fabric/loop.py", "# compiled anew", True, id="a compiled source"),
    pytest.param("schema/jobs.py", "another column", True, id="a table"),
    pytest.param("names.py", "another status", True, id="a vocabulary"),
    pytest.param("world/build.py", "plain = 2", False, id="a plain source"),
    pytest.param("agents/adder.py", "compiled = 1", False, id="a source of another room"),
])
def test_the_fingerprint_follows_what_was_compiled(package, place, text, is_new):
    before = compiled.sources_digest()
    (package / place).write_text(text)
    assert (compiled.sources_digest() != before) is is_new


def test_the_cache_lives_where_the_user_says(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMGRID_BROKER_CACHE", str(tmp_path / "kept"))
    folder = compiled.cache_folder.__wrapped__()
    assert folder.is_dir()
    assert folder.parent == tmp_path / "kept"
    assert folder.name == compiled.sources_digest()


def test_a_cache_that_cannot_be_made_is_replaced_by_a_passing_one(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("SIMGRID_BROKER_CACHE", str(tmp_path / "file"))
    assert compiled.kept_folder() is None and compiled.cache_folder.__wrapped__().is_dir()


def test_without_a_home_folder_compiled_code_is_not_kept(monkeypatch):
    def unknown():
        raise RuntimeError("Could not determine home directory.")
    monkeypatch.delenv("SIMGRID_BROKER_CACHE", raising=False)
    monkeypatch.setattr(compiled.Path, "home", unknown)
    assert compiled.kept_folder() is None and compiled.cache_folder.__wrapped__().is_dir()


def test_a_compiled_function_says_what_the_plain_one_says():
    def weigh(x, y):
        return x / y

    made = compiled.compiled(weigh)
    assert made(6.0, 3.0) == weigh(6.0, 3.0)
    assert made(1.0, 0.0) == float("inf")            # IEEE: no exception within compiled code


def test_importing_the_package_compiles_nothing():
    code = "import sys, simgrid_broker; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0
