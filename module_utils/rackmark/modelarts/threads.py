"""A few threads that share a list of work, and stop at the first that fails."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Callable, TypeVar

T = TypeVar("T")


def for_each(items: Iterable[T], work: Callable[[T], None], threads: int) -> None:
    """Nothing is begun after the first error, which is raised once the work that had begun is done."""
    left, lock, stop = iter(items), threading.Lock(), threading.Event()

    def worker() -> None:
        try:
            while not stop.is_set():
                with lock:
                    item = next(left, None)
                if item is None:
                    return
                work(item)
        except BaseException:
            stop.set()
            raise

    with ThreadPoolExecutor(threads) as pool:
        workers = [pool.submit(worker) for _ in range(threads)]
        try:
            for each in workers:
                each.result()
        finally:  # also when the operator has had enough
            stop.set()
