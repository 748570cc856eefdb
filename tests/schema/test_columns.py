"""Every column of every table is described, typed, read by somebody, and written if it is recorded."""

import ast
from dataclasses import fields
from functools import cache

import numpy as np
import pytest
from sources import nodes
from tables import check_each

from simgrid_broker import schema, views
from simgrid_broker.names import JobStatus, TaskStatus
from simgrid_broker.scenario.snapshot import SnapshotTask
from simgrid_broker.schema.attribute import columns_of
from simgrid_broker.schema.grid import ACTIVITIES
from simgrid_broker.schema.series import DISPATCH_ACCOUNTS
from simgrid_broker.schema.world import WORLD

VIEWS = (views.Task, views.Queues, views.Nuclei, views.PilotStatus)
TUPLES = (views.Stats, views.Locality, views.WorkQueueCounts)
RECORDS = (views.QUEUE, views.LOAD, views.STORE, views.LINK)

TABLES = tuple(dict.fromkeys([*WORLD.values(), *schema.RECORDED.values()]))
COLUMNS = {f"{table.row}: {column.name}": (column,) for table in TABLES for column in table.columns}

UNIT_OF_SUFFIX = {"_s": "s", "_mb": "MB", "_bytes": "bytes", "_hs06s": "HS06 s"}
ZERO_MEANINGS = {"zero", "default", "unlimited", "none", "any", "1", "2", "6", "2000", "no claim", "open",
                 "unknown, read as 10", "no pledge is known", "starting jobs count", "gdpconfig MAX_DISKIO_DEFAULT",
                 "unknown", "not given", "200",
                 "as long as the queue allows", "3 in all", "CPU time is claimed", "it is fixed", "not at all",
                 "not asked for by brokers"}
VOCABULARIES = {
    "brokered", "campaigns", "candidates", "cause", "decision_kind", "full_chain", "job_status", "labels", "pools",
    "processing_types", "pseudo_queues", "queue_status", "queues", "ramunits", "resource_types", "shares", "sites",
    "factors", "storages", "tags", "architectures", "transhomes", "container_names",
    "preassigned", "connectivities", "input_lan", "closed_by", "work_queues",
    "criteria", "reasons", "texts", "trace_status", "partitions", "batch_queues",
    "task_names", "task_status", "transfer_kind", "activity", "transpaths", "users", "working_groups",
    "throttled_by", "site_class", "task_class", "user_parameters", "datasets", "tapes", "staging_status",
    "vos", "request_types", "dataset_types", "dataset_status", "task_action", "changed_parameter",
}
NUMBERS_WITHOUT_UNIT = {
    # identifiers, places in a table, and flags: numbers that measure nothing
    "panda_id", "jeditaskid", "due_sequence", "task", "chunk", "attempt", "priority", "child", "sibling", "rank",
    "previous", "transfer", "transfer_id", "link", "first_job", "next", "next_chunk", "first_record", "max_attempt",
    "max_failure", "taskpriority", "retry_class", "old_panda_id", "ram_level", "across_files",
    "pool", "submitted_head", "submitted_tail", "first", "last", "serves_first", "serves_last", "slot", "worker_mode",
    "first_node", "last_node", "whole_nodes", "closed", "active_head", "place", "user_row", "priority_boost",
    "down", "tier", "nucleus", "request", "unified", "production", "analysis", "direct_io", "gpu", "uses_vp",
    "disable_reassign", "sends_time", "mean_memory_high", "use_only_local_data", "tape", "read_wan_off",
    "write_wan_off", "read_lan_off", "write_lan_off", "closeness", "decision", "order", "resource_type", "best",
    "source", "dataset", "subdataset", "look_sequence",
    "destination", "queue", "site", "storage", "luck", "n_nuclei", "bare_nucleus", "parent", "t1weight",
    "inputprestaging", "fail_goal_unreached", "use_exhausted", "no_auto_pause",
    "taskbrokeronmaster", "pull_ups", "only_tags_for_fc", "express", "always_direct_io", "use_jumbo_jobs", "uselocalio",
    "eventservice", "allowinputwan", "reads_wan", "n_es_consumers", "max_attempt_es", "mergeoutput", "groupboundaryid",
    "of_task", "secondaries", "ends_early",
    # ratios
    "lost_heartbeats", "stage_out_errors", "memory_kills", "failed_cpu_efficiency",
    "failure_rate", "work_spread", "memory_spread", "cpu_efficiency", "utilisation", "best_weight",
    "secondary_fraction", "weight", "batch_latency_spread", "record", "submission_failures", "multiplier",
    "events_spread", "size_spread", "memory_leak_x2", "slot_life_spread",
    # values of parameters of different units
    "before", "after",
}


def test_columns_are_described():
    def check(column):
        assert column.source.strip() and column.description.strip()
        assert column.zero_means in ZERO_MEANINGS
        assert column.codes is None or column.codes in VOCABULARIES
    check_each(COLUMNS, check)


def test_columns_have_a_unit_or_are_numbers_without_one():
    def check(column):
        if not column.unit:
            assert column.codes or column.name in NUMBERS_WITHOUT_UNIT
        for suffix, unit in UNIT_OF_SUFFIX.items():
            if column.name.endswith(suffix):
                assert column.unit.endswith(unit)
    check_each(COLUMNS, check)


def test_rows_have_the_columns_in_their_types_and_order_under_unique_names():
    def check(table):
        names = tuple(column.name for column in table.columns)
        assert table.dtype.names == names and len(set(names)) == len(names)
        for column in table.columns:
            assert table.dtype[column.name] == np.dtype(column.dtype)
        assert table.dtype.isalignedstruct
        assert table.empty(3).shape == (3,) and not table.empty(3).view(np.uint8).any()
    check_each({table.row: (table,) for table in TABLES}, check)


@pytest.mark.parametrize(("table", "most_bytes"), [
    pytest.param(schema.JOBS, 192, id="jobs: half a million live at once"),
    pytest.param(schema.TASKS, 344, id="tasks: 16 bytes are what their jobs reported about leaks and merging"),
    pytest.param(schema.TRANSFERS, 152, id="transfers"),
])
def test_a_row_is_small_and_wastes_little(table, most_bytes):
    used = sum(np.dtype(column.dtype).itemsize for column in table.columns)
    assert used <= table.dtype.itemsize <= min(used + 8, most_bytes)


def test_there_is_a_time_for_each_status():
    assert schema.JOB_TIMES == tuple(f"{status.word}_s" for status in JobStatus)
    assert schema.TASK_TIMES == tuple(f"{status.word}_s" for status in TaskStatus)


def test_truth_that_no_decision_may_see_is_in_no_view():
    seen = {(view.__name__, field.name) for view in VIEWS for field in fields(view)}
    seen |= {("record", name) for dtype in RECORDS for name in dtype.names}
    seen |= {(view.__name__, name) for view in TUPLES for name in view._fields}
    seen -= {("WorkQueueCounts", "walltime_s")}      # what jobs ask for, not what they take
    hidden = {column.name for table in WORLD.values() for column in table.columns if column.hidden}
    assert "work_hs06s" in hidden
    assert not {(view, name) for view, name in seen if name in hidden}


@cache
def strings_loaded() -> frozenset[str]:
    """Every text that stands in the package's code (outside the tables) where something is not being assigned to it."""
    found = {f"{activity}_off" for activity in ACTIVITIES}        # names that are put together where they are read
    found |= {f"n_{name}" for name in DISPATCH_ACCOUNTS}
    for file, all_of_it in nodes().items():
        if file.parent.name == "schema":
            continue
        stored = {id(node.slice) for node in all_of_it
                  if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)}
        found |= {node.value for node in all_of_it
                  if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in stored}
    return frozenset(found)


def test_columns_of_the_world_that_are_not_recorded_have_a_reader():
    columns = [column for table in WORLD.values() for column in table.columns
               if table not in schema.RECORDED.values() or not column.recorded]
    unread = [column.name for column in columns             # rules find what is seen in the view
              if not column.seen and column.name not in strings_loaded()]
    assert unread == []


def test_what_a_task_does_not_say_is_null_in_a_snapshot():
    column = next(one for one in columns_of(SnapshotTask) if one.key == "workdiskcount")
    assert (column.back(float("nan"), {}), column.back(0.0, {}), column.back(500.0, {})) == (None, 0.0, 500.0)
