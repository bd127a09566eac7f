"""A filter in front of Swift's proxy that writes a line for each request: method, path with query, status."""

from __future__ import annotations

from pathlib import Path


def filter_factory(_global_conf, file, **_names):
    def wrapped(application):
        log = Path(file).open("a", buffering=1)  # noqa: SIM115 (as long as the process)

        def answered(environ, start_response):
            query = environ.get("QUERY_STRING")
            asked = f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}{f'?{query}' if query else ''}"

            def start(status, *rest):
                log.write(f"{asked} {status.split()[0]}\n")
                return start_response(status, *rest)

            return application(environ, start)

        return answered

    return wrapped
