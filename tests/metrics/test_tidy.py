"""Tables of rows and columns made of long ones."""

import numpy as np
import pandas as pd

from simgrid_broker.metrics import matrix, wide
from simgrid_broker.metrics.window import grouped, largest, sums, sums_of_batches, texts


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


def rows_with_gaps():
    share = pd.Categorical(["late", "early", "late", "early", None], ["unused", "late", "early"])
    return pd.DataFrame({"share": share, "hour": [2, 1, 1, 1, 1], "jobs": [1, 2, 3, 4, 5],
                         "wait": [0.5, np.nan, 1.5, 2.5, 9.0]})


def test_sums_are_those_of_groups_in_the_order_of_names_without_rows_that_lack_one():
    table = rows_with_gaps()
    found = sums(table, ["share", "hour"], "jobs", "wait")
    theirs = table.astype({"share": object}).groupby(["share", "hour"])[["jobs", "wait"]].sum().reset_index()
    pd.testing.assert_frame_equal(found, theirs, check_dtype=False)
    assert (found.share.tolist(), found.jobs.dtype.kind) == (["early", "late", "late"], "i")
    assert sums(table[:0], ["share", "hour"], "jobs").columns.tolist() == ["share", "hour", "jobs"]


def test_batches_whose_names_have_other_categories_have_the_sums_of_their_rows_together():
    table = rows_with_gaps()
    batches = (part.assign(share=part.share.cat.remove_unused_categories()) for part in (table[:2], table[2:]))
    pd.testing.assert_frame_equal(sums_of_batches(batches, ["share", "hour"], "jobs"),
                                  sums(table, ["share", "hour"], "jobs"))


def test_groups_by_more_combinations_than_there_are_numbers_are_those_of_pandas():
    draw = np.random.default_rng(1)
    table = pd.DataFrame({name: draw.integers(0, 2000, 3000) for name in "abcdefg"})
    table = pd.concat([table, table], ignore_index=True)
    np.testing.assert_array_equal(grouped(table, list(table))[1], table.groupby(list(table)).ngroup())


def test_the_largest_value_of_a_group_leaves_out_what_is_missing():
    table = rows_with_gaps()
    keys, group = grouped(table, ["share"])
    assert (keys["share"].tolist(), group.tolist()) == (["early", "late"], [1, 0, 1, 0, -1])
    np.testing.assert_array_equal(largest(table.wait.to_numpy(), group, 2), [2.5, 1.5])


def test_names_become_texts_and_numbers_stay():
    found = texts(rows_with_gaps())
    assert (found.share.dtype, found.jobs.dtype.kind) == (object, "i") and found.share[:2].tolist() == ["late", "early"]
