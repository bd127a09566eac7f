"""The requests of ModelArts that a run sends, answered as documented. Each signature is verified."""

from __future__ import annotations

import json
import re
import ssl
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from .jobs import DEVICES, ENDED, Job, World
from .loopback import Tls
from .signature import wrong_with

PREVIEW = 5 << 20


class RefusedError(Exception):
    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class Endpoint(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(
        self, port: int, tls: Tls | None, world: World, project: str, access_key: str, secret_key: str
    ) -> None:
        self.world, self.project, self.access_key, self.secret_key = world, project, access_key, secret_key
        self.jobs: dict[str, Job] = {}
        self._context: ssl.SSLContext | None = None
        if tls:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(tls.certificate, tls.key)
        super().__init__(("127.0.0.1", port), Handler)

    @property
    def url(self) -> str:
        return f"{'https' if self._context else 'http'}://127.0.0.1:{self.server_address[1]}"

    def get_request(self):
        connection, address = super().get_request()
        if self._context:  # the handshake is done by the thread of the request
            connection = self._context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, address

    def handle_error(self, request, client_address) -> None:
        """A client that refuses the certificate, or leaves, is no news."""

    def log(self, line: str) -> None:
        with (self.world.folder / "modelarts-requests.log").open("a") as log:
            log.write(f"{line}\n")

    def end(self) -> None:
        """All jobs, and what runs for them."""
        for job in self.jobs.values():
            job.stop.set()
        self.shutdown()

    # Requests: each gives a status and the body.

    def create(self, body: dict[str, Any], _query: dict[str, str]) -> tuple[int, dict[str, Any]]:
        self._check(body)
        job = Job(self.world, body)
        self.jobs[job.id] = job
        threading.Thread(target=job.run, daemon=True).start()
        return 201, job.shown()

    def _check(self, body: dict[str, Any]) -> None:
        resource, algorithm = body["spec"]["resource"], body["algorithm"]
        if body.get("kind") != "job" or not re.fullmatch(r"[\w-]{1,64}", body["metadata"]["name"], re.ASCII):
            raise RefusedError(400, "ModelArts.2751", "the job's kind or name is invalid")
        flavor, nodes = resource.get("flavor_id"), resource.get("node_count", 1)
        if not resource.get("pool_id") and flavor not in DEVICES:
            raise RefusedError(400, "ModelArts.2750", f"the flavor {flavor} does not exist")
        if nodes > 1 and flavor and DEVICES.get(flavor, 8) < 8:
            raise RefusedError(400, "ModelArts.2750", f"the flavor {flavor} is for one node only")
        if not algorithm["boot_file"].startswith(algorithm["code_dir"]):
            raise RefusedError(400, "ModelArts.2753", "the boot file is not in the code directory")
        if not self.world.bucket.has(algorithm["code_dir"]):
            raise RefusedError(400, "ModelArts.2754", f"the code directory {algorithm['code_dir']} does not exist")
        if any(name.startswith("MA_") for name in algorithm.get("environments", {})):
            raise RefusedError(400, "ModelArts.2755", "environment variables must not begin with MA_")

    def _job(self, number: str) -> Job:
        if number not in self.jobs:
            raise RefusedError(404, "ModelArts.0108", f"the training job {number} does not exist")
        return self.jobs[number]

    def show(self, _body: Any, _query: dict[str, str], number: str) -> tuple[int, dict[str, Any]]:
        return 200, self._job(number).shown()

    def delete(self, _body: Any, _query: dict[str, str], number: str) -> tuple[int, dict[str, Any]]:
        self._job(number).stop.set()
        del self.jobs[number]
        return 202, {}

    def act(self, body: dict[str, Any], _query: dict[str, str], number: str) -> tuple[int, dict[str, Any]]:
        job = self._job(number)
        if body.get("action_type") != "terminate":
            raise RefusedError(400, "ModelArts.0104", "the action is unknown")
        if job.phase in ENDED:
            raise RefusedError(400, "ModelArts.2760", f"the job is {job.phase} and cannot be terminated")
        if job.phase == "Running":
            job.phase = "Terminating"
        job.stop.set()
        return 202, job.shown()

    def search(self, body: dict[str, Any], _query: dict[str, str]) -> tuple[int, dict[str, Any]]:
        found = sorted(self.jobs.values(), key=lambda job: -job.created)
        for each in body.get("filters", []):
            if each.get("key") == "name" and each.get("operator") == "like":
                found = [job for job in found if any(part in job.body["metadata"]["name"] for part in each["value"])]
        offset, limit = body.get("offset", 0), body.get("limit", 10)
        shown = [job.shown() for job in found[offset : offset + limit]]
        return 200, {"total": len(found), "count": len(shown), "limit": limit, "offset": offset, "items": shown}

    def lines(self, _body: Any, query: dict[str, str], number: str, task: str) -> tuple[int, dict[str, Any]]:
        path, asked = self._job(number).log(task), int(query.get("lines", 50))
        if not 1 <= asked <= 500:
            raise RefusedError(400, "ModelArts.0104", "lines must be from 1 to 500")
        said = path.read_text(errors="replace").splitlines(keepends=True) if path.exists() else []
        base = int(query.get("base_line") or 0)
        chosen = said[-asked:] if query.get("order") == "desc" else said[base : base + asked]
        first = len(said) - len(chosen) if query.get("order") == "desc" else base
        between = {"start_line": str(first + 1), "end_line": str(first + len(chosen))}
        return 200, {**between, "lines": len(chosen), "content": "".join(chosen)}

    def preview(self, _body: Any, _query: dict[str, str], number: str, task: str) -> tuple[int, dict[str, Any]]:
        path = self._job(number).log(task)
        said = path.read_bytes() if path.exists() else b""
        shown = said[-PREVIEW:]
        return 200, {"content": shown.decode(errors="replace"), "current_size": len(shown), "full_size": len(said)}

    def flavors(self, _body: Any, _query: dict[str, str]) -> tuple[int, dict[str, Any]]:
        known = [
            {
                "flavor_id": name,
                "flavor_name": name,
                "flavor_type": "Ascend",
                "max_num": 16 if count == 8 else 1,
                "flavor_info": {"max_num": 1, "npu": {"unit_num": str(count), "product_name": "Ascend"}},
            }
            for name, count in DEVICES.items()
        ]
        return 200, {"total_count": len(known), "flavors": known}

    def events(self, _body: Any, _query: dict[str, str], number: str) -> tuple[int, dict[str, Any]]:
        self._job(number)
        return 200, {"total": 0, "count": 0, "events": []}


ROUTES = (
    ("POST", r"/training-jobs", Endpoint.create),
    ("POST", r"/training-job-searches", Endpoint.search),
    ("GET", r"/training-job-flavors", Endpoint.flavors),
    ("GET", r"/training-jobs/([\w-]+)", Endpoint.show),
    ("DELETE", r"/training-jobs/([\w-]+)", Endpoint.delete),
    ("POST", r"/training-jobs/([\w-]+)/actions", Endpoint.act),
    ("GET", r"/training-jobs/([\w-]+)/logs/([\w-]+)", Endpoint.lines),
    ("GET", r"/training-jobs/([\w-]+)/tasks/([\w-]+)/logs/preview", Endpoint.preview),
    ("GET", r"/training-jobs/([\w-]+)/events", Endpoint.events),
)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Endpoint

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.server.world.order("away"):
            self.server.log(f"{self.command} {self.path} away")
            self.close_connection = True
            return
        try:
            status, said = self._called(body)
        except RefusedError as refused:
            status, said = refused.status, {"error_code": refused.code, "error_msg": str(refused)}
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            status, said = 400, {"error_code": "ModelArts.0104", "error_msg": f"the request is malformed: {problem!r}"}
        self.server.log(f"{self.command} {self.path} {status}")
        encoded = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(encoded)))
        self.send_header("X-Request-Id", uuid.uuid4().hex)
        self.send_header("X-Simulated", "modelarts")
        self.end_headers()
        self.wfile.write(encoded)

    do_GET = do_POST = do_DELETE = do_PUT = answer  # noqa: N815 (names of the base class)

    def _called(self, body: bytes) -> tuple[int, dict[str, Any]]:
        server = self.server
        wrong = wrong_with(self.command, self.path, self.headers, body, server.access_key, server.secret_key)
        if wrong:
            raise RefusedError(401, "APIGW.0301", wrong)
        address = urlsplit(self.path)
        _, version, project, rest = (address.path + "/").split("/", 3)
        if (version, project) != ("v2", server.project):
            raise RefusedError(403, "APIGW.0302", "the project is not one of this account")
        query = {name: values[0] for name, values in parse_qs(address.query).items()}
        for method, pattern, handle in ROUTES:
            found = re.fullmatch(pattern, "/" + rest.rstrip("/"))
            if found and method == self.command:
                return handle(server, json.loads(body) if body else {}, query, *found.groups())
        raise RefusedError(404, "APIGW.0101", "the API does not exist")

    def log_message(self, *_: object) -> None:
        pass
