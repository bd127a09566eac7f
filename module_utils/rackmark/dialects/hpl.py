"""High-performance Linpack and HPL-MxP: a line for each problem that was solved, and whether the solution was right.

    T/V                N    NB     P     Q               Time                 Gflops
    WR11C2R4       29184   128     2     4             155.68              1.0630e+05
    ||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   3.11927170e-03 ...... PASSED
    HPL_AI   WRC01 95000 384 2 2 14.75 3.876e+04 5.77248 2 2.785e+04

Of several problems the fastest counts, as it does for the lists; HPL-MxP's rate is the one with the refinement. A grid
of P times Q is one process for each device. A solution that failed its check gives no number.
"""

from __future__ import annotations

from typing import Any, Mapping

from ..logs.dialect import Dialect
from ..logs.kinds import kind
from ..logs.matching import Found, in_order
from ..logs.reading import ExtraTable, Fault, Fold, Reading
from ..logs.series import Window

_HEADINGS = ("N", "NB", "P", "Q", "time (s)", "GFLOP/s")
_MOST_ROWS = 1000
_PROBLEM = "{_}{n:int}{_}{nb:int}{_}{p:int}{_}{q:int}{_}{seconds:float}{_}"
_REFINED = "{lu:float}{_}{refined:float}{_}{rounds:int}{_}"


class _Hpl(Fold):
    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._rows: list[Mapping[str, Any]] = []
        self._passed = self._failed = 0

    def take(self, found: Found, rank: int | None) -> None:
        for name, row in in_order(found):
            if name.startswith("row"):
                self._rows.append(row)
            elif name.startswith("rest residual"):
                self._passed += row["verdict"] == b"PASSED"
                self._failed += row["verdict"] == b"FAILED"

    def finish(self) -> Reading:
        fault = self._fault()
        if fault is not None:
            self.reading.faults.append(fault)
        if not self._rows:
            return self.reading
        fastest = max(self._rows, key=lambda row: float(row["gflops"]))
        self.reading.stated["throughput"] = float(fastest["gflops"])
        self.note({"world_size": int(fastest["p"] * fastest["q"])})
        if len(self._rows) > 1:
            sizes = f"N={fastest['n']:.0f} with NB={fastest['nb']:.0f} on {fastest['p']:.0f} x {fastest['q']:.0f}"
            self.reading.remarks.append(f"Of {len(self._rows)} problems the fastest counts: {sizes}.")
        cells = [
            [*(int(row[name]) for name in ("n", "nb", "p", "q")), float(row["seconds"]), float(row["gflops"])]
            for row in self._rows[:_MOST_ROWS]
        ]
        self.reading.tables.append(ExtraTable("HPL", _HEADINGS, cells))
        return self.reading

    def _fault(self) -> Fault | None:
        if self._failed:
            return Fault("rule_failed", f"{self._failed} of {len(self._rows)} solutions failed the check of HPL.")
        if len({row["p"] * row["q"] for row in self._rows}) > 1:
            return Fault("incomplete", "The log holds problems on grids of unlike sizes: a log of each is needed.")
        if self._passed < len(self._rows) or not self._rows:
            checked = f"{self._passed} of {len(self._rows)} solutions were checked"
            return Fault("incomplete", f"The log ends before the check of its solution: {checked}.")
        return None


_RESIDUAL = kind(
    "rest residual", "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)={_}{value:float} ...... {verdict:word}"
)

DIALECTS = (
    Dialect(
        name="hpl-mxp",
        title="HPL-MxP",
        kinds=(
            *(
                kind(f"row {name}", f"{name}{{_}}{{tv:word}}{_PROBLEM}{_REFINED}{{gflops:float}}")
                for name in ("HPL_AI", "HPL_MxP")
            ),
            _RESIDUAL,
        ),
        fold=_Hpl,
        prefers_stated=True,
        unit="GFLOP/s",
        warmup=0,
    ),
    Dialect(
        name="hpl",
        title="HPL",
        kinds=(
            *(kind(f"row {name}", f"{name}{{tv:word}}{_PROBLEM}{{gflops:float}}") for name in ("WR", "WC")),
            _RESIDUAL,
        ),
        fold=_Hpl,
        prefers_stated=True,
        unit="GFLOP/s",
        warmup=0,
    ),
)
