"""Checks that go over every row of a table in one test, with all failures in one message."""

from collections.abc import Callable, Mapping


def check_each(rows: Mapping[str, tuple], check: Callable[..., object]) -> None:
    """Call a check with the values of each row; fail with the name and the message of every row that failed."""
    failures = []
    for name, values in rows.items():
        try:
            check(*values)
        except Exception as error:          # a row that raises must not hide those behind it
            failures.append(f"{name}: {type(error).__name__}: {error}")
    assert not failures, f"{len(failures)} of {len(rows)} rows\n" + "\n".join(failures)
