"""What all tests share: how Hypothesis looks for examples, and the option that renews the baselines.

Its folder is importable, so that every test can say `from builders import ...`.
"""

from hypothesis import settings

settings.register_profile("house", deadline=None, derandomize=True)     # the first example may wait for compiling
settings.load_profile("house")


def pytest_addoption(parser):
    """`pytest --update` writes the baselines of the regression tests anew instead of comparing with them."""
    parser.addoption("--update", action="store_true", help="write the baselines anew instead of comparing")
