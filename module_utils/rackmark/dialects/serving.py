"""Benchmarks of servers of language models: what clients saw, so a log does not say on how many devices the server ran.

vLLM's `bench serve`, SGLang's bench_serving and those built like them:
    ============ Serving Benchmark Result ============
    Successful requests:                     100
    Output token throughput (tok/s):         777.04
    Mean TTFT (ms):                          21727.85

genai-perf, whose numbers stand in a table, and the throughputs of its older versions below it:
    │          Time To First Token (ms) │   939.24 │   182.51 │ 1,690.35 │ 1,686.18 │ ...
    │ Output Token Throughput (per sec) │   557.49 │      N/A │ ...

The throughput is that of the tokens which the server wrote, first tokens and the wait for them included.
"""

from __future__ import annotations

from typing import Any, Mapping

from ..logs.dialect import Dialect
from ..logs.kinds import Kind, kind
from ..logs.reading import Reading
from ..logs.series import Window
from ..logs.stated_lines import StatedLines
from ..run.measures import Measure

_LATENCIES = {
    "TTFT": ("ttft", "The time from a request to its first token"),
    "TPOT": ("tpot", "The time for each further token of a request"),
    "ITL": ("itl", "The time from one token to the next"),
    "E2EL": ("request_latency", "The time that a request takes"),
    "E2E Latency": ("request_latency", "The time that a request takes"),
}
_SHOWN_AS = {"Mean": "mean", "Median": "median", "P99": "p99"}
_OF_GENAI_PERF = {
    "Time to first token": "ttft",
    "Inter token latency": "itl",
    "Request latency": "request_latency",
}


def _measures(statistics: tuple[str, ...]) -> tuple[Measure, ...]:
    """The throughputs, and each latency in the ways in which it is summed up."""
    means = dict(_LATENCIES.values())
    latencies = (
        Measure(f"{word}_{one}_ms", "ms", "lower", f"stated.{word}_{one}_ms", means=f"{text}, {one} of all requests.")
        for word, text in means.items()
        for one in statistics
    )
    return (
        Measure("requests_per_s", "requests/s", "higher", "stated.requests_per_s"),
        Measure("tokens_per_s", "tokens/s", "higher", "stated.tokens_per_s", means="Read and written tokens together."),
        *latencies,
    )


class _Served(StatedLines):
    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._requests: dict[str, int] = {}

    def take_line(self, name: str, row: Mapping[str, Any]) -> None:
        if name.startswith("rest requests"):
            self._requests[name.split()[2]] = int(row["count"])
        else:
            super().take_line(name, row)

    def finish(self) -> Reading:
        failed, good = self._requests.get("failed", 0), self._requests.get("good", 0)
        if failed:
            reason = f"{failed} of {failed + good} requests failed: the numbers are of the others."
            self.reading.remarks.append(reason)
        return super().finish()


def _in_table(name: str, word: str) -> tuple[Kind, ...]:
    """A row of genai-perf's table, of which older versions write the name in small letters: mean, lowest, highest and
    99th percentile."""
    cells = f"(ms) │{{_}}{{{word}_mean_ms:grouped}} │{{_}}{{_min:grouped}} │{{_}}{{_max:grouped}} │"
    return tuple(
        kind(f"stated {one}", f"{one} {cells}{{_}}{{{word}_p99_ms:grouped}} │") for one in (name, name.title())
    )


def _throughput_of_genai_perf(name: str, word: str) -> tuple[Kind, ...]:
    return (
        kind(f"stated {name}", f"{name} (per sec) │{{_}}{{{word}:grouped}} │"),
        kind(f"stated titled {name}", f"{name.title()} (per sec) │{{_}}{{{word}:grouped}} │"),
        kind(f"stated older {name}", f"{name} (per sec): {{{word}:grouped}}"),
    )


DIALECTS = (
    Dialect(
        name="vllm-serving",
        title="Serving benchmark of vLLM or SGLang",
        kinds=(
            kind("sign of the result", "============ Serving Benchmark Result ============"),
            kind("stated output", "Output token throughput (tok/s):{_}{throughput:float}"),
            kind("stated requests", "Request throughput (req/s):{_}{requests_per_s:float}"),
            kind("stated tokens", "Total Token throughput (tok/s):{_}{tokens_per_s:float}"),
            kind("stated newer tokens", "Total token throughput (tok/s):{_}{tokens_per_s:float}"),
            kind("rest requests good", "Successful requests:{_}{count:int}"),
            kind("rest requests failed", "Failed requests:{_}{count:int}"),
            *(
                kind(f"stated {shown} {name}", f"{shown} {name} (ms):{{_}}{{{word}_{one}_ms:float}}")
                for name, (word, _) in _LATENCIES.items()
                for shown, one in _SHOWN_AS.items()
            ),
        ),
        fold=_Served,
        prefers_stated=True,
        unit="tokens/s",
        warmup=0,
        measures=_measures(("mean", "median", "p99")),
    ),
    Dialect(
        name="genai-perf",
        title="genai-perf",
        kinds=(
            *_throughput_of_genai_perf("Output token throughput", "throughput"),
            *_throughput_of_genai_perf("Request throughput", "requests_per_s"),
            *(row for name, word in _OF_GENAI_PERF.items() for row in _in_table(name, word)),
        ),
        fold=_Served,
        prefers_stated=True,
        unit="tokens/s",
        warmup=0,
        measures=_measures(("mean", "p99")),
    ),
)
