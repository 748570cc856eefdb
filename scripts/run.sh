#!/usr/bin/env bash
# Simulate a scenario; needs only a checkout and Python 3.11:
#
#     scripts/run.sh                                          one day of an ATLAS-like grid, scenarios/atlas_day.yaml
#     scripts/run.sh scenarios/quickstart.yaml --seed 3       any scenario, with the options of `simgrid-broker run`
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

make_environment ".[studies]" installed
case "${1:--}" in
    -*) set -- "$root/scenarios/atlas_day.yaml" "$@"
        echo "Simulating one day of all of ATLAS: one to two minutes, plus half a minute for compiling the first time." >&2 ;;
    *)  echo "Simulating $1." >&2 ;;
esac
exec "$venv/bin/python" -m simgrid_broker run "$@"
