"""A nucleus that fills up, and a satellite that becomes one: storages keep their levels, and brokerage reacts."""

from pathlib import Path

import pytest

from simgrid_broker import metrics
from simgrid_broker.engine import simulate
from simgrid_broker.scenario import load_scenario
from simgrid_broker.units import HOUR, TB

FOLDER = Path(__file__).parents[2] / "scenarios"


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """A run of `nucleus_full.yaml` as it is."""
    return simulate(load_scenario(FOLDER / "nucleus_full.yaml"), folder=tmp_path_factory.mktemp("full") / "run",
                    validate=True)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """Runs of a day of `new_nucleus.yaml` as it is, and with the satellite as a nucleus."""
    folder, plan = tmp_path_factory.mktemp("pair"), load_scenario(FOLDER / "new_nucleus.yaml", until="24h")
    return (simulate(plan, folder=folder / "one"),
            simulate(plan.with_values({"grid.sites.SOUTH.nucleus": True}), folder=folder / "two"))


def test_expired_copies_are_deleted_when_less_than_the_minimum_is_free(full):
    old = full.table("storages").query("storage == 'OLD_DATADISK'").set_index("time_s")
    assert old.expired_bytes.max() == pytest.approx(12 * TB)               # from its end of life on
    assert old.expired_bytes[old.index < HOUR].max() == 0
    begins = old.index[old.deleted_bytes > 0][0]
    before = old[old.index < begins]
    assert before.free_bytes.min() > 0.9 * old.min_free_bytes.iloc[0] and old.deleted_bytes.iloc[-1] >= 12 * TB


def test_brokerage_turns_away_from_a_full_nucleus(full):
    tasks = full.tasks
    late = tasks[tasks.arrival_s > 23 * HOUR].nucleus.dropna()
    assert set(late) == {"NEW"} and "OLD" in set(tasks.nucleus)
    refused = metrics.with_labels(full, metrics.refusals(full))
    assert refused[refused.rule.str.startswith("-space")].value.sum() > 0


def test_what_was_moved_for_one_task_serves_the_next(full):
    jobs, moved = full.jobs, full.table("transfers").query("kind == 'input'")
    read = jobs[jobs.queue.isin(["EAST", "WEST"])].input_bytes.sum()
    assert 0 < moved["bytes"].sum() < 0.8 * read
    used = full.table("storages").query("storage == 'EAST_DATADISK'").free_bytes
    assert used.iloc[-1] < used.iloc[0] - TB


def test_levels_of_storages_are_shown(full):
    table = metrics.storage_levels(full)
    assert table.storage.iloc[0] in ("OLD_DATADISK", "NEW_DATADISK")
    one = table[table.storage == "OLD_DATADISK"].pivot_table("value", "time_s", "metric")
    assert (one.used + one.expired + one.free).to_numpy() == pytest.approx(100.0)
    assert (one.min_free == 20.0).all()


def test_a_second_nucleus_relieves_the_door_of_the_first(pair):
    table = metrics.comparison(*pair)["data"].set_index(["kind", "metric"])
    waiting = table.loc["output", "waiting_jobs"]
    assert waiting.changed < 0.5 * waiting.base            # output also waits for the last file of its sub-dataset
    assert 0.3 < (pair[1].tasks.nucleus == "SOUTH").mean() < 0.8


def test_brokerage_refuses_the_satellite_behind_a_narrow_door(pair):
    refused = [metrics.with_labels(run, metrics.refusals(run)) for run in pair]
    one, two = (table[table.rule.str.startswith("-link_unusable")].value.sum() for table in refused)
    assert one > two == 0
