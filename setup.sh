#!/usr/bin/env bash
# Makes .venv with the exact packages of requirements.txt, whose checksums are in it; --tests adds those of
# tests/requirements.txt, --modelarts those that run_modelarts.yml needs.
# With the system's own Python where it is new enough, which is what the tests run on; RACKMARK_PYTHON names another one.
# Outside this folder it only installs the apt packages named in apt_packages, and only those that are missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

apt_packages=(openssh-client)
requirements=(requirements.txt)
for option in "$@"; do
    case "$option" in
        --tests) requirements+=(tests/requirements.txt) ;;
        --modelarts) requirements+=(requirements-build.txt requirements-modelarts.txt) ;;
        *) echo "setup.sh: unknown option '$option'; the options are --tests and --modelarts" >&2; exit 2 ;;
    esac
done

# An activated .venv must not be what the new one is made with.
PATH=${PATH//"$PWD/.venv/bin:"/}

fail() { echo "setup.sh: $*" >&2; exit 1; }

usable_python() {
    local candidate candidates=(/usr/bin/python3 python3 python3.14 python3.13 python3.12 python3.11)
    [ -z "${RACKMARK_PYTHON:-}" ] || candidates=("$RACKMARK_PYTHON")
    for candidate in "${candidates[@]}"; do
        if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return 0
        fi
    done
    return 1
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"
    elif command -v sudo >/dev/null; then sudo "$@"
    else fail "installing ${apt_packages[*]} needs root: run as root or install sudo"
    fi
}

install_missing_apt_packages() {
    local package missing=()
    for package in "${apt_packages[@]}"; do
        dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    command -v apt-get >/dev/null || fail "this system has no apt-get: install ${missing[*]} with its package manager and run again"
    echo "setup.sh: installing with apt: ${missing[*]}"
    as_root apt-get update -qq || fail "apt-get update failed (see above): check the apt sources and the network"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
        fail "apt-get could not install ${missing[*]} (see above)"
}

if [ -n "${RACKMARK_PYTHON:-}" ] && ! usable_python >/dev/null; then
    fail "RACKMARK_PYTHON is '$RACKMARK_PYTHON', which is no Python 3.11 or newer with venv and ensurepip: name another one or unset it"
fi
usable_python >/dev/null || apt_packages+=(python3 python3-venv)
install_missing_apt_packages
python=$(usable_python) || fail "Python 3.11 or newer is needed, this machine has $(python3 --version 2>&1 || echo none): install one and run again"

stamp_of() { echo ".venv/.installed-${1//\//-}"; }
contents_of() { "$python" --version; cat "$1"; }
is_installed() { [ -f "$(stamp_of "$1")" ] && [ "$(contents_of "$1")" = "$(cat "$(stamp_of "$1")")" ]; }

missing=()
for file in "${requirements[@]}"; do is_installed "$file" || missing+=("$file"); done
[ ${#missing[@]} -gt 0 ] || exit 0

said=$(mktemp)
trap 'rm -rf .venv "$said"' EXIT # whatever stops us, no half-made .venv stays behind
if ! is_installed requirements.txt; then
    rm -rf .venv
    "$python" -m venv .venv || fail "$python cannot make a virtual environment in $PWD (see above)"
fi
for file in "${missing[@]}"; do
    echo "setup.sh: installing $(grep -c == "$file") packages of $file into .venv"
    # What comes as source is made with the setuptools of requirements-build.txt, not with one that pip looks for.
    if ! .venv/bin/python -m pip install -qq --disable-pip-version-check --require-hashes --no-deps --use-pep517 \
        --no-build-isolation -r "$file" >"$said" 2>&1; then
        cat "$said" >&2
        ! grep -q 'DO NOT MATCH THE HASHES' "$said" ||
            fail "a package is not the file that $file names (see above), and nothing was installed. Either somebody changed it:" \
                "use another index. Or there is no file for this Python and system: use Python 3.11 to 3.14 on amd64 or arm64"
        fail "pip could not install $file (see above): check pip's index settings and the network"
    fi
    contents_of "$file" >"$(stamp_of "$file")"
done
trap - EXIT
rm -f "$said"
