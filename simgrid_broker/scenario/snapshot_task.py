"""A task of a snapshot: what it claims, what the jobs are for which queues are sought, and where their input lies."""

from typing import Literal

from pydantic import Field

from simgrid_broker.names import ANALYSIS_LABELS, PRODUCTION_LABELS
from simgrid_broker.schema.constraint import QueueName, ResourceTypeName, SiteName
from simgrid_broker.schema.datasets import DatasetOfTask
from simgrid_broker.schema.part import Fraction, Megabytes, Part, Seconds
from simgrid_broker.schema.splitting import SplitParameters
from simgrid_broker.schema.tasks import Chain, TaskClaims
from simgrid_broker.schema.user_parameters import BrokerParameters

TASK_BROKERAGE, JOB_BROKERAGE, ANALYSIS_BROKERAGE = "task_brokerage", "job_brokerage", "analysis_brokerage"


class InputAt(Part):
    """Fractions of a task's input at one site."""

    disk: Fraction = Field(0, description="Fraction on disk")
    tape: Fraction = Field(0, description="Fraction on tape")


class Premerging(Part):
    """Pre-assignment of merge jobs to the PanDA queue that holds their files."""

    queue: QueueName = Field(description="PanDA queue")
    input_idle: Seconds | None = Field(None, ge=0, description="Time since the input last changed; default: not since "
                                       "it was defined")


class MergeSplitParameters(SplitParameters):
    """Parameters by which input is split into jobs, those of merge jobs included."""

    nFilesPerMergeJob: int = Field(0, ge=0, description="Files of a merge job; 0 = not given")
    nEventsPerMergeJob: int = Field(0, ge=0, description="Events of a merge job; 0 = not given")
    nMaxFilesPerMergeJob: int = Field(0, ge=0, description="Most files of a merge job; 0 = 50")


class NextJobs(Part):
    """The jobs for which queues are sought, where more is known of them than their task says."""

    scout: bool | None = Field(None, description="Whether they are scouts; default: no")
    merging: bool = Field(False, description="Whether they merge output")
    premerge: Premerging | None = Field(None, description="Where the files of merge jobs lie; default: brokerage finds "
                                        "a queue")
    ramcount: Megabytes = Field(0, ge=0, description="Memory that their input asks for, MB, in the task's unit; 0 = "
                                "nothing")
    jumbo: Literal["fake", "only"] | None = Field(None, description="Kind of jumbo jobs; default: none")
    ready_events: int | None = Field(None, ge=0, description="Events that are ready for jumbo jobs")
    resource_types: dict[QueueName, tuple[ResourceTypeName, ...]] = Field(
        default_factory=dict, description="Resource types of the task's jobs at a PanDA queue; default: the task's own")
    u: float | None = Field(None, ge=0, lt=1, description="Number that draws the nucleus by PanDA's wheel; default: "
                            "each nucleus has a number, by `seed`, `luck` and `n_nuclei`, as in a run")


class EndedJobs(Part):
    """Jobs of a task that ended at one PanDA queue within TW_DONE_JOB_STAT hours."""

    failed: int = Field(0, ge=0, description="Jobs that failed with an error of the pilot")
    closed: int = Field(0, ge=0, description="Jobs that were closed for reassignment")
    finished: int = Field(0, ge=0, description="Jobs that finished")


class AnalysisNumbers(BrokerParameters):
    """Parameters and numbers of a task that only analysis brokerage reads."""

    task_class: Literal["S", "A", "B", "C"] | None = Field(None, description="Class of the task; default: not "
                                                           "classified")
    ended_jobs: dict[QueueName, EndedJobs] = Field(default_factory=dict, description="Jobs of the task that ended "
                                                   "lately, by PanDA queue")
    used_queues: tuple[QueueName, ...] = Field((), description="PanDA queues where the task has had jobs, which come "
                                               "first")
    scouting: bool = Field(False, description="Whether the scouts of the task are not over")
    hpo: bool = Field(False, description="Whether it optimises hyper-parameters, which spares it the platform check")


class SnapshotTask(AnalysisNumbers, TaskClaims):
    """A task that waits for brokerage: what it claims, as JEDI's task parameters, and where its input lies."""

    brokerage: Literal["task_brokerage", "job_brokerage", "analysis_brokerage"] | None = Field(
        None, description="Which broker is asked; default: analysis brokerage for user and panda, job brokerage if "
                          "the task has a nucleus or another label, else task brokerage")
    n_jobs_to_broker: int | None = Field(None, ge=1, description="Jobs for which job brokerage looks for queues; "
                                         "default: all that are left")
    jeditaskid: int | None = Field(None, ge=1, lt=10**18, description="jeditaskid; required where its jobs are named "
                                   "otherwise, default: its name")
    luck: int | None = Field(None, ge=0, description="Key of the task's random draws, which orders candidates of equal "
                             "weight; default: its jeditaskid")
    n_nuclei: int = Field(0, ge=0, le=30_000, description="Nuclei that it has had, which number the draws of one")
    frozen_for: Seconds = Field(0, ge=0, description="Time since brokerage first failed")
    taskpriority: int | None = Field(None, ge=-10000, le=10000, description="Priority as submitted; default: "
                                     "`priority`")
    resource_type: ResourceTypeName | None = Field(None, description="Resource type; default: the first that fits")
    mergeramcount: Megabytes | None = Field(None, ge=0, description="Memory of a merge job, MB; default: not given")
    mergecorecount: int | None = Field(None, ge=0, description="Cores of a merge job; default: `corecount`")
    cputimeunit: str | None = Field(None, description="Unit of `cputime`, empty = the task does not say; default: "
                                    "HS06sPerEvent, or empty if `walltime` is given")
    walltimeunit: str = Field("", description="Unit of `walltime`; empty = the task does not say")
    outdiskcount: float | None = Field(None, ge=0, description="Output in `outdiskunit`; default: `output_per_job`")
    outdiskunit: str = Field("kB", description="kB, MB or GB, with PerEvent for each event, else for each MiB of "
                             "primary input")
    useJobCloning: bool = Field(False, description="Whether jobs of event service are clones")
    ipStack: Literal["", "IPv4", "IPv6"] = Field("", description="IP stack, if `ipConnectivity` does not say")
    next_jobs: NextJobs = Field(NextJobs(), description="The jobs for which queues are sought")
    splitting: MergeSplitParameters = Field(MergeSplitParameters(), description="How jobs are cut from `datasets`; "
                                            "without any, nFilesPerJob and nEventsPerJob say how many pieces of input "
                                            "the smallest job has")
    input: dict[SiteName, InputAt] = Field(default_factory=dict, description="Where the input lies, by site; nothing = "
                                           "no replica is known")
    datasets: dict[str, DatasetOfTask] = Field(default_factory=dict, description="The input file by file, instead of "
                                              "`input`, `input_per_job` and `files_per_job`")
    outputs: tuple[str, ...] = Field((), description="Storage tokens of its output and log datasets, such as "
                                     "ATLASDATADISK; default: it goes where the nucleus takes output")
    remaining_work: float | None = Field(None, ge=0, description="Work left, HS06 s; default: as its claims say")
    without_share: bool = Field(False, description="Whether JEDI gave it no share, so that zero share compares none; "
                                "`gshare` is that of its jobs")
    parent: Chain | None = Field(None, description="The task that makes the input")

    @property
    def broker(self) -> str:
        """Which broker is asked: task_brokerage, job_brokerage or analysis_brokerage."""
        if self.brokerage is not None:
            return self.brokerage
        if self.prodsourcelabel in ANALYSIS_LABELS:
            return ANALYSIS_BROKERAGE
        is_production = self.prodsourcelabel in PRODUCTION_LABELS
        return TASK_BROKERAGE if is_production and self.nucleus is None else JOB_BROKERAGE

    @property
    def jobs_left(self) -> int:
        """Jobs that are neither done nor given up."""
        return self.n_jobs - self.n_finished - self.n_failed
