"""Grids: imported or synthetic ones in place of their sources, and the table of links."""
