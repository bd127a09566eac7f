"""How a training script ends: 0 when all steps were done, 1 when training broke off, 2 when it was asked wrongly."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from typing import Callable, NoReturn


class UsageError(Exception):
    """What was asked for cannot be run."""


class TrainingError(Exception):
    """The training started and cannot go on."""


def run(program: str, main: Callable[[list[str]], None]) -> None:
    """Runs main with the arguments of the command line; what it raises becomes one sentence and an exit status."""
    _end_on_sigterm(program)
    try:
        main(sys.argv[1:])
    except UsageError as error:
        _leave(program, str(error), 2)
    except TrainingError as error:
        _leave(program, str(error), 1)


def leave(status: int) -> NoReturn:
    """Ends the process at once, without the clean-up of the interpreter and of frameworks."""
    for child in multiprocessing.active_children():
        child.terminate()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _leave(program: str, sentence: str, status: int) -> NoReturn:
    # A framework's own clean-up may wait for ranks that are gone.
    sys.stderr.write(f"{program}: {sentence}\n")
    leave(status)


def _end_on_sigterm(program: str) -> None:
    """A thread of its own ends the process, because the main thread may be deep in a collective that never returns."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)

    def wait() -> None:
        while os.read(reading, 1) != bytes([signal.SIGTERM]):
            pass  # the number of another signal
        _leave(program, "ended by SIGTERM before its last step", 128 + signal.SIGTERM)

    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGTERM, lambda *_: None)
    threading.Thread(target=wait, daemon=True).start()
