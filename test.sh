#!/usr/bin/env bash
# All tests, or one tier: unit (no root, under a minute), lab (a virtual cluster), vm (a machine with its own kernel).
# What follows the tier goes to pytest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

tier=${1:-all}
case "$tier" in
    all) folders=(tests/unit tests/lab tests/vm) ;;
    unit | lab | vm) folders=("tests/$tier") ;;
    *) echo "test.sh: unknown tier '$tier': use unit, lab, vm, or nothing for all" >&2; exit 2 ;;
esac
if [ "$tier" != unit ] && [ "$(id -u)" -ne 0 ]; then
    echo "test.sh: all tiers but unit boot machines and need root: run as root, or './test.sh unit'" >&2
    exit 1
fi

./setup.sh --tests
export PATH="$PWD/.venv/bin:$PATH" # the tests run ansible-playbook as a user would
case "$tier" in
    unit) side_by_side=(-n auto --dist worksteal) ;;
    vm) side_by_side=() ;;
    *) side_by_side=(-n 2 --dist loadscope) ;; # by tests/conftest.py
esac
exec python -m pytest "${side_by_side[@]}" --durations=30 "${folders[@]}" "${@:2}"
