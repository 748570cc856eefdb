# Sourced by run.sh and test.sh: creates the virtual environment .venv of this checkout and installs the package.
#
# Needs Python 3.11 or newer with venv and pip. The environment is created again only if pyproject.toml or the path of
# the checkout has changed, or if it does not work.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv="$root/.venv"

fail() {
    printf '%s\n' "$@" >&2
    exit 1
}

find_python() {    # prints the first working interpreter of a sufficient version
    local name
    for name in python3.11 python3 python python3.12 python3.13 python3.14; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            command -v "$name"
            return
        fi
    done
    fail "simgrid_broker needs Python 3.11 or newer, but no python3.11, python3, python, ... on the PATH qualifies." \
         "Install one (Debian, Ubuntu: apt install python3 python3-venv; macOS: brew install python) and try again."
}

make_environment() {    # $1: package to install, ".[studies]" or ".[test]"; $2: file that marks the installation
    local stamp="$venv/$2" state python log
    state="$(cksum < "$root/pyproject.toml") $root"
    if [ -x "$venv/bin/python" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$state" ]; then
        return
    fi
    python=$(find_python) || exit 1
    echo "Creating the virtual environment .venv with $("$python" --version) and installing simgrid_broker:" \
         "one to three minutes, most of it downloads." >&2
    log=$(mktemp)
    if ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
        "$python" -m venv --clear "$venv" >"$log" 2>&1 ||
            fail "$(cat "$log")" "The virtual environment could not be created (Debian, Ubuntu: apt install python3-venv)."
    fi
    (cd "$root" && "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --no-compile -e "$1") \
        >"$log" 2>&1 || fail "$(cat "$log")" "The installation failed; see above."
    # bytecode is made on all cores and without the libraries' own tests; pip would use one core, and take them along;
    # that of the checkout is made too, as Python may be told to write none later
    "$venv/bin/python" -m compileall -q -j 0 -x /tests/ "$venv/lib" "$root/simgrid_broker" >"$log" 2>&1 || true
    rm -f "$log"
    printf '%s\n' "$state" >"$venv/installed"
    printf '%s\n' "$state" >"$stamp"
}
