"""Slurm's own commands, each within a time limit, with nothing left behind."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from typing import NamedTuple, Sequence

MOST_BYTES = 64 << 20
MOST_BYTES_OF_ERRORS = 2000
_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"


class SlurmError(Exception):
    """Slurm did not say what it was asked for; the text is a sentence for the journal."""


class Done(NamedTuple):
    status: int
    output: bytes
    error: str  # in one line


def run(command: Sequence[str], limit: float) -> Done:
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(),
            start_new_session=True,  # so that its children can be ended with it
        )
    except OSError as error:
        raise SlurmError(f"{command[0]} cannot be started ({error.strerror}).") from error
    deadline = time.monotonic() + limit
    try:
        output, error_text = _read(process, deadline)
        process.wait(timeout=max(0.1, deadline - time.monotonic()))
    except (SlurmError, subprocess.TimeoutExpired) as error:
        os.killpg(process.pid, signal.SIGKILL)
        # As long as the kernel holds on to it there is no second one.
        process.wait()
        what = error if isinstance(error, SlurmError) else f"gave no answer within {limit:g} s"
        raise SlurmError(f"{command[0]} {what} and was ended.") from error
    finally:
        for pipe in (process.stdout, process.stderr):
            if pipe:
                pipe.close()
    return Done(process.returncode, output, " / ".join(error_text.decode(errors="replace").split("\n")).strip(" /"))


def ask(command: Sequence[str], limit: float) -> bytes:
    """What the command printed; a status other than 0 is an error."""
    done = run(command, limit)
    if done.status != 0:
        raise SlurmError(f"{command[0]} failed with status {done.status}: {done.error or 'it gave no reason'}.")
    return done.output


def _environment() -> dict[str, str]:
    """Times in seconds, no translated words, and none of the variables that change what Slurm's commands print."""
    fixed = {"LC_ALL": "C", "TZ": "UTC", "SLURM_TIME_FORMAT": "%s", "PATH": os.environ.get("PATH", _PATH)}
    return {**fixed, **{name: os.environ[name] for name in ("SLURM_CONF",) if name in os.environ}}


def _read(process: subprocess.Popen[bytes], deadline: float) -> list[bytes]:
    """Everything on standard output and the beginning of standard error."""
    texts = {"output": bytearray(), "error": bytearray()}
    with selectors.DefaultSelector() as selector:
        for name, pipe in (("output", process.stdout), ("error", process.stderr)):
            if pipe:
                selector.register(pipe, selectors.EVENT_READ, name)
        while selector.get_map():
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            if not ready or time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(process.args, 0)
            for key, _ in ready:
                piece = os.read(key.fd, 1 << 16)
                if not piece:
                    selector.unregister(key.fileobj)
                elif key.data == "output" or len(texts["error"]) < MOST_BYTES_OF_ERRORS:
                    texts[key.data] += piece
            if len(texts["output"]) > MOST_BYTES:
                raise SlurmError(f"printed more than {MOST_BYTES >> 20} MB")
    return [bytes(text) for text in texts.values()]


def words(text: str, longest: int) -> str:
    """Text for a label: one line of bounded length without control characters."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
