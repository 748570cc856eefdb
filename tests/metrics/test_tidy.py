"""Tables of rows and columns made of long ones."""

import numpy as np
import pandas as pd

from simgrid_broker.metrics import matrix, wide


def test_a_matrix_has_sums_in_the_order_of_rows_and_columns():
    table = pd.DataFrame({"time_s": [20.0, 10.0, 20.0, 20.0], "share": ["b", "a", "b", "a"],
                          "value": [1.0, 2.0, 3.0, np.nan]})
    found = matrix(table, "time_s", "share")
    assert found.index.tolist() == [10.0, 20.0] and found.columns.tolist() == ["a", "b"]
    np.testing.assert_array_equal(found, [[2.0, np.nan], [np.nan, 4.0]])


def test_categories_keep_their_order_and_unused_ones_are_left_out():
    share = pd.Categorical(["late", "early", "late"], ["unused", "late", "early"])
    found = matrix(pd.DataFrame({"site": ["x", "x", "y"], "share": share, "n": [1, 2, 3]}), "site", "share", "n")
    assert found.columns.tolist() == ["late", "early"]
    np.testing.assert_array_equal(found, [[1.0, 2.0], [3.0, np.nan]])


def test_a_matrix_without_rows_is_empty():
    assert matrix(pd.DataFrame({"a": [], "b": [], "value": []}), "a", "b").shape == (0, 0)


def test_a_wide_table_has_a_row_for_each_combination_in_order_of_appearance():
    table = pd.DataFrame({"site": ["y", "x", "y", "x"], "level": [1.0, np.nan, 1.0, 2.0],
                          "metric": pd.Categorical(["used", "used", "free", "used"], ["used", "free"]),
                          "value": [3.0, 4.0, 5.0, 6.0]})
    found = wide(table)
    assert found.site.tolist() == ["y", "x", "x"]
    np.testing.assert_array_equal(found[["level", "used", "free"]], [[1, 3, 5], [np.nan, 4, np.nan], [2, 6, np.nan]])
    assert wide(table[:0]).columns.tolist() == ["site", "level", "used", "free"]


def test_a_wide_table_without_dimensions_has_one_row():
    found = wide(pd.DataFrame({"metric": ["used", "free"], "value": [3.0, 5.0]}))
    assert found.to_dict("list") == {"used": [3.0], "free": [5.0]}
