"""What all tests share: how Hypothesis looks for examples, and the option that renews the baselines.

Its folder is importable, so that every test can say `from builders import ...`.
"""

import os

from hypothesis import settings

settings.register_profile("house", deadline=None, derandomize=True)     # the first example may wait for compiling
settings.load_profile("house")


os.environ["COLUMNS"] = "110"       # the width of the outputs that the tests compare with, in every worker process


def pytest_addoption(parser):
    """`pytest --update` writes the baselines of the regression tests anew instead of comparing with them."""
    parser.addoption("--update", action="store_true", help="write the baselines anew instead of comparing")
