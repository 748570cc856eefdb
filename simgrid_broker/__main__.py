"""`python -m simgrid_broker`: runs the command line."""

from simgrid_broker.cli import main

if __name__ == "__main__":
    main()
