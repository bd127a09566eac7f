"""What a node needs from the machine's own settings to reach packages: mirrors, proxies, certificates, wheels."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from ..environments import pip_config

CA_BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
LOCAL_CAS = Path("/usr/local/share/ca-certificates")
APT_DIR = Path("/etc/apt")
_APT_KEYS = ("Acquire::http::", "Acquire::https::", "Acquire::Retries", "Acquire::Check-Valid-Until")


@dataclass
class Carried:
    """Files to write into a node (by path in the node) and folders of this machine to show there, read-only."""

    files: dict[str, str] = field(default_factory=dict)
    folders: list[Path] = field(default_factory=list)
    mirror: str | None = None


def collect(suite: str, pip_config_list: str, proxies: dict[str, str]) -> Carried:
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
    settings = pip_config.parse(pip_config_list)
    if settings:
        if "cert" in settings:
            settings["cert"] = str(CA_BUNDLE)
        lines = [f"{key} = {value}" for key, value in settings.items()]
        carried.files["etc/pip.conf"] = "\n".join(["[global]", *lines, ""])
        carried.folders = [folder for folder in pip_config.local_folders(settings) if folder.is_dir()]
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
