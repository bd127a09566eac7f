"""Whether a node has the program that the ranks run, and which version of its package. Nothing is imported for it."""

from __future__ import annotations

import grp
import json
import os
import pwd
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

_SECONDS_FOR_AN_ANSWER = 60

_FACTS = ("python", "package_version", "packages_digest", "image_digest")

# Asked of the interpreter that the ranks run: its own version, the package's from what pip or apt has noted, and, if it
# is that of an environment, a digest of the names and versions of all packages.
_QUESTION = """
import hashlib, json, os, platform, sys, sysconfig
from importlib import metadata
try:
    version = metadata.version(sys.argv[1]) if sys.argv[1:] else None
except metadata.PackageNotFoundError:
    version = None
packages = None
if sys.prefix != sys.base_prefix:
    names = sorted(name for name in os.listdir(sysconfig.get_paths()["purelib"]) if name.endswith("-info"))
    packages = hashlib.sha256("\\n".join(names).encode()).hexdigest()
print(json.dumps([platform.python_version(), version, packages]))
"""


def ask_interpreter(program: str, package: str | None) -> tuple[dict[str, Any], list[str]]:
    facts: dict[str, Any] = dict.fromkeys(_FACTS)
    if shutil.which(program) is None:
        return facts, [f"The program {program} is missing or cannot be run."]
    if not _is_python(program):
        return facts, []
    answers, problems = _ask([program], package, program)
    return {**facts, **answers}, problems


def ask_image(image: str, program: str, package: str | None, job: str) -> tuple[dict[str, Any], list[str]]:
    facts: dict[str, Any] = dict.fromkeys(_FACTS)
    if shutil.which("docker") is None:
        return facts, ["There is no program docker. Install Docker, or take runtime=venv."]
    seen = _run(["docker", "image", "inspect", "--format", "{{json .RepoDigests}} {{json .Id}}", image])
    if seen.returncode != 0:
        said = _last_line(seen.stderr)
        if "No such image" in said:
            return facts, [f"Docker has no image {image}. Pull it on this node."]
        return facts, [_denied() if "permission denied" in said else f"Docker does not answer: {said}"]
    digests, identity = (json.loads(part) for part in seen.stdout.rsplit(" ", 1))
    facts["image_digest"] = digests[0] if digests else identity
    if not _is_python(program):
        return facts, []
    inside = [
        "docker",
        "run",
        "--rm",
        f"--label=rackmark.job={job}",
        "--network=none",
        f"--entrypoint={program}",
        image,
    ]
    answers, problems = _ask(inside, package, f"{program} in the image {image}")
    return {**facts, **answers}, problems


def _denied() -> str:
    """A job has the groups that Slurm gave it, which need not be those of the node."""
    user = pwd.getpwuid(os.getuid()).pw_name
    allowed = [group.gr_gid for group in grp.getgrall() if group.gr_name == "docker" and user in group.gr_mem]
    if not allowed or allowed[0] in os.getgroups():
        return f"User {user} may not use Docker. Put the user into the group docker of every node."
    return (
        f"User {user} is in the group docker, and the job is not. Slurm gives a job the groups that its controller"
        " knows of, or with LaunchParameters=disable_send_gids those that the node had when slurmd was reloaded."
    )


def _is_python(program: str) -> bool:
    return re.fullmatch(r"python[\d.]*", Path(program).name) is not None


def _ask(command: list[str], package: str | None, title: str) -> tuple[dict[str, Any], list[str]]:
    done = _run([*command, "-c", _QUESTION, *([package] if package else [])])
    try:
        python, version, packages = json.loads(done.stdout)
    except ValueError:
        return {}, [f"{title} does not run: {_last_line(done.stderr) or f'exit status {done.returncode}'}"]
    problems = []
    if package and version is None:
        problems.append(f"{title} has no package {package}. Build the environment again.")
    return {"python": python, "package_version": version, "packages_digest": packages}, problems


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS_FOR_AN_ANSWER, check=False)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"no answer within {_SECONDS_FOR_AN_ANSWER} s")
    except OSError as error:
        return subprocess.CompletedProcess(command, 127, "", str(error))


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""
