#!/usr/bin/env bash
# All tests, or one tier: unit (no root), lab (virtual clusters), vm (machines with their own kernels). The tier soak takes
# part in no other: what is seen before a release, on a machine that does nothing else. What follows the tier goes to pytest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

tier=${1:-all}
case "$tier" in
    all) folders=(tests/unit tests/lab tests/vm) ;;
    unit | lab | vm | soak) folders=("tests/$tier") ;;
    *) echo "test.sh: unknown tier '$tier': use unit, lab, vm, soak, or nothing for all but soak" >&2; exit 2 ;;
esac
if [ "$tier" != unit ] && [ "$(id -u)" -ne 0 ]; then
    echo "test.sh: all tiers but unit boot machines and need root: run as root, or './test.sh unit'" >&2
    exit 1
fi

./setup.sh --tests --modelarts
export PATH="$PWD/.venv/bin:$PATH" # the tests run ansible-playbook as a user would
case "$tier" in
    unit) side_by_side=(-n auto --dist worksteal) ;;
    vm | soak) side_by_side=() ;;
    *) side_by_side=(-n 4 --dist loadscope) ;; # stories of tests/stories.py, which wait half of their time
esac
exec python -m pytest "${side_by_side[@]}" --durations=30 "${folders[@]}" "${@:2}"
