"""Accounts of users and working groups: disk quotas and permissions, and which accounts a scenario has."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Literal

from pydantic import Field

from simgrid_broker.scenario.campaigns import Workload
from simgrid_broker.schema.named import StorageName
from simgrid_broker.schema.part import Bytes, Part, Seconds


class Account(Part):
    """Disk quotas and permissions of a user or working group."""

    quota: Bytes = Field(0, ge=0, description="Global disk quota, bytes; 0 = none")
    local_quotas: dict[StorageName, Annotated[Bytes, Field(ge=0)]] = Field(
        default_factory=dict, description="Local quotas, bytes, by DDM endpoint; 0 = none")
    held: dict[StorageName, Annotated[Bytes, Field(ge=0)]] = Field(
        default_factory=dict, description="Bytes that the account holds at the start, by DDM endpoint")
    output_lifetime: Seconds | None = Field(None, gt=0, description="Time after which output no longer counts; "
                                            "default: it does to the end")
    permissions: Literal["", "s", "g", "sg"] = Field("", description="GRIDPREF: s = tasks jump the queue, g = those of "
                                                     "a working group do; the deployed edition reads it")


def user_names(work: Workload) -> list[str]:
    """Names of all users, in the order of the streams."""
    named = [stream.username for stream in work.campaigns if stream.username]
    return named + [f"{group.name}-{rank:04d}" for group in work.users
                    for rank in range(1, group.users + 1)]


def group_names(work: Workload) -> list[str]:
    """Names of the working groups of all streams."""
    streams = (*work.campaigns, *work.users)
    named = [stream.workinggroup for stream in streams if stream.workinggroup]
    return [*dict.fromkeys((*named, *(name for group in work.users for name in group.groups)))]


def account_of(accounts: Mapping[str, Account], name: str) -> Account | None:
    """The account of a user or group: the first entry with its name or a pattern that fits, None without one."""
    return next((account for pattern, account in accounts.items() if fnmatchcase(name, pattern)), None)
