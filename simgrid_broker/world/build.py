"""Builds a world from a scenario and its tasks."""

from collections.abc import Collection

import numpy as np

from simgrid_broker import luck
from simgrid_broker.bundle import zeros_in_lines
from simgrid_broker.editions import record_of
from simgrid_broker.errors import Problem, ScenarioError, nearest
from simgrid_broker.names import (
    ANALYSIS_LABELS,
    ASKED_LABELS,
    BUILD,
    EXPRESS_PRIORITY,
    EXPRESS_TYPE,
    FTS_ACTIVITIES,
    JOB_TYPE_OF_TESTS,
    LABELS_OF_TESTS,
    PMERGE,
    Cause,
)
from simgrid_broker.scenario.grid.expand_grid import link_table
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.scenario.shares import n_resource_queues, queue_names
from simgrid_broker.scenario.terms import TERMS
from simgrid_broker.scenario.work.draws import catalogue, secondary_lists, with_sizes
from simgrid_broker.scenario.work.tasklist import TaskList
from simgrid_broker.schema import FIXED_WORDS, JOBS, TRANSFERS
from simgrid_broker.schema.grid import LINKS, OFF, STORAGES
from simgrid_broker.schema.tasks import builds_library, changed
from simgrid_broker.systems.events.table import CHUNK, RANGE
from simgrid_broker.world import arrays, queue_tables
from simgrid_broker.world.data.datasets import Secondary, hold_catalogue, hold_inputs, input_tables, secondary_tables
from simgrid_broker.world.data.network import gate_tables
from simgrid_broker.world.jobs.transitions import allowed_moves
from simgrid_broker.world.shares import leaf_shares, share_tree
from simgrid_broker.world.task_queues import draw_tables
from simgrid_broker.world.tasks.rows import task_tables
from simgrid_broker.world.users.jobs import FIRST_USER_ROWS
from simgrid_broker.world.world import World

FIRST_ROWS = 4096
"""Rows that growing tables begin with."""

OUTBOX_ROWS = 131_072
"""Ended attempts and transfers that are kept at most before they must be written; on a small grid fewer."""


def build(scenario: Scenario, task_list: TaskList, arrival_s: np.ndarray | None = None,
          whole: Collection[int] = ()) -> World:
    """World of a scenario at time 0: nothing runs, no task has arrived.

    task_list: the tasks that arrive first; arrival_s: of all tasks, (n_tasks,), ascending; default: there are no
    others; whole: numbers of unified queues that brokers also see as they are. Raises ScenarioError if an incident is
    about a task that never comes.
    """
    only_tasks_that_come(scenario, task_list.rows["arrival_s"] if arrival_s is None else arrival_s,
                         task_list.vocabularies["task_names"])
    grid = scenario.grid
    tables = _grid_tables(scenario, whole)
    n_queues, n_shares = len(grid.queues), len(leaf_shares(scenario.shares_in_use))
    n_groups = n_shares * (1 + n_resource_queues(scenario.work_queues))
    n_types, n_users = len(scenario.resource_types), len(task_list.vocabularies["users"])
    growing = input_tables(scenario, len(task_list.rows)) | _growing(int(tables["pools"]["cores"].sum()))
    growing |= secondary_tables(lists_of(scenario), len(growing["jobs"]))
    made = arrays.Arrays(
        state=_state(tables["pools"]), settings=_settings(scenario, task_list),
        **tables, **task_tables(scenario, task_list), **growing, **_free_rows(growing),
        activated=np.full((len(tables["pseudo_queues"]), n_shares), -1, np.int32),
        newest_activated=np.full((len(tables["pseudo_queues"]), n_shares), -1, np.int32),
        oldest=np.full(len(tables["pseudo_queues"]), -1, np.int32),
        share_order=np.arange(n_shares, dtype=np.int32), share_rank=np.arange(n_shares, dtype=np.int32),
        shares_by_rank=np.arange(n_shares, dtype=np.int32),
        counts=np.zeros((n_queues, n_groups, n_types, arrays.N_STATUS), np.int32),
        running_cores=np.zeros((n_queues, n_groups, n_types), np.int32),
        memory_asked=np.zeros((n_queues, 2), np.int64), disk_traffic=np.zeros(n_queues, np.int64),
        transferring_to=np.zeros((n_queues, len(grid.sites)), np.int64),
        hs06_milli=np.zeros(n_shares, np.int64), user_counts=np.zeros((n_users, arrays.N_STATUS), np.int32),
        user_cores=np.zeros(n_users, np.int32),
        user_jobs=np.zeros((FIRST_USER_ROWS, n_queues, arrays.N_USER_NUMBERS), np.int32),
        user_queued_cores=np.zeros(FIRST_USER_ROWS, np.int32),
        **draw_tables(1, len(tables["pseudo_queues"]), 1), cpu_classes=np.zeros(0),
        n_asked=np.zeros(len(tables["pseudo_queues"]), np.int64),
        allowed=allowed_moves(), retry_rules=no_retry_rules(), trace=task_list.trace,
    )
    world = World(made, scenario, share_tree(scenario.shares_in_use), vocabularies(scenario, task_list, tables))
    world.merges_output = merges_output(scenario, task_list)
    hold_catalogue(world)
    _stop_links_of_storages(world)
    hold_inputs(world, np.arange(len(task_list.rows)), task_list)
    return world


def lists_of(scenario: Scenario) -> list[list[Secondary]]:
    """The lists of secondary datasets with replicas of their own, with means of a piece of the input of each stream."""
    found, streams = [], {stream.name: stream for stream in scenario.workload.streams}
    for name, secondaries in secondary_lists(scenario).items():
        stream, shared = streams[name], catalogue(scenario)
        assert stream.input is not None
        events = stream.events_per_piece or stream.input.events_per_file
        found.append([Secondary(shared.names.index(one.dataset or ""), one.files_for(events) * one.file_size,
                                one.files_for(events), one.is_read_again, luck.key_of(one.dataset or ""))
                      for one in with_sizes(secondaries, shared)])
    return found


def _stop_links_of_storages(world: World) -> None:
    """Stop the links from sites whose storage is off for reading over WAN, and to those where it is off for writing."""
    arrays, n = world.arrays, len(world.arrays.sites)
    down, storage = arrays.links["down"].reshape(n, n), arrays.sites["storage"]
    for activity, links in (("read_wan_off", down), ("write_wan_off", down.T)):
        off = (storage >= 0) & (arrays.storages[activity][storage] == OFF["OFF"])
        links[off] += 1 - np.eye(n, dtype=links.dtype)[off]


def only_tasks_that_come(scenario: Scenario, arrival_s: np.ndarray, names: tuple[str, ...]) -> None:
    """Refuse what is said of tasks that do not exist; which there are is known only when they have been drawn."""
    n_tasks = len(arrival_s)
    problems = [_unknown_task(scenario, f"record.tasks[{position}]", task, n_tasks, names)
                for position, task in enumerate(scenario.record.tasks) if not _comes(task, n_tasks, names)]
    for position, incident in enumerate(scenario.incidents):
        if incident.task is None or incident.at >= scenario.duration:
            continue
        if not _comes(incident.task, n_tasks, names):
            problems.append(_unknown_task(scenario, f"incidents[{position}].task", incident.task, n_tasks, names))
        elif isinstance(incident.task, int) and arrival_s[incident.task - 1] > incident.at:
            problems.append(_problem(scenario, f"incidents[{position}].at", incident.at, "must not be before the task "
                                     f"arrives, at {arrival_s[incident.task - 1]:.15g} s"))
    if problems:
        raise ScenarioError(problems)


def _comes(task: int | str, n_tasks: int, names: tuple[str, ...]) -> bool:
    """Test for a task of that number or name that arrives within the run; bags of user work may be too few."""
    return 1 <= task <= n_tasks if isinstance(task, int) else task in names


def _unknown_task(scenario: Scenario, key: str, task: int | str, n_tasks: int, names: tuple[str, ...]) -> Problem:
    return _problem(scenario, key, task, f"expected the name of a task, or the number of one that arrives within the "
                    f"run, 1 to {n_tasks}", nearest(str(task), names))


def _problem(scenario: Scenario, key: str, value, expected: str, close: tuple[str, ...] = ()) -> Problem:
    origin = scenario.origin(key)
    return Problem(origin.file, origin.line, key, value, expected, close)


def _grid_tables(scenario: Scenario, whole: Collection[int]) -> dict[str, np.ndarray]:
    grid = scenario.grid
    of_queue, pools = queue_tables.pools_of(grid)
    queues = queue_tables.queue_table(grid, of_queue)
    numbers, queues["worker_mode"] = queue_tables.modes_of(scenario)
    modes = queue_tables.mode_table(numbers)
    pseudo_queues = queue_tables.pseudo_queue_table(queues, scenario.resource_types, pools, modes, whole)
    pool_rows, members = queue_tables.pool_table(pools, pseudo_queues, scenario.start == "filled")
    nodes = queue_tables.node_table(pools, pool_rows)
    accounts = queue_tables.worker_accounts(pseudo_queue_names(scenario, pseudo_queues))
    sites = queue_tables.site_table(grid)
    return dict(sites=sites, worker_modes=modes, queues=queues, pseudo_queues=pseudo_queues,
                eviction_hours=queue_tables.eviction_hours(grid, queues),
                pools=pool_rows, pool_members=members, nodes=nodes,
                roomy_nodes=np.arange(len(nodes), dtype=np.int32), worker_accounts=accounts,
                **_link_tables(scenario), **gate_tables(grid, sites["storage"]),
                storages=_storage_table(grid))


def _storage_table(grid) -> np.ndarray:
    """Storages at the start: what is neither free nor expired is in use."""
    rows = STORAGES.filled(tuple(grid.storages.values()), queue_tables.numbers_of(grid))
    rows["used_bytes"] = rows["total_bytes"] - rows["free_bytes"] - rows["expired_bytes"]
    rows["first_free_bytes"] = rows["free_bytes"]
    rows["drives"] = [storage.drives or 0 for storage in grid.storages.values()]
    return rows


def _link_tables(scenario: Scenario) -> dict[str, np.ndarray]:
    """Links, with what waits at them, and how FTS treats them."""
    dense = link_table(scenario)
    table = LINKS.empty(dense["bandwidth"].size)
    for name, values in dense.items():
        table[name] = values.ravel()
    for name in ("active_head", "place"):
        table[name] = -1
    table["due_s"] = np.inf
    table["active_limit"] = table["max_active_files"]
    lanes = np.zeros((len(table), arrays.N_ACTIVITIES), arrays.LANE)
    lanes["head"] = lanes["tail"] = -1
    shares = scenario.grid.fts.shares
    return dict(links=table, lanes=lanes, busy_links=np.zeros(len(table), np.int32),
                fts_memory=np.zeros(len(table), arrays.FTS_MEMORY),
                activity_shares=np.array([shares.get(activity.word, 1.0) for activity in FTS_ACTIVITIES]))


def _state(pools) -> np.ndarray:
    state = np.zeros(1, arrays.STATE)
    state["fault_row"] = state["fault_table"] = -1
    state["total_cores"] = pools["cores"].sum()
    state["next_cycle_s"] = np.inf
    return state


def first_job_rows(total_cores: int) -> int:
    """Rows of jobs at the start: enough for a grid that is full, so that the table seldom has to grow.

    With about five cores a job, jobs that wait and jobs whose output moves come to about one live job for each core;
    rows that were never used cost no memory.
    """
    return max(FIRST_ROWS, total_cores * 5 // 4)


def _settings(scenario: Scenario, task_list: TaskList) -> np.ndarray:
    agents, fts, terms = scenario.agents, scenario.grid.fts, TERMS[scenario.edition]
    vocabularies = task_list.vocabularies
    labels, types = vocabularies["labels"], vocabularies["processing_types"]

    def bits(asked) -> int:
        return sum(1 << code for code, label in enumerate(labels) if label in asked)

    def code(name: str) -> int:
        return types.index(name) if name in types else -1
    settings = np.zeros(1, arrays.SETTINGS)
    for name, value in dict(
            seed=scenario.seed, pilot_startup_s=agents.pilot_startup, empty_pilot_s=agents.empty_pilot,
            first_update_s=agents.first_update, by_share=1,
            rank_by_priority=1, urgent=code(EXPRESS_TYPE),
            express_priority=record_of(EXPRESS_PRIORITY, scenario.edition),
            build=-1, build_walltime_s=np.inf,
            user_labels=bits(ANALYSIS_LABELS) if terms.asks_users else 0,
            production_labels=bits(ASKED_LABELS["production"]),
            analysis_labels=bits(ASKED_LABELS["analysis"]), test_labels=bits(LABELS_OF_TESTS),
            test_type=code(JOB_TYPE_OF_TESTS), only_tests=terms.only_tests,
            any_diskio=any_diskio(scenario, task_list), users=bits(ANALYSIS_LABELS),
            transfer_retries=fts.retries, retry_delay_s=fts.retry_delay, stuck_delay_s=fts.stuck_delay,
            lost_callbacks=fts.lost_callbacks,
            dispatch_lifetime_s=scenario.data.dispatch_lifetime).items():
        settings[name] = value
    return settings


def any_diskio(scenario: Scenario, task_list: TaskList) -> bool:
    """True if any task may have disk traffic: it is claimed, or scouts may measure it."""
    work = scenario.workload
    return bool(task_list.rows["diskio"].any()) or any(each.diskIO or each.useScout
                                                       for each in (*work.campaigns, *work.users))


def _growing(total_cores: int) -> dict[str, np.ndarray]:
    """The tables that grow with the number of live jobs, and the outboxes; one pilot a core must find an event.

    Events have room for those of as many transfers and sub-datasets, so that none is made longer before the run.
    """
    n_jobs = first_job_rows(total_cores)
    n_ended = min(n_jobs, OUTBOX_ROWS)
    return dict(
        jobs=zeros_in_lines(n_jobs, JOBS.dtype), job_times=zeros_in_lines((n_jobs, arrays.N_STATUS), float),
        job_tasks=np.zeros(n_jobs, np.int32), job_queues=np.zeros(n_jobs, np.int16),
        job_status=np.zeros(n_jobs, np.int8), neighbours=np.zeros(n_jobs, arrays.NEIGHBOUR),
        quiet_s=np.zeros((n_jobs, arrays.N_SCANS), np.float32),
        ages=np.zeros(n_jobs, arrays.AGE), job_files=np.zeros(n_jobs, arrays.JOB_FILES),
        event_jobs=np.zeros(0, arrays.EVENT_JOB), event_ranges=np.zeros(0, RANGE), event_chunks=np.zeros(0, CHUNK),
        event_state=np.zeros(5, np.int64), ranges_found=np.zeros(4096, np.int64),
        transfers=TRANSFERS.empty(FIRST_ROWS), user_input=np.zeros(FIRST_ROWS, bool),
        retries=np.zeros(FIRST_ROWS, arrays.RETRY), subdatasets=np.zeros(FIRST_ROWS, arrays.SUBDATASET),
        submissions=np.zeros(FIRST_ROWS, arrays.SUBMISSION),
        events=np.zeros(6 * FIRST_ROWS + total_cores, arrays.EVENT),
        far_events=np.zeros(6 * FIRST_ROWS + total_cores, arrays.EVENT),
        pending=np.zeros(FIRST_ROWS, arrays.WAITING), holding=np.zeros(FIRST_ROWS, arrays.WAITING),
        done_jobs=JOBS.empty(n_ended), done_times=np.zeros((n_ended, arrays.N_STATUS)),
        done_transfers=TRANSFERS.empty(n_ended), done_tasks=np.zeros(FIRST_ROWS, np.int32),
        lessons=np.zeros(FIRST_ROWS, arrays.LESSON))


def _free_rows(tables: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Stacks of free rows of tables in which no row is in use: the first row is on top."""
    n_rows = [len(tables[name]) for name in arrays.REUSED]
    return dict(n_free=np.array(n_rows), **{f"free_{name}": np.arange(n - 1, -1, -1, dtype=np.int32)
                                            for name, n in zip(arrays.REUSED, n_rows, strict=True)})


def no_retry_rules(n_classes: int = 1) -> np.ndarray:
    """Consequences of failures without any rule: another attempt; (n_classes, n_causes) of RETRY_RULE."""
    return np.zeros((n_classes, len(Cause)), arrays.RETRY_RULE)


def merges_output(scenario: Scenario, task_list: TaskList) -> bool:
    """True if any task may ask that its output is merged."""
    work = scenario.workload
    return bool(task_list.rows["mergeoutput"].any()) or any(each.mergeOutput for each in (*work.campaigns, *work.users))


def pseudo_queue_names(scenario: Scenario, table: np.ndarray) -> tuple[str, ...]:
    """Names of the pseudo-queues: that of the queue, and its resource type where it is unified."""
    queues, types = tuple(scenario.grid.queues), tuple(scenario.resource_types)
    return tuple(queues[queue] + (f"/{types[kind]}" if kind >= 0 else "") for queue, kind in zip(
        table["queue"].tolist(), table["resource_type"].tolist(), strict=True))


def _user_parameters(scenario: Scenario, words: tuple[str, ...]) -> tuple[str, ...]:
    """Words of the column user_parameters, those that commands of the timeline give tasks later included."""
    numbers_of_words = dict.fromkeys(words)
    for incident in scenario.incidents:
        if incident.new_sites:
            numbers_of_words |= dict.fromkeys(changed(word, incident.new_sites) for word in tuple(numbers_of_words))
    return tuple(numbers_of_words)


def vocabularies(scenario: Scenario, task_list: TaskList, tables) -> dict[str, tuple[str, ...]]:
    """Meaning of every kind of code in the tables."""
    queues, types = tuple(scenario.grid.queues), tuple(scenario.resource_types)
    sites = tuple(scenario.grid.sites)
    pseudo = pseudo_queue_names(scenario, tables["pseudo_queues"])
    named = [each.queue for each in scenario.incidents if each.command == "reassign" and each.queue]
    if TERMS[scenario.edition].pins:
        named += ["", *queues]                             # the queue filler pins tasks to any of them
    kinds, words = task_list.vocabularies["processing_types"], task_list.vocabularies["user_parameters"]
    kinds = tuple(dict.fromkeys((*kinds, *((PMERGE,) if merges_output(scenario, task_list) else ()),
                                 *((BUILD,) if any(map(builds_library, words)) else ()))))
    return dict(
        task_list.vocabularies, sites=sites, processing_types=kinds,
        preassigned=tuple(dict.fromkeys((*task_list.vocabularies["preassigned"], *named))),
        user_parameters=_user_parameters(scenario, words),
        queues=queues, pseudo_queues=pseudo, candidates=queues + sites, brokered=pseudo + sites,
        storages=tuple(scenario.grid.storages),
        shares=tuple(leaf.name for leaf in leaf_shares(scenario.shares_in_use)),
        work_queues=queue_names(scenario.work_queues),
        resource_types=types, **FIXED_WORDS)
