"""What all tests share: how Hypothesis looks for examples, and the option that renews the baselines.

Its folder is importable, so that every test can say `from builders import ...`.
"""

import os

import numba
import pytest
from hypothesis import settings

from simgrid_broker.compiled import stock

settings.register_profile("house", deadline=None, derandomize=True)     # the first example may wait for compiling
settings.load_profile("house")


os.environ["COLUMNS"] = "110"       # the width of the outputs that the tests compare with, in every worker process


def pytest_addoption(parser):
    """`pytest --update` writes the baselines of the regression tests anew instead of comparing with them."""
    parser.addoption("--update", action="store_true", help="write the baselines anew instead of comparing")


@pytest.fixture(scope="session", autouse=True)
def own_compiler():
    """Fails if the own compiler failed with a version of Numba with which it was tried."""
    yield
    assert stock.failure() is None or numba.__version__ not in stock.TRIED, repr(stock.failure())
