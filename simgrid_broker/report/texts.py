"""Storage of the texts of tables while a page is written."""

from contextlib import ContextDecorator

import pandas as pd


def texts_of_python() -> ContextDecorator:
    """Within, pandas keeps texts as Python's instead of Arrow's, which take half as long again in many small tables."""
    return pd.option_context("mode.string_storage", "python")
