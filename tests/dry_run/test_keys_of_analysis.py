"""Every key that analysis brokerage alone reads has a picture in which it changes an answer."""

import pytest
from test_analysis import snapshot

from simgrid_broker import broker

T, SHARE, QUEUES = "tasks.1.", "User Analysis", "queues.NORTH."
JOBS = [dict(queue="NORTH", share=SHARE, resource_type="SCORE", activated=300, running=100)]
ALICE = dict(queue="NORTH", share=SHARE, user="alice", queued=250, running=0)
ALL = dict(queue="NORTH", share=SHARE, running=100, users=4)
BUSY = {"jobs": JOBS, "user_jobs": [ALICE, ALL]}
"""The share waits at NORTH, and alice has more jobs there than the stabilizer lets her have."""
CLASS_C = {T + "task_class": "C", "share_usage": {SHARE: {"usage": 0.91}}}
CLASS_A = {T + "task_class": "A", "share_usage": {SHARE: {"usage": 1.2}}}
CAPS = {"gdpconfig": {f"CAP_RUNNING_USER_{what}": 10 for what in ("JOBS", "CORES")}}
FAILED = {T + "ended_jobs": {"NORTH": {"failed": 50, "closed": 50}}}
AT_NORTH = {T + "datasets": {"main": {"n_files": 10, "bytes": "10 GB", "replicas": {"NORTH": {"files": 10}}}}}
HOLEY = {T + "datasets": {"main": {"n_files": 1000, "bytes": "10 GB", "replicas": {"NORTH": {"files": 4}}}}}
OTHER_RELEASES = {"grid.queues.NORTH.releases": ["AUTO"], "grid.queues.NORTH.software": {"cvmfs": ["other"]}}
VIRTUAL = {"grid.storages.NORTH_VP_DISK": {"site": "NORTH", "total": "1 PB", "free": "1 PB"},
           "grid.queues.NORTH.endpoints": [{"storage": "NORTH"}, {"storage": "NORTH_VP_DISK"}]}
VIRTUAL_INPUT = VIRTUAL | {"grid.storages.SOUTH_TAPE": {
    "site": "SOUTH", "total": "1 PB", "free": "1 PB", "tape": True},
    "grid.queues.SOUTH.endpoints": [{"storage": "SOUTH"}, {"storage": "SOUTH_TAPE"}], T + "datasets": {"main": {
    "n_files": 10, "bytes": "10 GB", "replicas": {"SOUTH_TAPE": {"files": 10}}, "virtual": ["NORTH_VP_DISK"]}}}


def more_of(row, **values):
    """The jobs of users with other values in one row."""
    return {"user_jobs": [one | values if one is row else one for one in (ALICE, ALL)]}


PICTURES = {
    "queues.<name>.site_class": ({}, {QUEUES + "site_class": "hi"}),
    "queues.<name>.to_running_rate": (BUSY, {QUEUES + "to_running_rate": 1000}),
    "share_usage": (CLASS_C, {"share_usage": {}}),
    "share_usage.<name>.usage": (CLASS_C, {"share_usage": {SHARE: {"usage": 0.5}}}),
    "share_usage.<name>.equivalent": (CLASS_C, {"share_usage": {SHARE: {"usage": 0.91, "equivalent": 0.5}}}),
    "users": ({}, {"users": {"alice": {"quota": "over"}}}),
    "users.<name>.quota": ({}, {"users": {"alice": {"quota": "over"}}}),
    "users.<name>.quota_message": ({"users": {"alice": {"quota": "over"}}},
                                   {"users": {"alice": {"quota": "over", "quota_message": "too much"}}}),
    "users.<name>.full_storages": ({}, {"users": {"alice": {"full_storages": ["NORTH"]}}}),
    "users.<name>.rem_slots_A": (CLASS_A, {"users": {"alice": {"rem_slots_A": -5}}}),
    **{f"users.<name>.{what}": (CAPS, {"users": {"alice": {what: 100}}})
       for what in ("running_jobs", "queued_jobs", "running_cores", "queued_cores")},
    "user_jobs": (BUSY, {"user_jobs": []}),
    "user_jobs[].queue": (BUSY, more_of(ALICE, queue="SOUTH")),
    "user_jobs[].share": (BUSY | {"shares": [{"name": SHARE, "value": 1, "prodsourcelabel": "user"},
                                             {"name": "Other", "value": 1}]}, more_of(ALICE, share="Other")),
    "user_jobs[].user": (BUSY, more_of(ALICE, user="bob")),
    "user_jobs[].queued": (BUSY, more_of(ALICE, queued=1)),
    "user_jobs[].running": (BUSY, more_of(ALICE, running=100)),
    "user_jobs[].users": (BUSY, more_of(ALL, users=1)),
    "tasks.<name>.task_class": (CLASS_C, {T + "task_class": "S"}),
    "tasks.<name>.ended_jobs": ({}, FAILED),
    "tasks.<name>.ended_jobs.<name>.failed": (FAILED, {T + "ended_jobs.NORTH.failed": 60}),
    "tasks.<name>.ended_jobs.<name>.closed": (FAILED, {T + "ended_jobs.NORTH.closed": 60}),
    "tasks.<name>.ended_jobs.<name>.finished": (FAILED, {T + "ended_jobs.NORTH.finished": 100}),
    "tasks.<name>.used_queues": ({QUEUES + "site_class": "lo", "queues.SOUTH.site_class": "hi"},
                                 {T + "used_queues": ["NORTH"]}),
    "tasks.<name>.includedSite": ({}, {T + "includedSite": ["NORTH"]}),
    "tasks.<name>.excludedSite": ({}, {T + "excludedSite": ["NORTH"]}),
    "tasks.<name>.siteEndpoint": ({}, {T + "siteEndpoint": "NORTH"}),
    "tasks.<name>.transUses": (OTHER_RELEASES, {T + "transUses": "Atlas-24.0.5"}),
    "tasks.<name>.cloud": ({}, {T + "cloud": "DE"}),
    "tasks.<name>.avoidVP": (VIRTUAL, {T + "avoidVP": True}),
    "tasks.<name>.nSitesPerJob": (AT_NORTH, {T + "nSitesPerJob": 2}),
    "tasks.<name>.allowIncompleteInDS": (HOLEY, {T + "allowIncompleteInDS": True}),
    "tasks.<name>.scouting": (VIRTUAL_INPUT, {T + "scouting": True}),
    "tasks.<name>.hpo": ({"grid.queues.NORTH.catchall": "gpu"}, {T + "hpo": True}),
}
"""For each key: a change of two queues for analysis, and a second one with the key that matters."""


@pytest.mark.parametrize("key", PICTURES)
def test_a_key_changes_an_answer(key):
    before, more = PICTURES[key]
    plain = snapshot().with_values(before)
    changed = plain.with_values(more)
    assert any(broker(plain, edition=edition).to_dict() != broker(changed, edition=edition).to_dict()
               for edition in ("documented", "deployed"))
