#!/usr/bin/env bash
# From nothing to a true number: a virtual cluster on this machine, provisioned, measured and reported.
# Run again at any time; it repairs what is there and measures again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

fail() { echo "demo.sh: $*" >&2; exit 1; }

stage() {
    local title=$1 began=$SECONDS
    shift
    printf '\n=== %s\n' "$title"
    "$@" || fail "'$title' failed (see above), after $((SECONDS - began)) s"
    printf '=== %s: done in %d s, %d s since the start\n' "$title" $((SECONDS - began)) "$SECONDS"
}

[ "$(uname -s)" = Linux ] || fail "the virtual cluster needs Linux, this is $(uname -s): use a Linux machine or VM"
[ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null ||
    fail "the virtual cluster needs root: run as root, or as a user whose sudo asks for no password"

stage '1/4 Install the tools' ./setup.sh
# shellcheck source=/dev/null
. .venv/bin/activate
stage '2/4 Boot a head and 4 nodes' ansible-playbook playbooks/lab_up.yml -e lab_nodes=4
stage '3/4 Make them a Slurm cluster' ansible-playbook site.yml
stage '4/4 Train ResNet-50 on 1, 2 and 4 nodes' ansible-playbook run_resnet.yml -e nodes=4

ssh_config=${RACKMARK_STATE_DIR:-/var/lib/rackmark}/labs/${RACKMARK_LAB:-lab}/ssh_config
results=reports/runs/latest
[ -s "$results/report.html" ] || fail "the run ended well but $results/report.html is missing"
printf '\n'
PYTHONPATH=module_utils python - "$results/summary.json" <<'PYTHON' || fail "$results/summary.json does not hold a run whose repeats are all ok"
import json, sys
from pathlib import Path
from rackmark.report.presentation import table
summary = json.loads(Path(sys.argv[1]).read_text())
print(table(summary))
sys.exit(summary["state"] != "ok")
PYTHON
cat <<END

Report:         $(realpath "$results")/report.html
Log in:         ssh -F $ssh_config head
Prometheus:     ssh -F $ssh_config -L 9090:127.0.0.1:9090 head, then https://localhost:9090 (see docs/monitoring.md)
Take it down:   . .venv/bin/activate && ansible-playbook playbooks/lab_down.yml
Everything took $((SECONDS / 60)) min $((SECONDS % 60)) s.
END
