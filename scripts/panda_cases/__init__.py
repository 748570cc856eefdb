"""Recorded cases of PanDA's production code: each kind is translated by the module of its name."""
