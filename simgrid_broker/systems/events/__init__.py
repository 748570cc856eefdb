"""Event service: jobs that fetch ranges of events one bunch after the other, and what becomes of the ranges."""
