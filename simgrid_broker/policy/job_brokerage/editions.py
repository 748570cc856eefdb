"""Production job brokerage by edition.

What lives here: the table. What does not: the chains (`documented`, `deployed`).
"""

from simgrid_broker.policy.job_brokerage.deployed import DEPLOYED
from simgrid_broker.policy.job_brokerage.documented import DOCUMENTED

PRODUCTION = {brokerage.name: brokerage for brokerage in (DOCUMENTED, DEPLOYED)}
"""Production job brokerage by edition."""
