"""The check that goes over a whole table names every row that fails."""

import pytest
from tables import check_each


def test_all_rows_are_checked_and_those_that_fail_are_named():
    def check(part, whole):
        assert whole % part == 0
    check_each({"two": (2, 4), "three": (3, 9)}, check)
    with pytest.raises(AssertionError) as failed:
        check_each({"nothing": (0, 4), "two": (2, 4), "three": (3, 4)}, check)
    first, nothing, three, *_ = str(failed.value).splitlines()
    assert first == "2 of 3 rows"
    assert nothing.startswith("nothing: ZeroDivisionError") and three.startswith("three: AssertionError")
