"""JEDI's JobSplitter and InputChunk: cut files into jobs for the queues drawn; lifecycle reference, 2.3, 2.5, 2.6."""

import math
from collections.abc import Sequence

import numpy as np

from simgrid_broker import luck
from simgrid_broker.agents.control import Control
from simgrid_broker.names import MOST_FILES_OF_JOB, ClosedBy
from simgrid_broker.policy.brokerage.production.broker import JOBS_PER_BLOCK, SCOUTS_PER_BLOCK, spread_jobs
from simgrid_broker.policy.jobs.resource_types import asked_ramcount
from simgrid_broker.policy.tasks.cutting import Room, cut_jobs
from simgrid_broker.policy.tasks.selection import Selection, files_to_read
from simgrid_broker.policy.tasks.splitting import (
    Splitting,
    beside_of,
    claims_of,
    job_limits,
    preferred,
    queue_limits,
    typical_files,
)
from simgrid_broker.schema.attribute import columns_of
from simgrid_broker.schema.datasets import SecondaryInput
from simgrid_broker.schema.tasks import SplitParameters
from simgrid_broker.turns.job_tables import JobTables
from simgrid_broker.views import Task, Verdict
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.data.datasets import inputs_of
from simgrid_broker.world.jobs.counts import account_of_task
from simgrid_broker.world.tasks.input_files import end_of_dataset, first_waiting, pieces_at_once, waiting_pieces

QUEUE_DRAW = luck.STREAMS["queue_draw"]


def splitting_of(arrays: Arrays, row: int, edition: str, more: Sequence[SecondaryInput] = ()) -> Splitting:
    """Parameters by which the input of a task is split; more: its further secondary datasets."""
    split = arrays.splitting[row]
    known = {column.key: split[column.name].item() for column in columns_of(SplitParameters)}
    part = (split["events_per_piece"] or split["events_per_file"]) / split["events_per_file"]
    return preferred(Splitting(
        **known | dict(nGBPerJob=known["nGBPerJob"] or None), respectLB=bool(split["files_per_lumiblock"]),
        events=float(split["events_per_file"] * part),
        bytes=float(split["file_bytes"] * part), output_per_event=float(split["output_bytes_per_event"]),
        secondary_bytes=float(split["secondary_ratio"] * split["secondary_bytes"]),
        counts_ratio=any(one.er is not None for one in more)), edition)


def secondaries_of(arrays: Arrays, row: int, more: Sequence[SecondaryInput]) -> list[SecondaryInput]:
    """Secondary datasets of a task: that of its ratio, if it has one, and further ones."""
    split = arrays.splitting[row]
    ratio = float(split["secondary_ratio"])
    first = [SecondaryInput(ratio=ratio, file_size=float(split["secondary_bytes"]))] if ratio > 0 else []
    return [*first, *more]


class JobSplitter:
    """Cuts jobs for the work queues."""

    def __init__(self, control: Control, tables: JobTables):
        self.control, self.tables = control, tables
        work, names = control.world.scenario.workload, control.world.vocabularies["task_names"]
        self.secondaries = {names.index(stream.name): control.world.with_sizes(stream.input.secondaries)
                            for stream in work.streams if stream.input and stream.name in names}

    def make(self, row: int, queue: str, rule: Selection) -> int:
        """Broker the next files of the task in hand of a turn, and make jobs of them; returns how many of typical size.

        queue, rule: the work queue and how it reads files.
        """
        control, arrays, hand = self.control, self.control.arrays, self.tables.hand
        level = int(hand["level"])
        task, _ = self.tables.work_queues.view(row, level)
        more = self.secondaries.get(int(arrays.tasks["name"][row]), ())
        splitting, claims = splitting_of(arrays, row, control.edition, more), claims_of(task, control.edition)
        typical = typical_files(splitting, control.cfg, task.prodsourcelabel, queue, task.processingtype)
        pieces = waiting_pieces(arrays, row, level, files_to_read(int(hand["wanted"]), typical, rule.n_files))
        asked = math.ceil(len(pieces) / pieces_at_once(arrays, row))
        account = account_of_task(arrays, row)
        kind, _, verdict = self.tables.broker(row, level, asked)
        drawn = self._draw(task, verdict, len(pieces), first_waiting(arrays, row, level))
        secondaries = secondaries_of(arrays, row, more)
        made, taken, beside = 0, 0, beside_of(secondaries, pieces)
        own = any(one.dataset is not None for one in secondaries)
        for number, size in drawn:
            at_queue = queue_limits(task, control.brokers.queues, number, control.edition)
            limits = job_limits(claims, splitting, at_queue, control.edition)
            room = Room.of(limits, size, len(secondaries), size * MOST_FILES_OF_JOB if own else 0)
            jobs = room.jobs[:cut_jobs(pieces, taken, beside, room)]
            jobs = jobs[:len(jobs) - self._is_incomplete(row, pieces, taken, jobs)]
            if not len(jobs):
                break
            taken, made = taken + int(jobs["count"].sum()), made + len(jobs)
            self._order(row, task, level, number, jobs, inputs_of(jobs, room.reads, secondaries) if own else None)
            queue_placed, _ = control.brokers.queues.queue_and_cores[number]
            control.brokers.snapshot.place(account, task.resource_type, [(queue_placed, len(jobs))])
            control.brokers.note_use(task, (queue_placed,))
        control.books.decisions.add(kind, control.now, task, verdict, made)
        self.tables.note_made(math.ceil(taken / typical), taken == len(pieces), kind, verdict)
        return math.ceil(taken / typical)

    def _draw(self, task: Task, verdict: Verdict, most_jobs: int, begins: int) -> list[tuple[int, int]]:
        """Candidate and number of jobs of each block, for the most jobs possible; begins: the `first_waiting` piece."""
        block = SCOUTS_PER_BLOCK if task.is_scout else JOBS_PER_BLOCK
        uniforms = self.control.brokers.uniforms(QUEUE_DRAW, task, begins, verdict, most_jobs, block)
        numbers, sizes = spread_jobs(verdict, most_jobs, uniforms, block=block)
        return list(zip(numbers.tolist(), sizes.tolist(), strict=True))

    def _is_incomplete(self, row: int, pieces: np.ndarray, taken: int, jobs: np.ndarray) -> bool:
        """True if the last job would get more files were all files of the dataset read; then it waits."""
        if not len(jobs) or jobs[-1]["closed_by"] != ClosedBy.END or taken == len(jobs) - 1 == 0:
            return False
        last = pieces[int(jobs["first"][-1] + jobs["count"][-1]) - 1]
        return bool(last["retry"] < 0 and last["unit"] + 1 < end_of_dataset(self.control.arrays, row))

    def _order(self, row: int, task: Task, level: int, number: int, jobs: np.ndarray,
               inputs: np.ndarray | None) -> None:
        """Submit jobs at a candidate to the server; inputs: as for `Fabric.cut_jobs`."""
        control = self.control
        _, cores = control.brokers.queues.queue_and_cores[number]
        ram = asked_ramcount(task, cores)
        control.fabric.cut_jobs((control.now, row, number, len(jobs), ram, level, task.resource_type), jobs,
                                inputs)
