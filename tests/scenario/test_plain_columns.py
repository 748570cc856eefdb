"""Columns of texts that are read together say what the same texts say one by one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simgrid_broker.scenario.importers import sheets

FIELDS = st.one_of(
    st.sampled_from(["", "0", "-0", "7", "12.50", "1e3", "+4", ".5", "5.", " 6", "nan", "null", "inf", "9" * 400, "1_0",
                     "٣", "1\n2", "1/27/2025 11:27", "01/27/2025 11:27:05", "2/30/2025 1:00", "2025-01-27 02:51:00",
                     "2025-01-27T02:51:00.25", "2025-01-27T02:51:00+01:00", "1/1/0001 0:00", "9999-12-31 23:59:59"]),
    st.floats(0, 1e9).map(str), st.datetimes().map(lambda moment: moment.strftime("%m/%d/%Y %H:%M")))


class Refused(list):
    """Lines of the values that cannot be read, in place of `BadLines`."""

    def add(self, line, *of_problem):
        """Note a line."""
        self.append(line)


def column(values, read):
    """Numbers of a column, and the rows that cannot be read."""
    refused = Refused()
    sheet = sheets.Sheet("table.csv", {"x": values}, range(len(values)))
    return sheets._numbers(sheet, "x", values, read, "a number was expected", refused).tolist(), refused


@given(st.lists(FIELDS, min_size=1, max_size=4), st.sampled_from([sheets._number, sheets._time]))
def test_texts_read_together_are_the_numbers_of_each(values, read):
    numbers, refused = column(values, read)
    alone, unread = column([*values, None], read)              # with a null none is read together with another
    assert refused == unread
    np.testing.assert_array_equal(numbers, alone[:-1])


def test_plain_columns_are_read_together():
    assert sheets._plain_column(["1", "", "-2.5"], False).tolist()[::2] == [1, -2.5]
    assert sheets._plain_column(["1/27/2025 11:27", "1/27/2025 11:28"], True).tolist() == [1737977220, 1737977280]
    for values in (["1", None], ["1", " 2"], ["9" * 400], ["1/27/2025 11:27", ""]):
        assert sheets._plain_column(values, True) is None
