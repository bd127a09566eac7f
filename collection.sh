#!/usr/bin/env bash
# Builds the Ansible collection rackmark.core, as an archive that ansible-galaxy installs: ./collection.sh [FOLDER]
set -euo pipefail
root=$(dirname "$(realpath "${BASH_SOURCE[0]}")")

"$root/setup.sh"
exec "$root/.venv/bin/python" "$root/collection/build.py" "$@"
