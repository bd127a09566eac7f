#!/usr/bin/python
"""Ansible module: package files of a vendor, with checksums."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vendor_packages
short_description: Install a vendor's package files where the host has another version or none
description:
  - Takes installers (C(.run)) and Debian packages (C(.deb)) that are in no repository.
  - A package whose version is installed is neither sent nor run.
  - All files are checked against their checksums before the first of them runs; one that differs stops all.
  - What counts is the version that the host names afterwards, not only that the installer ended well.
options:
  packages:
    description: Packages in the order in which they go onto a blank host.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: What it is called; for a C(.deb), the name of its package.
        type: str
        required: true
      version:
        description: Version, as the host names it once it is installed.
        type: str
        required: true
      file:
        description: The file on the control machine.
        type: str
      url:
        description: Where the host fetches it, instead of C(file); C(file:///shared/...) for a shared folder.
        type: str
      sha256:
        description: Its checksum.
        type: str
        required: true
      arguments:
        description: Arguments of an installer.
        type: list
        elements: str
        default: []
      version_files:
        description:
          - Files of the host, with wildcards, the first of which has a line C(version=...) once the package is
            installed. A C(.deb) needs none.
        type: list
        elements: str
        default: []
  defaults:
    description: What packages of this name have where they do not say it themselves.
    type: dict
    default: {}
  upgrade_order:
    description: Names of packages that go in this order when the host has all of them already.
    type: list
    elements: str
    default: []
  keep:
    description: Files that installers change although they are not theirs; they are put back as they were.
    type: list
    elements: path
    default: []
  staged:
    description: Set by the action; where on the host the files are.
    type: dict
attributes:
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Install the driver
  vendor_packages:
    packages:
      - name: driver
        version: 24.1.rc2
        file: /srv/packages/Ascend-hdk-910b-npu-driver_24.1.rc2_linux-aarch64.run
        sha256: 5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef
        arguments: [--full, --quiet]
        version_files: [/usr/local/Ascend/driver/version.info]
"""

RETURN = r"""
needed:
  description: Packages that the host lacked.
  type: list
  elements: str
  returned: always
versions:
  description: Versions by package as they are now; null for what is not installed.
  type: dict
  returned: always
busy:
  description: The process that held dpkg's or apt's lock, so that nothing was done. The action waits and asks again.
  type: str
  returned: when one did
"""

import shutil
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.rackmark import dpkg
from ansible.module_utils.rackmark.vendor_packages import Package, in_order, package_of, sha256_of, version_in
from ansible.module_utils.urls import open_url

PACKAGE_OPTIONS = {
    "name": {"type": "str", "required": True},
    "version": {"type": "str", "required": True},
    "file": {"type": "str"},
    "url": {"type": "str"},
    "sha256": {"type": "str", "required": True},
    "arguments": {"type": "list", "elements": "str", "default": []},
    "version_files": {"type": "list", "elements": "str", "default": []},
}
# Installers of drivers and firmware end with 2 when all is installed and takes effect after a reboot.
GOOD_ENDINGS = (0, 2)
APT = [
    "apt-get",
    "--yes",
    "--quiet",
    "--no-install-recommends",
    "--allow-downgrades",
    f"--option=DPkg::Lock::Timeout={dpkg.LOCK_SECONDS}",
]
ENVIRONMENT = {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8", "NEEDRESTART_SUSPEND": "1"}


class Kept:
    """A file as it was before installers ran."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.content = path.read_bytes() if path.exists() else None
        self.state = path.stat() if path.exists() else None

    def put_back(self) -> None:
        if self.state is None or self.content is None:
            self.path.unlink(missing_ok=True)
        elif self.path.read_bytes() != self.content or self.path.stat().st_mode != self.state.st_mode:
            self.path.write_bytes(self.content)
            self.path.chmod(self.state.st_mode)
            shutil.chown(self.path, self.state.st_uid, self.state.st_gid)


def installed_versions(packages: list[Package]) -> dict[str, str | None]:
    in_dpkg: dict[str, str] = {}
    if any(package.is_deb for package in packages):
        in_dpkg = dpkg.installed_versions(dpkg.STATUS.read_text(encoding="utf-8", errors="replace"))
    return {
        package.name: in_dpkg.get(package.name) if package.is_deb else version_in(package.version_files)
        for package in packages
    }


def fetched(module: AnsibleModule, package: Package) -> Path:
    path = Path(module.tmpdir) / Path(package.source).name
    try:
        with open_url(package.source, timeout=60) as answer, path.open("wb") as file:
            shutil.copyfileobj(answer, file)
    except OSError as error:
        raise OSError(f"Package {package.name!r} cannot be fetched from {package.source}: {error}") from error
    return path


def checked(package: Package, path: Path) -> Path:
    found = sha256_of(path)
    if found != package.sha256:
        raise ValueError(
            f"Package {package.name!r} is not the file it should be: sha256 of {package.source} is {found}, the"
            f" inventory says {package.sha256}. Nothing was installed; get the right file, or correct the checksum if"
            " the file is right."
        )
    return path


def give_way(module: AnsibleModule, errors: str = "") -> None:
    """The action of the same name waits, and says whom for."""
    if busy := dpkg.at_work(errors):
        module.exit_json(changed=False, needed=[], versions={}, busy=busy)


def run(module: AnsibleModule, command: list[str], what: str) -> None:
    status, output, errors = module.run_command(command, environ_update=ENVIRONMENT)
    if status not in GOOD_ENDINGS:
        give_way(module, errors)
        said = (output + errors).strip().splitlines()[-8:]
        module.fail_json(
            msg=f"Installing {what} failed with status {status}: {' / '.join(said)}",
            stdout=output[-4000:],
            stderr=errors[-4000:],
        )


def install(module: AnsibleModule, packages: list[Package], files: dict[str, Path]) -> None:
    """Debian packages together, since they may need each other, then installers one by one."""
    if debs := [package for package in packages if package.is_deb]:
        run(
            module,
            [*APT, "install", *(str(files[package.name]) for package in debs)],
            ", ".join(package.name for package in debs),
        )
    for package in packages:
        if not package.is_deb:
            run(module, ["bash", str(files[package.name]), *package.arguments], f"{package.name} {package.version}")


def refuse_wrong_versions(packages: list[Package], versions: dict[str, str | None]) -> None:
    for package in packages:
        if not package.is_version(versions[package.name]):
            raise ValueError(
                f"Package {package.name!r} was installed, and the host says that its version is"
                f" {versions[package.name]}, not {package.version}. Look at"
                f" {' '.join(package.version_files) or 'dpkg --list'} there and correct the version in the inventory."
            )


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "packages": {"type": "list", "elements": "dict", "required": True, "options": PACKAGE_OPTIONS},
            "upgrade_order": {"type": "list", "elements": "str", "default": []},
            "keep": {"type": "list", "elements": "path", "default": []},
            "staged": {"type": "dict"},
        },
        supports_check_mode=True,
    )
    try:
        packages = [package_of(entry) for entry in module.params["packages"]]
        versions = installed_versions(packages)
        needed = [package for package in packages if not package.is_version(versions[package.name])]
        staged = module.params["staged"]
        if staged is not None:
            ordered = in_order(needed, versions, module.params["upgrade_order"])
            files = {
                package.name: Path(staged[package.name]) if staged[package.name] else fetched(module, package)
                for package in ordered
            }
            for package in ordered:
                checked(package, files[package.name])
            give_way(module)
            kept = [Kept(Path(path)) for path in module.params["keep"]]
            try:
                install(module, ordered, files)
            finally:
                for each in kept:
                    each.put_back()
            versions = installed_versions(packages)
            refuse_wrong_versions(needed, versions)
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=bool(needed), needed=[package.name for package in needed], versions=versions)


if __name__ == "__main__":
    main()
