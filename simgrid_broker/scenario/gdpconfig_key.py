"""What a key of gdpconfig is, and which functions read it.

What lives here: `GdpconfigKey`, the patterns of families of keys, and `READ_BY`. What does not: the keys themselves
(`gdpconfig_brokerage`, `gdpconfig_lifecycle`) and setting them (`gdpconfig`).
"""

import re
from dataclasses import dataclass
from functools import cached_property

from simgrid_broker.names import KNOWN_RESOURCE_TYPES

READ_BY: dict[str, str] = {
    "anal_job_throttler.NQUEUECAP_<queue>[_<rtype>]": "policy.throttle.throttle_limits",
    "anal_job_throttler.NQUEUELIMIT_<queue>[_<rtype>]": "policy.throttle.throttle_limits",
    "anal_job_throttler.NRUNNINGCAP_<queue>[_<rtype>]": "policy.throttle.throttle_limits",
    "anal_job_throttler.THROTTLE_THRESHOLD": "policy.throttle.throttle_limits",
    "anal_job_throttler.THROTTLE_THRESHOLD_FOR_WORK_SHORTAGE": "policy.throttle.throttle_limits",
    "dbproxy.SUPER_HIGH_PRIO_TASK_RATIO": "policy.task_selection.selection",
    "jobgen.GROUPBYATTR_<queue>": "policy.task_selection.selection",
    "jobgen.JOB_SUBMISSION": "policy.task_selection.generates",
    "jobgen.TYPNFILES_<label>_<queueOrNone>_<type>": "policy.splitting.typical_files",
    "jobgen.NFILES_<queue>": "policy.task_selection.selection",
    "jobgen.NTASKS_<queue>": "policy.task_selection.selection",
    "prio_mgr.CAP_RUNNING_GROUP_CORES": "policy.user_caps.caps",
    "prio_mgr.CAP_RUNNING_GROUP_JOBS": "policy.user_caps.caps",
    "prio_mgr.CAP_RUNNING_USER_CORES": "policy.user_caps.caps",
    "prio_mgr.CAP_RUNNING_USER_JOBS": "policy.user_caps.caps",
    "core.WORK_SHORTAGE": "policy.job_brokerage.ask.asked, policy.throttle.throttle_limits",
    "job_timeout.TIMEOUT_defined": "policy.timeouts.rules",
    "job_timeout.TIMEOUT_holding": "policy.timeouts.rules",
    "jobbroker.IO_INTENSITY_CUTOFF": "policy.job_brokerage.ask.asked",
    "jobbroker.MAX_DISKIO_DEFAULT": "policy.job_brokerage.ask.asked",
    "jobbroker.MAX_PRIO_TO_BOOTSTRAP": "policy.job_brokerage.ask.asked",
    "jobbroker.MIN_WEIGHT_<label>[_<gshare>]": "policy.job_brokerage.ask.asked",
    "jobbroker.NQUEUED_NUC_CAP_FOR_JOBS": "policy.job_brokerage.ask.asked",
    "jobbroker.NQUEUED_SAT_CAP": "policy.job_brokerage.ask.asked",
    "jobbroker.NQUEUELIMITSITE_<gshare>": "policy.job_brokerage.ask.asked",
    "jobbroker.NUM_CUTOFF_TO_MOVE_INPUT": "policy.job_brokerage.ask.asked",
    "jobbroker.NW_ACTIVE": "policy.job_brokerage.ask.asked",
    "jobbroker.NW_QUEUE_IMPORTANCE": "policy.job_brokerage.ask.asked",
    "jobbroker.NW_THRESHOLD": "policy.job_brokerage.ask.asked",
    "jobbroker.NW_WEIGHT_MULTIPLIER": "policy.job_brokerage.ask.asked",
    "jobbroker.SIZE_CUTOFF_TO_MOVE_INPUT": "policy.job_brokerage.ask.asked",
    "jobbroker.STORAGE_MIN_FREE_SIZE": "policy.job_brokerage.ask.asked",
    "jobdispatch.SLOPPY_DISPATCH_RATIO": "policy.dispatch.sloppy_fraction",
    "prod_job_throttler.NQUEUECAP_<queue>[_<rtype>]": "policy.throttle.throttle_limits",
    "prod_job_throttler.NQUEUELIMIT_<queue>[_<rtype>]": "policy.throttle.throttle_limits",
    "prod_job_throttler.NRUNNINGCAP_<queue>[_<rtype>]": "policy.throttle.throttle_limits",
    "prod_job_throttler.THROTTLE_THRESHOLD": "policy.throttle.throttle_limits",
    "prod_job_throttler.THROTTLE_THRESHOLD_FOR_WORK_SHORTAGE": "policy.throttle.throttle_limits",
    "rebroker.ANALY_TIMEOUT": "policy.analysis_rebrokerage.patience",
    "rebroker.ANALY_TIMEOUT_<workingGroup>": "policy.analysis_rebrokerage.patience",
    "rebroker.FAST_REBRO_THRESHOLD_NQNR_RATIO": "policy.fast_rebrokerage.jobs_to_take_back",
    "rebroker.FAST_REBRO_THRESHOLD_NQUEUE_<gshare>": "policy.fast_rebrokerage.jobs_to_take_back",
    "rebroker.FAST_REBRO_THRESHOLD_NQUEUE_FRAC": "policy.fast_rebrokerage.jobs_to_take_back",
    "retry_task.JOB_MAX_ATTEMPT_<label>": "policy.task_commands.retry_refused",
    "retry_task.MAX_FAILED_HEP_SCORE_HOURS_<label>": "policy.task_commands.retry_refused",
    "retry_task.MAX_FAILED_HEP_SCORE_RATE_<label>": "policy.task_commands.retry_refused",
    "retry_task.MAX_JOB_FAILURE_RATE_<label>": "policy.task_commands.retry_refused",
    "retry_task.MIN_CPU_EFFICIENCY_<label>": "policy.task_commands.retry_refused",
    "retry_task.TASK_MAX_ATTEMPT_<label>": "policy.task_commands.retry_refused",
    "taskbrokerage.DATA_LOCATION_CHECK_PERIOD":
        "policy.task_brokerage.locality.too_few_files, policy.task_brokerage.locality.too_few_files_deployed, "
        "policy.task_brokerage.locality.too_little_input, "
        "policy.task_brokerage.locality.too_little_input_deployed",
    "taskbrokerage.DISK_THRESHOLD":
        "policy.task_brokerage.nuclei.too_little_space, "
        "policy.task_brokerage.nuclei.too_little_space_deployed",
    "taskbrokerage.DISK_THRESHOLD_<gshare>":
        "policy.task_brokerage.nuclei.too_little_space, "
        "policy.task_brokerage.nuclei.too_little_space_deployed",
    "taskbrokerage.FREE_DISK_CUTOFF":
        "policy.task_brokerage.weight.free_space, policy.task_brokerage.weight.free_space_deployed",
    "taskbrokerage.INPUT_NUM_FRACTION":
        "policy.task_brokerage.locality.too_few_files, policy.task_brokerage.locality.too_few_files_deployed",
    "taskbrokerage.INPUT_NUM_THRESHOLD":
        "policy.task_brokerage.locality.too_few_files, policy.task_brokerage.locality.too_few_files_deployed",
    "taskbrokerage.INPUT_SIZE_FRACTION":
        "policy.task_brokerage.locality.too_little_input, "
        "policy.task_brokerage.locality.too_little_input_deployed",
    "taskbrokerage.INPUT_SIZE_THRESHOLD":
        "policy.task_brokerage.locality.too_little_input, "
        "policy.task_brokerage.locality.too_little_input_deployed",
    "taskbrokerage.MAX_TASK_PRIO_WITH_LOCAL_DATA":
        "policy.task_brokerage.locality.waived, policy.task_brokerage.locality.waived_deployed",
    "taskbrokerage.MIN_INPUT_SIZE_WITH_LOCAL_DATA":
        "policy.task_brokerage.locality.waived, policy.task_brokerage.locality.waived_deployed",
    "taskbrokerage.MIN_IO_INTENSITY_WITH_LOCAL_DATA":
        "policy.task_brokerage.locality.waived, policy.task_brokerage.locality.waived_deployed, "
        "policy.task_brokerage.weight.local_input, policy.task_brokerage.weight.local_input_deployed",
    "taskbrokerage.NQUEUED_NUC_CAP":
        "policy.task_brokerage.nuclei.transfer_backlog, policy.task_brokerage.nuclei.transfer_backlog_deployed",
    "watchdog.MAX_FAILED_HEP_SCORE_RATE_TO_PAUSE_<label>[_<queue>]":
        "policy.task_watchdogs.may_pause, policy.task_watchdogs.pauses",
    "watchdog.MAX_HEP_SCORE_FAILURE_RATE_TO_PAUSE_<label>[_<queue>]":
        "policy.task_watchdogs.may_pause, policy.task_watchdogs.pauses",
    "watchdog.MAX_JOB_FAILURE_RATE_TO_PAUSE_<label>[_<queue>]":
        "policy.task_watchdogs.may_pause, policy.task_watchdogs.pauses",
    "watchdog.MIN_JOBS_TO_PAUSE_<label>": "policy.task_watchdogs.pauses",
    "watchdog.MIN_REMAINING_JOBS_TO_PAUSE_<label>": "policy.task_watchdogs.pauses",
    "watchdog.PENDING_TIMEOUT_<label>": "policy.task_watchdogs.gives_up_pending",
    "watcher.HEARTBEAT_TIMEOUT_<workflow>": "policy.timeouts.rules",
    "watcher.HEARTBEAT_TIMEOUT_analysis": "policy.timeouts.rules",
    "watcher.HEARTBEAT_TIMEOUT_production": "policy.timeouts.rules",
}
"""`component.KEY` as the registry spells it, to the functions that read it; a key that is not here has no effect."""

PLACEHOLDERS = {
    "label": r"prod_test|rc_test2?|rc_alrb|[^_]+",
    "rtype": "|".join((*KNOWN_RESOURCE_TYPES, r"MCORE\*", r"SCORE\*")),
    "type": r"[^_]+(?:_test2?|_alrb)?",
    "queue": ".+?",
    "queueOrNone": ".*?",
}
"""What a placeholder of a family stands for, as a regular expression; any other placeholder stands for any text."""


@dataclass(frozen=True)
class GdpconfigKey:
    """One key of gdpconfig, or a family of keys that share a beginning and end with a name.

    key: PanDA's spelling; `<gshare>` and the like are placeholders and `[...]` may be left out; type: bool, int, float,
    str or json; default: value when nothing is set, None = off or no limit; source: document and section.
    zero_is_unset: PanDA takes its default for 0, too.
    """

    app: str
    component: str
    key: str
    type: str
    default: object
    unit: str
    meaning: str
    source: str
    zero_is_unset: bool = False

    @property
    def name(self) -> str:
        """`component.KEY`, by which the key can always be addressed."""
        return f"{self.component}.{self.key}"

    @property
    def read_by(self) -> str:
        """The functions that read the key; empty = none does yet."""
        return READ_BY.get(self.name, "")

    @property
    def is_family(self) -> bool:
        """Whether the key stands for many."""
        return "<" in self.key

    @property
    def prefix(self) -> str:
        """The key without its placeholders: where the default of a family is kept."""
        return re.sub(r"\[_[^]]*\]|_?<\w+>", "", self.key)

    @cached_property
    def pattern(self) -> re.Pattern:
        """Regular expression of the whole key; its groups are the placeholders."""
        parts = re.split(r"(<\w+>|\[_<\w+>\])", self.key)
        return re.compile("".join(_pattern(part) for part in parts), re.DOTALL)

    @property
    def n_literal(self) -> int:
        """Characters of the key that are not placeholders: of two families that match, the longer one is meant."""
        return len(self.prefix)


def keys(app: str, component: str, source: str, rows: tuple) -> tuple[GdpconfigKey, ...]:
    """Keys of one component out of rows (key, type, default, unit, meaning[, zero_is_unset])."""
    return tuple(GdpconfigKey(app, component, *row[:5], source, *row[5:]) for row in rows)


def _pattern(part: str) -> str:
    """Regular expression of one part of a key: text, `<name>` or `[_<name>]`."""
    if not part.endswith((">", ">]")):
        return re.escape(part)
    name = part.strip("[_<>]")
    group = f"(?P<{name}>{PLACEHOLDERS.get(name, '.+')})"
    return f"(?:_{group})?" if part.startswith("[") else group
