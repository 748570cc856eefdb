"""Queue of runs and studies, each a process of this machine; it is kept in RESULTS/.desk, where every server reads it.

A job is a folder with `job.json`, what is to be run, written once; `process.json`, its process; `log.txt`, what that
printed; and `end.json`. A server holds the lock of RESULTS/.desk while it changes a job, so that several servers share
one queue and a restarted one finds its jobs, those that run included.
"""

import fcntl
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from simgrid_broker.desk.security import Places
from simgrid_broker.errors import InputFileError, OutputError, Problem, SimgridBrokerError
from simgrid_broker.experiments.study import FILE as STUDY
from simgrid_broker.experiments.study import read_study
from simgrid_broker.files import MANIFEST, READABLE, write_whole
from simgrid_broker.records.progress import is_alive, process, read_progress

FOLDER = ".desk"
WAITING, RUNNING, DONE, FAILED, CANCELLED, KILLED = "waiting", "running", "done", "failed", "cancelled", "killed"
OPEN = (WAITING, RUNNING)
COMMANDS = ("run", "replicate", "compare", "sweep")
OPTIONS = ("--into", "--out", "--seed", "--seeds", "--until", "--set", "--vary", "--figure", "--workers")
WRITTEN_BY = ("--into", "--out")
"""Commands of jobs, their options, and those of them that name a folder of results: a job in the folder of others can
ask for nothing else."""
GRACE_S = 30.0
"""Time for which the end of a server waits for its runs, which write what is complete and a report."""
LOOK_EVERY_S = 0.3
TAIL = 8000
"""Characters at the end of a log that are shown."""


@dataclass(frozen=True)
class Job:
    """Commands of `simgrid-broker`, arguments only, run one after the other until one fails.

    title: what it is; place: of its results; cores: that it takes; state: one of WAITING, RUNNING, DONE, FAILED,
    CANCELLED, KILLED.
    """

    name: str
    title: str
    commands: tuple[tuple[str, ...], ...]
    place: str
    cores: int
    added_s: float
    state: str = WAITING

    @property
    def is_open(self) -> bool:
        """True of a job that waits or runs."""
        return self.state in OPEN


class Queue:
    """The queue of a folder of results; cores: of all jobs that run at once, of all servers."""

    def __init__(self, places: Places, cores: int | None = None):
        self.places, self.cores = places, cores or len(os.sched_getaffinity(0))
        self.folder = places.results / FOLDER
        self._own: dict[str, subprocess.Popen[bytes]] = {}
        self._ended: dict[str, Job] = {}
        self._stop, self._thread = threading.Event(), threading.Thread(target=self._work, name="queue", daemon=True)

    def add(self, title: str, commands: Sequence[Sequence[str]], place: str, cores: int = 1) -> Job:
        """Put commands at the end of the queue; one that asks for more cores than there are takes all."""
        name = f"{time.time_ns():020d}-{secrets.token_hex(4)}"
        job = Job(name, title, tuple(map(tuple, commands)), place, min(cores, self.cores), time.time())
        self._refuse_others(job)
        write_whole(self.folder / name / "job.json", json.dumps(asdict(job), ensure_ascii=False))
        return job

    def jobs(self) -> list[Job]:
        """All jobs, in the order in which they were added; those whose description cannot be read are left out."""
        found = (self._ended.get(path.parent.name) or self._read(path.parent)
                 for path in sorted(self.folder.glob("*/job.json")))
        return [job for job in found if job is not None]

    def job(self, name: str) -> Job:
        """The job of a name; raises InputFileError."""
        for job in self.jobs():
            if job.name == name:
                return job
        raise InputFileError([Problem(None, None, "job", name, "there is no such job")])

    def log(self, job: Job) -> str:
        """Last lines that a job printed."""
        with suppress(OSError):
            return (self.folder / job.name / "log.txt").read_text("utf-8", "replace")[-TAIL:]
        return ""

    def cancel(self, name: str) -> None:
        """Take a job out of the queue, or ask its process to end, which keeps what is complete."""
        with self._locked():
            job = self.job(name)
            if job.state == WAITING:
                self._end(job, CANCELLED)
            elif job.state == RUNNING:
                write_whole(self.folder / name / "cancel", "")
                self._terminate(job)

    def forget(self, name: str) -> None:
        """Remove the record of a job that has ended; its results stay."""
        with self._locked():
            job = self.job(name)
            if not job.is_open:
                for path in (self.folder / job.name).iterdir():
                    path.unlink()
                (self.folder / job.name).rmdir()

    def start(self) -> None:
        """Begin to run jobs, in a thread."""
        self._thread.start()

    def end(self) -> None:
        """End the jobs that this queue started, and wait for them; those that wait stay in the queue."""
        self._stop.set()
        self._thread.join()
        with self._locked():
            for name, child in self._own.items():
                child.terminate()
                with suppress(OutputError):
                    write_whole(self.folder / name / "cancel", "")
        until = time.monotonic() + GRACE_S
        for child in self._own.values():
            try:
                child.wait(max(until - time.monotonic(), 0))
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        with self._locked(), suppress(SimgridBrokerError):
            self._reap(go_on=False)

    def step(self) -> None:
        """Note which jobs have ended, and start those for which there are cores, the first in the queue first."""
        with self._locked():
            self._reap()
            jobs = self.jobs()
            taken = sum(job.cores for job in jobs if job.state == RUNNING)
            for job in (job for job in jobs if job.state == WAITING):
                if taken + job.cores > self.cores:
                    return
                taken += job.cores
                self._begin(job, 0)

    def _work(self) -> None:
        while not self._stop.wait(LOOK_EVERY_S):
            with suppress(OSError, SimgridBrokerError):     # what cannot be read or written now may be later
                self.step()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.folder.mkdir(exist_ok=True)
        with open(self.folder / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _read(self, folder: Path) -> Job | None:
        try:
            values = json.loads((folder / "job.json").read_text(encoding="utf-8"))
            values["commands"] = tuple(map(tuple, values["commands"]))
            job = Job(**values | {"name": folder.name, "state": self._state(folder)})
            self._refuse_others(job)
            if (folder / "end.json").is_file():
                self._ended[folder.name] = job
            return job
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None

    def _refuse_others(self, job: Job) -> None:
        """Raise ValueError for a job with a command, an option or a folder that jobs do not have."""
        for command in job.commands:
            verb, *words = command
            options = words[:words.index("--")]
            if verb not in COMMANDS or any(word.partition("=")[0] not in OPTIONS for word in options):
                raise ValueError(f"{command} is no command of a job")
        for folder in folders_of(job):
            if ".." in folder.parts or not folder.resolve().is_relative_to(self.places.results):
                raise ValueError(f"{folder} is not below the folder of results")
        if job.place.partition("/")[0] != "results" or ".." in job.place.split("/"):
            raise ValueError(f"{job.place} is not below the folder of results")

    def _state(self, folder: Path) -> str:
        ended, started = _json(folder / "end.json"), _json(folder / "process.json")
        if ended is not None:
            return str(ended["state"])
        if started is None:
            return WAITING
        if folder.name in self._own or is_alive(started):
            return RUNNING
        return CANCELLED if (folder / "cancel").exists() else KILLED

    def _begin(self, job: Job, number: int) -> None:
        """Start a command of a job in a session of its own, which Ctrl-C in the terminal does not reach."""
        folder = self.folder / job.name
        readable = os.pathsep.join(map(str, self.places.folders.values()))
        with open(folder / "log.txt", "ab") as log:
            # -P: files of the working directory are no modules
            child = subprocess.Popen([sys.executable, "-P", "-m", "simgrid_broker", *job.commands[number]], stdout=log,
                                     stderr=log, stdin=subprocess.DEVNULL, start_new_session=True,
                                     env=os.environ | {READABLE: readable, "COLUMNS": "100"})
        self._own[job.name] = child
        write_whole(folder / "process.json", json.dumps({**process(child.pid), "number": number}))

    def _reap(self, go_on: bool = True) -> None:
        """Write how own processes ended; begin the next command of a job whose last one succeeded, if `go_on`."""
        for name, child in [(name, child) for name, child in self._own.items() if child.poll() is not None]:
            del self._own[name]
            job, was_cancelled = self.job(name), (self.folder / name / "cancel").exists()
            done = (_json(self.folder / name / "process.json") or {"number": 0})["number"] + 1
            if child.returncode == 0 and done < len(job.commands) and go_on and not was_cancelled:
                self._begin(job, done)
            elif child.returncode == 0 and done == len(job.commands):
                self._end(job, DONE)
            else:
                self._end(job, CANCELLED if was_cancelled else FAILED if child.returncode > 0 else KILLED)

    def _end(self, job: Job, state: str) -> None:
        """Write how a job ended; the folders that it was given and left empty are removed."""
        for folder in folders_of(job):
            with suppress(OSError):
                folder.rmdir()
                folder.parent.rmdir()
        write_whole(self.folder / job.name / "end.json", json.dumps({"state": state, "ended_s": time.time()}))

    def _terminate(self, job: Job) -> None:
        started = _json(self.folder / job.name / "process.json")
        if started is not None and is_alive(started):
            with suppress(ProcessLookupError):
                os.kill(started["pid"], signal.SIGTERM)


def _json(path: Path) -> dict[str, Any] | None:
    """Content of a file of a job; None of one that is not there or damaged."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return content if isinstance(content, dict) else None
    except (OSError, ValueError):
        return None


def folders_of(job: Job) -> list[Path]:
    """Folders into which the commands of a job write."""
    return [Path(option.partition("=")[2]) for command in job.commands for option in command[:command.index("--")]
            if option.partition("=")[0] in WRITTEN_BY]


def part_of(job: Job) -> float:
    """Part of a job that is done, from 0 to 1: the mean of its commands, of several without the last, a comparison."""
    folders = folders_of(job)
    counted = folders[:-1] or folders
    return sum(map(part_done, counted)) / max(len(counted), 1)


def part_done(folder: Path) -> float:
    """Part of a run or study that is done, from 0 to 1; 0 of one that has not begun."""
    progress = read_progress(folder)
    if progress is None and (folder / MANIFEST).is_file():
        return 1.0
    if progress is not None:
        return min(progress["simulated_s"] / max(progress["duration_s"], 1e-9), 1.0)
    if not (folder / STUDY).is_file():
        return 0.0
    try:
        study = read_study(folder)
    except InputFileError:
        return 0.0
    running = sum(part_done(path.parent) for path in folder.glob("*/.seed-*/progress.json"))
    return (len(study.finished()) + running) / max(len(study.plan), 1)
