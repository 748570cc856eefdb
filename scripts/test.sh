#!/usr/bin/env bash
# Run the tests, from nothing but a checkout and Python 3.11; further arguments go to pytest:
#
#     scripts/test.sh
#     scripts/test.sh tests/policy -k throttle
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

make_environment ".[test]" installed-test
echo "Running the tests: two to three minutes the first time, while code is compiled, then one to two." >&2
cd "$root"
exec "$venv/bin/python" -m pytest "$@"
