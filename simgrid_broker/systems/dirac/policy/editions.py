"""The editions of DIRAC's matching: `documented` is the page of 2009, `deployed` the code of version 9."""

import simgrid_broker.systems.dirac.policy.conditions as conditions
from simgrid_broker.editions import ByEdition
from simgrid_broker.systems.dirac.policy.edition import WITHOUT_LIMIT, Edition
from simgrid_broker.systems.dirac.policy.priorities import mean_priority, summed_priority

DOCUMENTED = Edition(
    name="documented", single=("OwnerDN", "OwnerGroup", "Setup"),
    lists=("SubmitPools", "PilotTypes", "Sites", "GridCEs", "GridMiddlewares", "BannedSites", "LHCbPlatforms"),
    memory=False, cpu_classes=(500, 5000, 50_000, 300_000), configurable=False, longest_first=True, window=10,
    most_jobs=WITHOUT_LIMIT, weight=summed_priority, least_priority=0.0, background=False, pooled=False,
    ce_if_banned=True, limits=False,
    conditions=(conditions.owner_dn, conditions.setup, conditions.cpu_time, conditions.pilot_type, conditions.site,
                conditions.banned_site, conditions.grid_ce, conditions.lhcb_platform))
"""The page "DIRAC Task Queue Matching", r4 of 2009; priorities, on which it is silent, as the code of the next day."""

DEPLOYED = Edition(
    name="deployed", single=("Owner", "OwnerGroup"),
    lists=("Sites", "GridCEs", "BannedSites", "Platforms", "JobTypes", "Tags"), memory=True,
    cpu_classes=(360, 1800, 3600, 21_600, 43_200, 86_400, 172_800, 259_200, 345_600, 518_400, 691_200, 864_000,
                 1_080_000),
    configurable=True, longest_first=False, window=50, most_jobs=5000, weight=mean_priority, least_priority=0.001,
    background=True, pooled=True, ce_if_banned=False, limits=True,
    conditions=(conditions.owner, conditions.cpu_time, conditions.site, conditions.banned_site, conditions.grid_ce,
                conditions.platform, conditions.job_type, conditions.offered_tags, conditions.required_tag,
                conditions.max_ram, *map(conditions.resource_bans, ("Site", "GridCE", "Platform", "JobType", "Tag")),
                conditions.negative_condition))
"""DIRAC 9.1.22, without its quirks (docs/fidelity.md)."""

DIRAC_EDITIONS = ByEdition(DOCUMENTED, DEPLOYED)
"""Matching by edition; releases of PanDA do not change it."""
