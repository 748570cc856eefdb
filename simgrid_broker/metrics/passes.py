"""The passes over the job rows of a run that most of its figures need, made at once."""

from simgrid_broker.metrics.attempts import CLOSED_JOBS, KILLED_JOBS, LOST_JOBS, OUTCOMES
from simgrid_broker.metrics.slots import WAITS
from simgrid_broker.metrics.summary import STATUSES
from simgrid_broker.metrics.users import MOVING_JOBS
from simgrid_broker.metrics.waiting import waits_by

FOR_SUMMARY = (STATUSES, LOST_JOBS, KILLED_JOBS, WAITS, waits_by("share"))
"""Passes of the summary of a run and of the chains of its shares."""
FOR_REPORT = (*FOR_SUMMARY, OUTCOMES, CLOSED_JOBS, MOVING_JOBS)
"""Passes of its report, which has the same figures and more."""
