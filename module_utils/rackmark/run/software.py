"""What a workload's program needs: packages by kind of device, those that have to be compiled, and images."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Collection, Mapping

from ..environments.compiled import Compiled
from .keys import Keys

DEVICES = ("cpu", "cuda", "npu")


@dataclass(frozen=True)
class Software:
    """`package` is the one whose version is recorded; `distribution` is its name as one of the distribution's, which
    `distribution_packages` bring where there is no CPU build of it; each package to `build` comes with the kinds of
    device that it is for.
    """

    package: str
    requirements: Mapping[str, tuple[str, ...]]
    distribution: str
    distribution_packages: tuple[str, ...]
    build: tuple[tuple[Collection[str], Compiled], ...]

    def on(self, device: str) -> dict[str, Any]:
        """What there is to be installed on this kind of device, for the modules that do it."""
        if self.requirements and device not in self.requirements:
            known = ", ".join(sorted(self.requirements))
            raise ValueError(f"There are no requirements for {device} in workload.yml, only for {known}.")
        return {
            "package": self.package,
            "requirements": list(self.requirements.get(device, ())),
            "cpu_wheel": self.distribution if device == "cpu" else "",
            "distribution_packages": list(self.distribution_packages),
            "build": [asdict(build) for devices, build in self.build if device in devices],
        }


def software_from(keys: Keys) -> Software:
    requirements = keys.within("requirements", {})
    distribution = keys.within("distribution", {})
    software = Software(
        package=keys.text("package", ""),
        requirements={device: requirements.words(device) for device in requirements.names()},
        distribution=distribution.text("package") if distribution.names() else "",
        distribution_packages=distribution.words("packages") if distribution.names() else (),
        build=tuple(_build(entry) for entry in keys.entries("build")),
    )
    requirements.only(DEVICES)
    distribution.no_more()
    keys.no_more()
    return software


def _build(keys: Keys) -> tuple[Collection[str], Compiled]:
    devices = keys.words("devices", DEVICES)
    if unknown := sorted(set(devices) - set(DEVICES)):
        keys.wrong("devices", f"is unknown in {', '.join(unknown)}: use {', '.join(DEVICES)}.")
    build = Compiled(
        name=keys.text("name"),
        requirement=keys.text("requirement"),
        needs=keys.words("needs", ()),
        environ={name: str(value) for name, value in keys.values("environ").items()},
    )
    keys.no_more()
    return devices, build


def images_from(keys: Keys, name: str) -> dict[str, str]:
    """By kind of device; one text is the image for all."""
    if not isinstance(keys.raw(name), dict):
        image = keys.optional_text(name)
        return dict.fromkeys(DEVICES, image) if image else {}
    images = keys.within(name)
    images.only(DEVICES)
    return {device: images.text(device) for device in images.names()}


def precisions_from(keys: Keys, name: str) -> dict[str, tuple[str, ...]]:
    precisions = keys.within(name, {})
    precisions.only(DEVICES)
    return {device: precisions.words(device) for device in precisions.names()}
