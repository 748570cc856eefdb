"""A nucleus with several storages: a run checks and fills the one that PanDA would choose."""

from pathlib import Path

from simgrid_broker.engine import simulate
from simgrid_broker.scenario import load_scenario

MINIMAL = Path(__file__).parents[2] / "scenarios" / "minimal.yaml"


def test_output_of_a_run_goes_to_the_storage_whose_space_task_brokerage_looks_at(tmp_path):
    minimal = load_scenario(MINIMAL, until="4h")
    both = {name: dict(site="CENTRE", total=2e15, free=4e14) for name in ("Z_DATADISK", "A_DATADISK", "A_TAPE")}
    both["A_TAPE"] |= dict(type="DATATAPE", tape=True)
    endpoints = [dict(storage=name, order=order, default_write=order == 0) for order, name in enumerate(both)]
    plan = minimal.with_values({"grid.storages.CENTRE_DATADISK": None, "grid.queues.CENTRE.endpoints": endpoints,
                                **{f"grid.storages.{name}": storage for name, storage in both.items()}})
    run = simulate(plan, folder=tmp_path / "run", validate=True)
    written = run.storages.astype({"storage": str}).groupby("storage")["written_bytes"].max()
    assert written["A_DATADISK"] > 0 and not written[["Z_DATADISK", "A_TAPE"]].any()
    full = plan.with_values({"grid.storages.A_DATADISK.free": 1e12})
    refused = simulate(full, folder=tmp_path / "full", validate=True).refusals.astype({"candidate": str, "tag": str})
    assert "-space" in refused.loc[refused["candidate"] == "CENTRE", "tag"].tolist()
