"""What all tests share: the option that renews the baselines. Its folder is importable, so `import builders` works."""


def pytest_addoption(parser):
    """`pytest --update` writes the baselines of the regression tests anew instead of comparing with them."""
    parser.addoption("--update", action="store_true", help="write the baselines anew instead of comparing")
