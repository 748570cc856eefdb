"""Functional tests: jobs that are sent to every queue again and again, as HammerCloud does, to learn whether it works.

No public source gives the periods and thresholds: all figures here are assumed.
"""

from pydantic import Field

from simgrid_broker.schema.named import LeafName
from simgrid_broker.schema.part import Part, Seconds


class FunctionalTests(Part):
    """Test jobs for every queue, and the status that a queue gets by their outcome; off unless there is a period."""

    period: Seconds | None = Field(None, ge=60, description="Time between two tests of a queue, assumed; default: no "
                                   "tests")
    walltime: Seconds = Field(600, gt=0, description="Wall time of a test at 10 HS06 per core, assumed")
    gshare: LeafName | None = Field(None, description="Leaf share of the tests; default: Test if there is one, else "
                                    "the first leaf")
    failures: int = Field(3, ge=1, description="Tests in a row that fail before a queue that is online is set to test, "
                          "assumed")
    successes: int = Field(3, ge=1, description="Tests in a row that succeed before such a queue is online again, "
                           "assumed")
    look: Seconds = Field(600, ge=1, description="Period of looking at the outcome of tests, assumed")
