#!/usr/bin/env bash
# From nothing to a true number: a virtual cluster on this machine, provisioned, measured and reported.
# Run again at any time; it repairs what is there and measures again.
# ./demo.sh modelarts shows a run in the cloud without an account: the object store and ModelArts are stand-ins on loopback.
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

install_tools() {
    ./setup.sh "$@" || return
    # shellcheck source=/dev/null
    . .venv/bin/activate
}

show_result() {
    local results=reports/runs/latest
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
    printf '\nReport:         %s/report.html\n' "$(realpath "$results")"
}

cluster() {
    [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null ||
        fail "the virtual cluster needs root: run as root, or as a user whose sudo asks for no password"
    stage '1/4 Install the tools' install_tools
    stage '2/4 Boot a head and 4 nodes' ansible-playbook playbooks/lab_up.yml -e lab_nodes=4
    stage '3/4 Make them a Slurm cluster' ansible-playbook site.yml
    stage '4/4 Train ResNet-50 on 1, 2 and 4 nodes' ansible-playbook run_resnet.yml -e nodes=4
    show_result
    local ssh_config=${RACKMARK_STATE_DIR:-/var/lib/rackmark}/labs/${RACKMARK_LAB:-lab}/ssh_config
    cat <<END
Log in:         ssh -F $ssh_config head
Prometheus:     ssh -F $ssh_config -L 9090:127.0.0.1:9090 head, then https://localhost:9090 (see docs/monitoring.md)
Take it down:   . .venv/bin/activate && ansible-playbook playbooks/lab_down.yml
END
}

start_stand_ins() {
    PYTHONPATH=tests python -m lab.modelarts.stand_in --folder "$folder" >"$folder/stand_in.log" 2>&1 &
    stand_ins=$!
    until [ -f "$folder/stand_in.json" ]; do
        kill -0 "$stand_ins" 2>/dev/null || { cat "$folder/stand_in.log" >&2; return 1; }
        sleep 0.2
    done
}

end_stand_ins() {
    [ -z "$stand_ins" ] || { kill "$stand_ins" && wait "$stand_ins"; } 2>/dev/null || true
    rm -rf "$folder"
}

train_in_stand_ins() {
    # shellcheck source=/dev/null
    . "$folder/keys.sh" # what a user of the cloud exports; keys never stand in a command line
    ansible-playbook run_modelarts.yml -e "@$folder/variables.json" -e cases=1n8g,2n8g -e repeats=2 \
        -e modelarts_code=tests/lab/modelarts/training -e modelarts_boot=train.py \
        -e '{"modelarts_parameters": {"epoch_size": 50}}' -e benchmark_dir="$folder/rackmark"
}

modelarts() {
    folder=$(mktemp -d) stand_ins=
    trap end_stand_ins EXIT
    stage '1/3 Install the tools' install_tools --modelarts
    stage '2/3 Start an object store and a ModelArts on loopback' start_stand_ins
    stage '3/3 Upload, train on 1 and 2 servers of 8 devices, collect' train_in_stand_ins
    show_result
    cat <<END
The store was OpenStack Swift and ModelArts a stand-in, both on this machine, and a device was one process: the way is that
of a real run (docs/modelarts.md), the numbers say nothing of ModelArts.
END
}

[ "$(uname -s)" = Linux ] || fail "this is $(uname -s) and it needs Linux: use a Linux machine or VM"
case "${1:-}" in
    '') cluster ;;
    modelarts) modelarts ;;
    *) echo "demo.sh: unknown demo '$1': use modelarts, or nothing for a virtual cluster" >&2; exit 2 ;;
esac
printf 'Everything took %d min %d s.\n' $((SECONDS / 60)) $((SECONDS % 60))
