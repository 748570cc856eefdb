"""Words of DIRAC that both scenarios and agents use."""

PRIVATE = "private"
"""Type of a private pilot, as jobs may require it; source: DIRAC Task Queue Matching, task queue requirements."""
ATTRIBUTES_OF_RUN = ("Owner", "OwnerGroup", "JobType")
"""Attributes of jobs that limits of a run may name; JobType is the processing type of the task."""
