"""Labels of metrics and columns, number formats, and colours that are distinct for every kind of colour vision.

Base of the colours: Okabe and Ito, "Color Universal Design", 2008.
"""

import math
from collections.abc import Iterable
from contextlib import ContextDecorator

import pandas as pd

SUMMARY_LABELS = {
    "finished": "Jobs finished", "failed": "Jobs failed", "closed": "Jobs closed by the server",
    "cancelled": "Jobs cancelled", "alive": "Jobs alive at the end", "failure_rate": "Failure rate",
    "ended_per_hour": "Jobs ended", "running_cores": "Running cores, mean", "capacity": "Cores of all batch systems",
    "core_occupancy": "Core occupancy", "hs06": "Power in use, mean", "lost_core_hours": "Core-hours lost",
    "wait_mean": "Waiting time, mean", "wait_p05": "Waiting time, 5 %", "wait_p25": "Waiting time, 25 %",
    "wait_p50": "Waiting time, median", "wait_p75": "Waiting time, 75 %", "wait_p95": "Waiting time, 95 %",
    "started": "Jobs that started", "still_waiting": "Jobs activated, still waiting at the end",
    "still_waiting_p50": "Waiting so far of these, median", "taken_back": "Jobs withdrawn before start",
    "wait_km_p50": "Waiting time with jobs still waiting, median",
    "wait_km_p95": "Waiting time with jobs still waiting, 95 %",
    "wait_little": "Mean number waiting over start rate",
    "from_submission_mean": "Wait from submission, mean", "from_submission_p05": "Wait from submission, 5 %",
    "from_submission_p25": "Wait from submission, 25 %", "from_submission_p50": "Wait from submission, median",
    "from_submission_p75": "Wait from submission, 75 %", "from_submission_p95": "Wait from submission, 95 %",
    "not_started": "Recorded jobs that did not start",
    "share_deviation": "Mean absolute deviation of leaf shares", "share_misplaced": "Power above what shares were due"}

COLUMN_LABELS = {
    "share": "Share", "delivered": "Delivered, %", "target": "Target, %", "due": "Due, %",
    "difference": "Delivered less due", "judged": "Judged, % of samples",
    "deviation": "Mean abs. deviation, % points", "near": "Within 10 % of what it was due, % of judged samples",
    "waiting": "Work waiting, % of samples", "limit": "Limited by", "status": "Status", "cause": "Cause",
    "jobs": "Jobs", "lost_core_hours": "Lost, core h", "part": "Fraction, %", "state": "State", "wait_mean": "Mean, h",
    "wait_p05": "5 %, h", "wait_p25": "25 %, h", "wait_p50": "Median, h", "wait_p75": "75 %, h", "wait_p95": "95 %, h",
    "started": "Started", "still_waiting": "Still waiting", "still_waiting_p50": "Median age of these, h",
    "taken_back": "Withdrawn", "wait_km_p50": "Kaplan-Meier median, h", "wait_km_p95": "Kaplan-Meier 95 %, h",
    "wait_little": "Waiting / start rate, h", "from_submission_mean": "Mean, h", "from_submission_p05": "5 %, h",
    "from_submission_p25": "25 %, h", "from_submission_p50": "Median, h", "from_submission_p75": "75 %, h",
    "from_submission_p95": "95 %, h", "source": "From", "destination": "To",
    "moved": "Moved, TB", "rate": "Mean rate, GB/s",
    "utilisation": "Mean use, %", "peak_utilisation": "Peak use, %", "files": "Files", "transfers": "Transfers",
    "queued_files": "Files queued, maximum", "median_wait": "Median wait, min", "median_move": "Median transfer, min",
    "kind": "Kind", "storage": "Storage", "used": "Used, %", "total": "Size, TB", "free": "Free, TB",
    "expired": "Deletable, TB", "written": "Written, TB", "campaign": "Campaign", "ended": "Ended",
    "open": "Still open", "turnaround_mean": "Mean turnaround, h", "turnaround_p50": "Median turnaround, h",
    "turnaround_p95": "95 % turnaround, h", "came": "Arrived", "arrived": "Arrival from, h", "work_queue": "Work queue",
    "candidate": "Candidate", "rule": "First refused by", "meaning": "What the rule does", "refusals": "Refusals",
    "decisions": "Decisions", "without_candidate": "Without a candidate", "placed": "Jobs placed", "tasks": "Tasks",
    "metric": "Figure", "unit": "Unit", "relative": "Relative, %", "site": "Site", "key": "Key", "value": "Value",
    "attempt": "Attempt", "memory": "Memory per core", "finished": "Finished", "out_of_memory": "Out of memory",
    "origin": "Origin", "figure": "Figure", "outcome": "Outcome", "phase": "Phase", "statuses": "Statuses",
    "moves": "Jobs", "lost_wait_hours": "Lost wait, h", "time_mean": "Mean, h", "time_p50": "Median, h",
    "queue": "Queue", "resource_type": "Resource type", "submitted": "Submitted", "missed": "Missed",
    "cancelled": "Cancelled", "empty": "Empty", "used_core_h": "Used, core h", "idle_core_h": "Idle, core h",
    "wasted_core_h": "Wasted, core h", "time_p95": "95 %, h", "time_total": "All tasks, h", "when": "When",
    "what": "What", "name": "Name", "recorded_p50": "Recorded median, h", "simulated_p50": "Predicted median, h",
    "off_p50": "Median size of the error, %", "error_p05": "Error P5, %", "error_p25": "Error P25, %",
    "error_p50": "Error P50, %", "error_p75": "Error P75, %", "error_p95": "Error P95, %", "crps_h": "CRPS, h",
    "user": "User", "size": "Size", "users": "Users", "cores": "Cores, mean", "power": "Power, HS06",
    "throttled": "Throttled, h", "throttled_by": "Throttled by", "hours": "Time, h", "source_site": "From site",
    "p50_h": "Predicted median, h", "p95_h": "Predicted 95 %, h", "recorded_p50_h": "Recorded median, h",
    "recorded_p95_h": "Recorded 95 %, h",
}

REASONS = {
    "scout_cpuTime": "cpuTime of the scouts is far above the claim",
    "scout_ramCount": "memory of the scouts is far above the claim",
    "low_efficiency": "the scouts use too little CPU",
    "over_cpu_consumption": "the scouts use more CPUs than they have",
    "short_execution": "the scouts are too short",
    "scout_success": "too few scouts succeeded",
    "low_success_rate": "fewer scouts succeeded than scoutSuccessRate asks for",
    "no_scout": "no scout succeeded",
    "no_input": "there was no input",
    "parent_failed": "the parent failed, though all input was processed",
    "nothing_succeeded": "no input was processed",
    "below_goal": "less was processed than its goal",
    "parent_incomplete": "all input was processed, but the parent is not done",
    "incomplete": "not all input was processed, and the goal was not reached",
    "duplication": "some input was processed twice"}
"""Meaning of errorDialog for tasks stopped because of their scouts, and for those that ended short of their input."""


def reason_in_words(reason: str) -> str:
    """Meaning of errorDialog of an exhausted or broken task; unknown texts are quoted."""
    return REASONS.get(reason, f"errorDialog {reason}" if reason else "no errorDialog")


def number(value: float) -> str:
    """A number as text: thousands separated if whole or at least 1000, else three significant digits; NaN as a dash."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == int(value) or abs(value) >= 1000:
        text = f"{value:,.0f}"
    elif abs(value) < 0.001:
        text = f"{value:.1e}"
    else:
        text = f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"
    return text.replace("-", "−")


def numbers(values: Iterable[float]) -> list[str]:
    """Numbers of one column, all with the decimals (1 to 3) that give the largest three digits; whole if all are."""
    values = [float(value) for value in values]
    finite = [abs(value) for value in values if math.isfinite(value)]
    if all(value == int(value) for value in finite):
        return [number(value) for value in values]
    digits = min(max(2 - math.floor(math.log10(max(finite))), 1), 3)
    return [f"{value:z,.{digits}f}".replace("-", "−") if math.isfinite(value) else number(value) for value in values]


def spoken(word: str) -> str:
    """A name with spaces: `fast_rebrokerage` as "fast rebrokerage"."""
    return word.replace("_", " ")


def shortened(name: str, longest: int) -> str:
    """A name with its middle replaced by … if it is too long: names of one family often differ at their ends."""
    ends = (longest - 1) // 2
    return name if len(name) <= longest else f"{name[:longest - 1 - ends]}…{name[-ends:]}"


def texts_of_python() -> ContextDecorator:
    """Within, pandas keeps texts as Python's instead of Arrow's, which take half as long again in many small tables."""
    return pd.option_context("mode.string_storage", "python")


BASE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#8C6D31", "#B8A900")
"""Distinct colours for a handful of categories."""
OTHERS = "#BBBBBB"
"""Colour of the combined rest."""
INK = "#222222"
FAINT = "#777777"
GRID = "#e4e4e4"
PAPER = "#ffffff"
PALE = "#e8eef2"
SHADE = "#dddddd"
HEAT, ON_HEAT = "#08519c", "#fefefe"
"""Colour of the largest cell of a map, paler with its value, and of numbers on it."""
RUN_COLOURS = ("#0072B2", "#D55E00")
"""The two runs of a comparison."""

STATE_COLOURS = {"running": "#0072B2", "transferring": "#56B4E9", "activated": "#E69F00", "assigned": "#F3CF8A",
                 "other queued": "#BBBBBB"}
PHASE_COLOURS = {"waits for a nucleus": "#F3CF8A", "input is staged": "#CC79A7", "ready or pending": "#E69F00",
                 "scouting": "#56B4E9", "running": "#0072B2", "held": "#8C6D31", "is being ended": "#8A8A8A"}
STATUS_COLOURS = {"finished": "#009E73", "failed": "#D55E00", "closed": "#E69F00", "cancelled": "#CC79A7"}
LEVEL_COLOURS = {"used": "#0072B2", "expired": "#E69F00", "free": PALE}
"""Colours of the parts of the space of a storage, from the bottom of a picture."""
