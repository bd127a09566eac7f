"""The kinds of queues, by the name that `launcher` takes. Another kind is a file here, and its class in this list."""

from __future__ import annotations

from .local import LocalQueue
from .modelarts import ModelArtsQueue
from .queue import Queue, Setting
from .slurm import SlurmQueue
from .ssh import SshQueue

_KINDS = {kind.traits.name: kind for kind in (SlurmQueue, SshQueue, LocalQueue, ModelArtsQueue)}

DEFAULT = SlurmQueue.traits.name
TRAITS = {name: kind.traits for name, kind in _KINDS.items()}
LAUNCHERS = tuple(TRAITS)


def queue_for(launcher: str, setting: Setting) -> Queue:
    return _KINDS[launcher](setting)
