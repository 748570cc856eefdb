"""The input files of tasks whose jobs are split by files, drawn from `input_files`.

Each row of such a task counts pieces of input (files or parts of files) where other tasks count jobs.
"""

import numpy as np

from simgrid_broker.scenario.campaigns import Payload
from simgrid_broker.scenario.tasklist import fill
from simgrid_broker.schema.splitting import SPLITTING, SplitParameters


def splitting_rows(payload: Payload, n_files: np.ndarray, file_bytes: np.ndarray, edition: str) -> np.ndarray:
    """Splitting rows of a stream's tasks with `n_files` files of mean size `file_bytes`, (n,); zeros without files."""
    rows = SPLITTING.empty(len(n_files))
    files = payload.input
    if files is None:
        return rows
    rows["n_files"], rows["file_bytes"] = n_files, file_bytes
    rows["events_per_file"], rows["events_spread"] = files.events_per_file, files.events_spread
    rows["size_spread"], rows["output_bytes_per_event"] = files.size_spread, payload.output_per_event
    rows["events_per_piece"] = payload.events_per_piece
    rows["across_files"] = edition == "documented" and payload.nEventsPerJob > 0
    rows["secondary_ratio"], rows["secondary_bytes"] = files.secondary_ratio, files.secondary_file_size
    rows["files_per_lumiblock"] = files.files_per_lumiblock if payload.respectLB else 0
    rows["files_per_boundary"] = files.files_per_boundary if payload.groupBoundaryID else 0
    fill(rows, [payload], SplitParameters, {})
    return rows


def n_pieces(rows: np.ndarray) -> np.ndarray:
    """Pieces of input of each task with files, (n,): files, or parts of files; across files only the last is shorter.

    Source: JEDI TWiki, event-level splitting (a job may have the end of a file and the beginning of the next); in the
    code none does (lifecycle reference, section 2.6).
    """
    files, events, size = (rows[name].astype(np.int64) for name in ("n_files", "events_per_file", "events_per_piece"))
    split = size > 0
    size = np.maximum(size, 1)
    parts = np.where(rows["across_files"] == 1, -(-files * events // size), files * -(-events // size))
    return np.where(split, parts, files)


def fill_pieces(tasks: np.ndarray, rows: np.ndarray, payload: Payload) -> None:
    """Let the rows of tasks with files speak of a piece of input where those of others speak of a job."""
    if payload.input is None:
        return
    pieces = n_pieces(rows)
    events = rows["n_files"].astype(np.int64) * rows["events_per_file"] / pieces
    master, secondary = rows["n_files"] * rows["file_bytes"] / pieces, rows["secondary_ratio"] * rows["secondary_bytes"]
    inputs, outputs = master + secondary, rows["output_bytes_per_event"] * events
    tasks["n_jobs"], tasks["n_input_files"] = pieces, 1 + np.rint(rows["secondary_ratio"])
    tasks["n_events_per_job"] = np.maximum(1, np.rint(events))
    tasks["input_bytes_per_job"], tasks["output_bytes_per_job"] = inputs, outputs
    tasks["secondary_fraction"] = np.divide(secondary, inputs, out=np.zeros(len(rows)), where=inputs > 0)
    if payload.iointensity is None:
        work_s = tasks["work_hs06s_per_event"] * events / payload.cpu_efficiency / payload.corepower
        tasks["iointensity"] = (inputs + outputs) / 1e3 / np.maximum(work_s, 1)
