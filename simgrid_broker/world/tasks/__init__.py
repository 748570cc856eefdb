"""Tasks: rows, transitions of status, input files and resource types."""
