"""`python -m simgrid_broker`: the same as `simgrid-broker`."""

from simgrid_broker.cli import main

if __name__ == "__main__":
    main()
