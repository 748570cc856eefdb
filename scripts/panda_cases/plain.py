"""A snapshot of plain single-core queues at one site, on which a single check decides."""

SITE, STORAGE = "SITE", "STORAGE"


def snapshot(edition: str, queues: dict[str, dict], share: str, task: dict, **grid) -> dict:
    """Values of a snapshot: queues by name, the only share, and a task of single-core jobs; grid: more of its keys."""
    plain = dict(atlas_site=SITE, corecount=1, capability="score")
    return dict(
        edition=edition, strict=False, shares=[dict(name=share, value=1)],
        tasks={1: dict(brokerage="job_brokerage", nucleus=SITE, gshare=share, corecount=1, n_jobs=1) | task},
        grid=dict(sites={SITE: dict(cores=0, nucleus=True)},
                  storages={STORAGE: dict(site=SITE, total="9 PB", free="9 PB")},
                  queues={name: plain | queue for name, queue in queues.items()}, **grid))
