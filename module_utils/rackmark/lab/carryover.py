"""What a node needs from the machine's own settings to reach packages: mirrors, proxies, certificates, wheels."""

from __future__ import annotations

import ast
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

CA_BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
LOCAL_CAS = Path("/usr/local/share/ca-certificates")
APT_DIR = Path("/etc/apt")
_PIP_KEYS = ("index-url", "extra-index-url", "find-links", "trusted-host", "proxy", "timeout", "cert")
_APT_KEYS = ("Acquire::http::", "Acquire::https::", "Acquire::Retries", "Acquire::Check-Valid-Until")


@dataclass
class Carried:
    """Files to write into a node (by path in the node) and folders of this machine to show there, read-only."""

    files: dict[str, str] = field(default_factory=dict)
    folders: list[Path] = field(default_factory=list)
    mirror: str | None = None


def collect(suite: str, pip_config: str, proxies: dict[str, str]) -> Carried:
    carried = Carried()
    carried.files["etc/resolv.conf"] = _resolv_conf()
    for certificate in sorted(LOCAL_CAS.glob("*.crt")):
        carried.files[str(certificate.relative_to("/"))] = certificate.read_text()
    if CA_BUNDLE.exists():
        carried.files[str(CA_BUNDLE.relative_to("/"))] = CA_BUNDLE.read_text()
    carried.mirror, security = debian_mirrors(_apt_sources())
    if carried.mirror:
        carried.files["etc/apt/sources.list"] = sources_list(suite, carried.mirror, security)
    carried.files["etc/apt/apt.conf.d/90rackmark"] = apt_settings(_apt_config())
    settings = pip_settings(pip_config)
    if settings:
        lines = [f"{key} = {value}" for key, value in settings.items()]
        carried.files["etc/pip.conf"] = "\n".join(["[global]", *lines, ""])
        carried.folders = [folder for folder in pip_folders(settings) if folder.is_dir()]
    lines = [f'{name}="{value}"\n' for name, value in sorted(proxies.items()) if value]
    if lines:
        carried.files["etc/environment"] = "".join(lines)
    return carried


def debian_mirrors(sources: str) -> tuple[str | None, str | None]:
    """The main and the security mirror named in apt's sources, in either of its formats."""
    lines = [line for line in sources.splitlines() if not line.lstrip().startswith("#")]
    urls = re.findall(r"\b(?:https?|file|mirror\+\w+):/\S+", "\n".join(lines))
    main = next((url for url in urls if url.rstrip("/").endswith("/debian")), None)
    security = next((url for url in urls if url.rstrip("/").endswith("debian-security")), None)
    return main, security


def sources_list(suite: str, mirror: str, security: str | None) -> str:
    lines = [f"deb {mirror} {suite} main", f"deb {mirror} {suite}-updates main"]
    if security:
        lines.append(f"deb {security} {suite}-security main")
    return "\n".join(lines) + "\n"


def apt_settings(dump: str) -> str:
    kept = [line for line in dump.splitlines() if line.startswith(_APT_KEYS)]
    return "\n".join([*kept, 'Acquire::Languages "none";', ""])


def pip_settings(config_list: str) -> dict[str, str]:
    """Settings out of `pip config list`; what the environment says comes last there and wins, as in pip."""
    found: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}
    for line in config_list.splitlines():
        match = re.match(r"(global|install|:env:)\.([\w-]+)=(.+)", line)
        if match and match[2] in _PIP_KEYS:
            found[match[1]][match[2]] = " ".join(str(ast.literal_eval(match[3])).split())
    settings = {**found["global"], **found["install"], **found[":env:"]}
    if "cert" in settings:
        settings["cert"] = str(CA_BUNDLE)
    return settings


def pip_folders(settings: dict[str, str]) -> list[Path]:
    """Local folders that pip's settings point to; of an index its parent, since its pages link to files beside it."""
    folders = [Path(place) for place in _local_places(settings.get("find-links", ""))]
    for key in ("index-url", "extra-index-url"):
        folders += [Path(place).parent for place in _local_places(settings.get(key, ""))]
    return sorted(set(folders))


def _local_places(value: str) -> list[str]:
    places = [place[len("file://") :] if place.startswith("file:///") else place for place in value.split()]
    return [place for place in places if place.startswith("/")]


def _resolv_conf() -> str:
    """The machine's own name servers; a stub on loopback means nothing inside a node."""
    upstream = Path("/run/systemd/resolve/resolv.conf")
    own = Path("/etc/resolv.conf").read_text()
    return upstream.read_text() if "127.0.0.53" in own and upstream.exists() else own


def _apt_sources() -> str:
    listed = [APT_DIR / "sources.list", *sorted((APT_DIR / "sources.list.d").glob("*"))]
    return "\n".join(path.read_text() for path in listed if path.is_file() and path.suffix in (".list", ".sources"))


def _apt_config() -> str:
    return subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=False).stdout
