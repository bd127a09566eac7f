#!/usr/bin/env bash
# All tests, or one tier: unit (no root, under a minute), lab (virtual cluster, root). What follows the tier goes to pytest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

tier=${1:-all}
case "$tier" in
    all) folders=(tests/unit tests/lab) ;;
    unit | lab) folders=("tests/$tier") ;;
    *) echo "test.sh: unknown tier '$tier': use unit, lab, or nothing for all" >&2; exit 2 ;;
esac
if [ "$tier" != unit ] && [ "$(id -u)" -ne 0 ]; then
    echo "test.sh: the lab tier boots a virtual cluster and needs root: run as root, or './test.sh unit'" >&2
    exit 1
fi

./setup.sh --tests
export PATH="$PWD/.venv/bin:$PATH" # the tests run ansible-playbook as a user would
exec python -m pytest "${folders[@]}" "${@:2}"
