"""The upload of training code to an object store, against bare parallel puts of the same client library.

python bench/modelarts.py [rounds] [--small 2000] [--large 200]   about 5 minutes with the default of 3 rounds

The store is OpenStack Swift on loopback, with TLS. The bare puts have as many threads, no checksums, no progress and
nothing that could be resumed; the large file goes in parts there too. Each side is a process of its own, in turns.
Needs ./setup.sh --tests --modelarts.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "module_utils")]
from lab.modelarts.running import StandIn, stand_in  # noqa: E402
from rackmark.modelarts.credentials import credentials  # noqa: E402
from rackmark.modelarts.store import Store  # noqa: E402
from rackmark.modelarts.upload import LARGEST_IN_ONE, THREADS, files_of, upload  # noqa: E402

SMALL_BYTES = 4096
KEYS = ("HUAWEICLOUD_SDK_AK", "HUAWEICLOUD_SDK_SK")


@dataclass(frozen=True)
class Took:
    seconds: float
    processor: float
    """Its seconds of processor time, without the store's."""
    memory: float
    """The most that the process had, in MB."""


def ours(endpoint: str, ca_file: str, folder: Path, prefix: str) -> None:
    keys = credentials(os.environ, {})
    with tempfile.TemporaryDirectory() as checkpoints:
        upload(
            *(Store(endpoint, keys, ca_file=ca_file), folder, "bench", prefix, files_of(folder, "train.py", keys)),
            progress=lambda _: None,
            checkpoints=Path(checkpoints),
        )


def bare(endpoint: str, ca_file: str, folder: Path, prefix: str) -> None:
    import ssl
    from concurrent.futures import ThreadPoolExecutor

    from obs import ObsClient

    access_key, secret_key = (os.environ[name] for name in KEYS)
    client = ObsClient(access_key_id=access_key, secret_access_key=secret_key, server=endpoint, long_conn_mode=True)
    client.context = ssl.create_default_context(cafile=ca_file)

    def put(path: Path) -> None:
        answer = client.putFile("bench", f"{prefix}{path.relative_to(folder).as_posix()}", str(path))
        assert answer.status < 300, answer.errorCode

    paths = [path for path in folder.rglob("*") if path.is_file()]
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(put, [path for path in paths if path.stat().st_size <= LARGEST_IN_ONE]))
    for path in paths:
        if path.stat().st_size > LARGEST_IN_ONE:
            key = f"{prefix}{path.relative_to(folder).as_posix()}"
            answer = client.uploadFile("bench", key, str(path), partSize=LARGEST_IN_ONE, taskNum=THREADS)
            assert answer.status < 300, answer.errorCode


def measured(side: str, servers: StandIn, folder: Path, prefix: str) -> Took:
    """In a process of its own, whose time includes neither its start nor its imports."""
    keys = dict(zip(KEYS, (servers.access_key, servers.secret_key)))
    command = [sys.executable, __file__, "--side", side, servers.obs_endpoint, servers.ca_file, str(folder), prefix]
    done = subprocess.run(command, env={**os.environ, **keys}, check=True, stdout=subprocess.PIPE)
    return Took(**json.loads(done.stdout))


def one_side(side: str, endpoint: str, ca_file: str, folder: str, prefix: str) -> None:
    began, used = time.perf_counter(), time.process_time()
    {"ours": ours, "bare": bare}[side](endpoint, ca_file, Path(folder), prefix)
    took = Took(
        time.perf_counter() - began,
        time.process_time() - used,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )
    print(json.dumps(took.__dict__))


def make(folder: Path, small: int, large: int) -> None:
    folder.mkdir()
    for number in range(small):
        path = folder / f"{number // 100:03}/{number:05}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(SMALL_BYTES))
    (folder / "train.py").write_text("print('train')\n")
    with (folder / "weights.bin").open("wb") as file:
        for _ in range(large):
            file.write(os.urandom(1 << 20))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rounds", type=int, nargs="?", default=3)
    parser.add_argument("--small", type=int, default=2000, metavar="FILES")
    parser.add_argument("--large", type=int, default=200, metavar="MB")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rackmark-bench-") as name, stand_in(Path(name) / "servers") as servers:
        folder = Path(name) / "code"
        make(folder, options.small, options.large)
        store = servers.store()
        took: dict[str, list[Took]] = {"ours": [], "bare": []}
        for number in range(options.rounds):
            for side in ("bare", "ours") if number % 2 else ("ours", "bare"):
                took[side].append(measured(side, servers, folder, f"{side}-{number}/"))
                store.delete(servers.bucket, f"{side}-{number}/")
        print(f"{options.small} files of {SMALL_BYTES} bytes and one of {options.large} MB, {THREADS} threads")
        for side, each in took.items():
            seconds = ", ".join(f"{one.seconds:.1f}" for one in each)
            processor = statistics.median(one.processor for one in each)
            memory = max(one.memory for one in each)
            print(f"{side}   {seconds} s, of the processor {processor:.1f} s, at most {memory:.0f} MB of memory")
        ratios = [mine.seconds / plain.seconds for mine, plain in zip(took["ours"], took["bare"])]
        print(f"ratio  {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--side"]:
        one_side(*sys.argv[2:])
    else:
        main()
