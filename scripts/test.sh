#!/usr/bin/env bash
# Run the tests on all cores; needs only a checkout and Python 3.11; further arguments go to pytest:
#
#     scripts/test.sh
#     scripts/test.sh tests/policy -k throttle
#     scripts/test.sh -m slow                       # pages in a browser, the wheel, the notebooks, types
#
# A file of tests is one worker's, so that a run which several of its tests look at is made once; files go in order, so
# that the last are the short ones of the tables.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

make_environment ".[test]" installed-test
echo "Running the tests: about nine minutes on two cores, the first time with compiling." >&2
cd "$root"
exec "$venv/bin/python" -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder "$@"
