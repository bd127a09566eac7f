#!/usr/bin/env bash
# All tests, or one tier: unit (no root, under a minute), lab (virtual cluster, root).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

case "${1:-all}" in
    all) tiers=(tests/unit tests/lab) ;;
    unit | lab) tiers=("tests/$1") ;;
    *) echo "test.sh: unknown tier '$1': use unit, lab, or nothing for all" >&2; exit 2 ;;
esac
if [ "${1:-all}" != unit ] && [ "$(id -u)" -ne 0 ]; then
    echo "test.sh: the lab tier boots a virtual cluster and needs root: run as root, or './test.sh unit'" >&2
    exit 1
fi

./setup.sh --tests
exec .venv/bin/python -m pytest "${tiers[@]}"
