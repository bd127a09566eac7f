"""An object store and a ModelArts on loopback, until told to end: python -m lab.modelarts.stand_in --folder DIR

DIR/stand_in.json says where they are; it is there once both answer. To train in them:

    . DIR/keys.sh; ansible-playbook run_modelarts.yml -e @DIR/variables.json -e cases=1n8g ...

DIR/orders.json makes them misbehave:
{"away": true} answers nothing, {"phase": "Moving"} shows an unknown phase, {"hold": "Pending"} keeps jobs waiting,
{"break_worker": 1} kills a worker, {"abnormal": true} ends jobs as a broken node does. Requests are in
DIR/modelarts-requests.log and DIR/swift/requests.log.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import signal
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(ROOT / "module_utils")]
from .bucket import Bucket  # noqa: E402
from .endpoint import Endpoint  # noqa: E402
from .jobs import World  # noqa: E402
from .loopback import certificates, free_ports  # noqa: E402
from .swift import ACCESS_KEY, REGION, Swift, environment  # noqa: E402

BUCKET = "bench"


def main() -> None:
    options = _options()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    secret, project = secrets.token_hex(20), secrets.token_hex(16)
    tls = certificates(folder / "tls", options.names.split(","))
    with Swift(folder / "swift", environment(options.cache), secret, tls) as store:
        bucket = Bucket(store.endpoint, ACCESS_KEY, secret, tls.authority)
        endpoint = Endpoint(
            free_ports(1)[0], tls, World(folder, bucket, options.pace, options.hour), project, ACCESS_KEY, secret
        )
        bucket.create(BUCKET)
        try:
            threading.Thread(target=endpoint.serve_forever, daemon=True).start()
            _write(folder / "secret_key", secret)
            _write(folder / "keys.sh", f"export HUAWEICLOUD_SDK_AK={ACCESS_KEY} HUAWEICLOUD_SDK_SK={secret}\n")
            known = {
                "obs_endpoint": store.endpoint,
                "modelarts_endpoint": endpoint.url,
                "project_id": project,
                "bucket": BUCKET,
                "region": REGION,
                "access_key": ACCESS_KEY,
                "secret_key_file": str(folder / "secret_key"),
                "ca_file": str(tls.authority),
                "pid": os.getpid(),
            }
            _write(folder / "variables.json", json.dumps(_variables(known), indent=1))
            _write(folder / "stand_in.json", json.dumps(known, indent=1))
            threading.Event().wait()
        finally:
            (folder / "stand_in.json").unlink(missing_ok=True)
            endpoint.end()


def _variables(known: dict[str, object]) -> dict[str, object]:
    """Of run_modelarts.yml."""
    same = ("modelarts_endpoint", "obs_endpoint", "project_id", "bucket", "region", "ca_file")
    engine = {"modelarts_engine": "Ascend-Powered-Engine", "modelarts_engine_version": "stand-in"}
    return {**{f"modelarts_{name.removeprefix('modelarts_')}": known[name] for name in same}, **engine}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=ROOT / ".cache", help="where the environment of Swift is kept")
    parser.add_argument("--names", default="127.0.0.1,localhost", help="hosts of the servers' certificate")
    parser.add_argument("--pace", type=float, default=0.3, help="seconds of each phase before Running")
    parser.add_argument("--hour", type=float, default=3600, help="seconds of an hour of auto_stop")
    return parser.parse_args()


def _write(path: Path, text: str) -> None:
    """At once, and for nobody else."""
    part = path.with_suffix(".part")
    part.touch(mode=0o600)
    part.write_text(text)
    part.replace(path)


if __name__ == "__main__":
    main()
