"""The command line: one module per command; each imports libraries only when it runs, to keep `--help` fast."""


def main() -> None:
    """Run the program and exit."""
    from simgrid_broker.cli import app
    app.main()
