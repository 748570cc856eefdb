"""Hourly sums of ended attempts: groups by key, in the order of their keys, and hours that are handed out when over."""

import numpy as np
import pytest

from simgrid_broker.names import JobStatus
from simgrid_broker.records.writer import KEY, EndedJobs
from simgrid_broker.schema import JOBS
from simgrid_broker.schema.series import ENDED
from simgrid_broker.units import HOUR


def ended(*rows: dict) -> np.ndarray:
    """Rows of ENDED with one job each and the given columns; the others are 0."""
    found = np.zeros(len(rows), ENDED.dtype)
    found["jobs"] = 1
    for row, values in zip(found, rows, strict=True):
        for name, value in values.items():
            row[name] = value
    return found


@pytest.mark.parametrize("name", KEY)
def test_attempts_that_differ_in_one_column_are_apart(name):
    small, large = (HOUR, 2 * HOUR) if name == "time_s" else (-1, 3)
    found = ENDED.summed(ended({name: large}, {name: small}, {name: large}), KEY)
    assert found[name].tolist() == [small, large] and found["jobs"].tolist() == [1, 2]


def test_groups_come_by_their_keys_the_first_column_first():
    rng = np.random.default_rng(1)
    rows = ended(*({name: rng.integers(3) * (HOUR if name == "time_s" else 1) for name in KEY} for _ in range(300)))
    rows["core_s"] = rng.random(300)
    found, by_hand = ENDED.summed(rows, KEY), {}
    for row in rows:
        by_hand.setdefault(tuple(row[list(KEY)].item()), []).append(row["core_s"])
    assert [tuple(row.item()) for row in found[list(KEY)]] == sorted(by_hand)
    assert found["core_s"].tolist() == [sum(by_hand[key]) for key in sorted(by_hand)]


def test_an_hour_is_handed_out_when_an_attempt_of_the_next_has_ended():
    def at(*moments: float) -> tuple[np.ndarray, np.ndarray]:
        jobs, times = JOBS.empty(len(moments)), np.full((len(moments), len(JobStatus)), np.nan)
        jobs[:] = np.zeros(len(moments), JOBS.dtype)
        jobs["status"], times[:, JobStatus.FINISHED] = JobStatus.FINISHED, moments
        return jobs, times
    book = EndedJobs()
    assert len(book.add(*at())) == 0
    assert len(book.add(*at(10.0, 3599.0))) == 0
    assert book.add(*at(3500.0, 3601.0))["jobs"].tolist() == [3]
    assert book.open["time_s"].tolist() == [HOUR]
