"""scripts/break_runs.py: random breaks in random grids, and the setting that `why` names for each."""

from random import Random

import break_runs
import pytest

from simgrid_broker.metrics.chain import Cause, Why

SEEDS = (507, 513)
"""Seeds of two breaks, of job generation and of workers."""


@pytest.mark.parametrize("seed", SEEDS)
def test_the_setting_that_is_named_raises_the_share_when_it_is_relaxed(seed, tmp_path):
    found = break_runs.judged(seed, tmp_path)
    assert found.is_right and found.settings, break_runs.line(found)


def test_a_seed_makes_one_grid():
    assert break_runs.grid_of(Random(3)) == break_runs.grid_of(Random(3)) != break_runs.grid_of(Random(4))


def test_the_table_counts_right_answers_among_breaks_that_count():
    cause = Cause("throttler", "jobs are not generated", ("gdpconfig.JOB_SUBMISSION",))
    answer = Why("Evgen", 100.0, 100.0, 100.0, 2.0, (), (cause,), 4, 4)
    right = break_runs.Verdict(7, "JOB_SUBMISSION", answer, cause.settings, (90.0, 2.0, 90.0))
    wrong, none = right._replace(settings=(), cores=(90.0, 2.0, 2.0)), right._replace(answer=None)
    assert "right, Evgen 90 -> 2 -> 90 of 100" in break_runs.line(right) and "WRONG" in break_runs.line(wrong)
    assert break_runs.line(none).endswith("no question")
    assert break_runs.table([right, wrong, none]).endswith("3 scenarios, 2 breaks that count, 1 answers right, 50 %")
