"""The package of examples, installed without a network."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
PACKAGE = "simgrid_broker_examples"
BUILD = "import setuptools; setuptools.setup()"


@pytest.fixture(scope="session")
def installed(tmp_path_factory) -> Path:
    """A folder in which the package of examples is installed, without a network."""
    source, target = tmp_path_factory.mktemp("source") / PACKAGE, tmp_path_factory.mktemp("site")
    shutil.copytree(EXAMPLES / PACKAGE, source)
    subprocess.run([sys.executable, "-W", "ignore", "-c", BUILD, "-q", "egg_info", "--egg-base", str(target),
                    "build_py", "--build-lib", str(target)], cwd=source, check=True, capture_output=True)
    return target


@pytest.fixture
def door(installed, monkeypatch):
    """The package of examples can be imported, and its entry points are found."""
    monkeypatch.syspath_prepend(installed)
