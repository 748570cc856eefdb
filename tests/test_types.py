"""mypy finds nothing in the package; every exception is one row of `pyproject.toml` with its reason."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OVERRIDES = {("pandas.*", "pyarrow.*"), ("numba.*", "llvmlite.*"),
             ("scipy.*", "SALib.*", "optuna.*", "dask.*", "distributed.*", "IPython.*", "anyio.*", "rich.*", "PIL.*")}
"""Modules with mypy settings of their own; `pyproject.toml` gives the reason beside each."""


@pytest.mark.slow
def test_mypy_finds_nothing():
    pytest.importorskip("mypy")
    found = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


def test_no_line_is_ignored():
    ignored = [f"{path.relative_to(ROOT)}:{number}" for path in sorted(ROOT.glob("simgrid_broker/**/*.py"))
               for number, line in enumerate(path.read_text().splitlines(), start=1)
               if re.search(r"#\s*(type:\s*ignore|mypy:)", line)]
    assert not ignored, "give the value a better type"


def test_exceptions_are_known_and_have_a_reason():
    text = (ROOT / "pyproject.toml").read_text()
    settings = tomllib.loads(text)["tool"]["mypy"]
    assert {tuple(row["module"]) for row in settings["overrides"]} == OVERRIDES
    assert settings["disable_error_code"] == ["pydantic-field"]
    exceptions = re.findall(r"^(?:disable_error_code|ignore_missing_imports|follow_imports) = .*", text, re.MULTILINE)
    assert all(re.search(r"\s# \w", line) for line in exceptions)
