"""PanDA job records as small files."""

import csv
import io
import json

import pandas as pd

JOB = {"pandaid": 1, "creationtime": "2025-01-27 02:00:00", "starttime": "2025-01-27 02:10:00",
       "endtime": "2025-01-27 03:10:00", "jobstatus": "finished", "computingsite": "A", "corecount": 8,
       "cpuconsumptiontime": 14_400, "prodsourcelabel": "managed", "produsername": "ann"}
"""One hour on eight cores, of which half was used."""


def job(**fields):
    """One record of a plain job, with other fields or more of them; None = null."""
    return JOB | fields


def written(folder, *jobs, kind="json", name="jobs"):
    """A file of these records: json as of the monitor, index as of the index, csv or parquet."""
    path = folder / f"{name}.{'json' if kind == 'index' else kind}"
    if kind == "json":
        path.write_text(json.dumps({"jobs": list(jobs), "errsByCount": []}, indent=1))
    elif kind == "index":
        path.write_text(json.dumps({"hits": {"hits": [{"_index": "jobs", "_id": 1, "_source": one} for one in jobs]}}))
    elif kind == "csv":
        text, names = io.StringIO(), list(dict.fromkeys(name for one in jobs for name in one))
        rows = csv.writer(text, lineterminator="\n")
        rows.writerows([names, *([one.get(name, "") for name in names] for one in jobs)])
        path.write_text(text.getvalue())
    else:
        pd.DataFrame(list(jobs)).to_parquet(path)
    return path
