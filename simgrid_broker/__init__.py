"""simgrid_broker: a discrete-event simulator of grid workload management with PanDA/JEDI's own rules."""
