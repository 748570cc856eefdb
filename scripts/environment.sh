# Sourced by run.sh and test.sh: the virtual environment .venv of this checkout, with the package in it.
#
# Needs Python 3.11 or newer with venv and pip. A second call is quick: the environment is only made anew when
# pyproject.toml or the place of the checkout has changed, or when it does not work.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv="$root/.venv"

fail() {
    printf '%s\n' "$@" >&2
    exit 1
}

find_python() {    # prints the first interpreter that is new enough and really runs
    local name
    for name in python3.11 python3 python python3.12 python3.13 python3.14; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            command -v "$name"
            return
        fi
    done
    fail "simgrid_broker needs Python 3.11 or newer, and neither python3.11 nor python3 nor python is one." \
         "Install one (Debian, Ubuntu: apt install python3 python3-venv; macOS: brew install python) and try again."
}

make_environment() {    # $1: what to install, "." or ".[test]"; $2: the stamp that says that it is installed
    local stamp="$venv/$2" state python log
    state="$(cksum < "$root/pyproject.toml") $root"
    if [ -x "$venv/bin/python" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$state" ]; then
        return
    fi
    python=$(find_python) || exit 1
    echo "Making the virtual environment .venv with $("$python" --version) and installing simgrid_broker:" \
         "one to three minutes, most of it downloads." >&2
    log=$(mktemp)
    if ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
        "$python" -m venv --clear "$venv" >"$log" 2>&1 ||
            fail "$(cat "$log")" "The virtual environment could not be made (Debian, Ubuntu: apt install python3-venv)."
    fi
    (cd "$root" && "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input -e "$1") >"$log" 2>&1 ||
        fail "$(cat "$log")" "The installation failed, see above."
    rm -f "$log"
    printf '%s\n' "$state" >"$venv/installed"
    printf '%s\n' "$state" >"$stamp"
}
