"""The jobs of a run in Slurm."""

from __future__ import annotations

import os
import platform
import pwd
import re
import shutil
from dataclasses import dataclass, field, replace
from typing import Collection, Iterable, Mapping, Sequence

from ...node.job_record import JobRecord
from ..job_state import GIVEN_UP_HOPELESS, GIVEN_UP_NODES, JobId, JobState, QueueError
from ..place import Place
from ..run_folder import STOPPED
from .queue import Devices, QueuedJob, Setting, Stuck, Traits
from .slurm_answers import (
    SACCT,
    SQUEUE,
    never_starts,
    newest,
    out_of_service,
    parse_sacct,
    parse_squeue,
    waits_for_nodes,
    waits_for_somebody,
)
from .slurm_place import SINFO_FORMAT, place_in_slurm

_NOT_INSTALLED = 127  # by env
_REMEMBERED = "now-30days"


@dataclass(frozen=True)
class SlurmOptions:
    """Which part of a Slurm cluster is used, and at whose expense; an empty one is left to Slurm."""

    partition: str = ""
    account: str = ""
    qos: str = ""
    constraint: str = ""
    more: Sequence[str] = field(default=())


class SlurmQueue:
    """Jobs of the user that this runs as, submitted at once: they go on whatever becomes of who submitted them."""

    traits = Traits(
        "slurm", "By Slurm, every repeat as an exclusive job", shown_by="squeue", starts_on="login", exclusive=True
    )

    def __init__(self, setting: Setting) -> None:
        self._run = setting.run
        self._run_dir = setting.run_dir
        self._options = SlurmOptions(**setting.options)
        # The environment may still have the name before a change of user.
        self._user = pwd.getpwuid(os.getuid()).pw_name

    def place(self, devices: Devices) -> Place:
        if shutil.which("sinfo") is None:
            raise QueueError(
                f"There is no Slurm on {platform.node()}: run 'ansible-playbook site.yml' first (playbooks/lab_up.yml"
                " boots a virtual cluster, -i names your own hosts), or try the workload here with -e launcher=local."
            )
        partition = self._options.partition or self._default_partition()
        status, output, error = self._run(
            ["sinfo", "--noheader", "--Node", f"--format={SINFO_FORMAT}", _in_partition(partition)]
        )
        if status != 0:
            raise QueueError(f"Slurm does not answer sinfo: {error.strip()}. Is slurmctld running?")
        if partition and not output.strip():
            _, known, _ = self._run(["sinfo", "--noheader", "--format=%R"])
            raise QueueError(
                f"Slurm shows no nodes in a partition {partition}: choose one of {', '.join(sorted(known.split()))}"
                " as benchmark_partition."
            )
        if self._shares_nodes(partition):
            raise QueueError(
                f"The partition {partition} shares nodes among jobs whatever they ask for (OverSubscribe=FORCE), so"
                " nothing can be measured on it: choose another one as benchmark_partition."
            )
        return place_in_slurm(output, devices.per_node, devices.device, devices.simulated)

    def versions(self) -> Mapping[str, str]:
        _, output, _ = self._run(["sinfo", "--version"])
        return {"slurm": output.strip().partition(" ")[2] or output.strip()}

    def check(self, largest: QueuedJob) -> None:
        options = self._sbatch_options(largest)
        status, _, error = self._run([*_afresh(), "sbatch", "--test-only", *options, "--wrap=true"])
        if status != 0:
            raise QueueError(f"Slurm would not take the largest job: {_said(error)}")

    def check_access(self, jobs: Sequence[QueuedJob]) -> None:
        """A job of one's own lets one in."""

    def script_head(self, job: QueuedJob) -> Sequence[str]:
        options = [*self._sbatch_options(job), f"--chdir={job.folder}", f"--output={job.folder}/slurm.log"]
        return [f"#SBATCH {option}" for option in options]

    def request(self, _job: QueuedJob, _record: JobRecord) -> str:
        """The script says it."""
        return ""

    def submit(
        self,
        jobs: Sequence[QueuedJob],
        running: Sequence[JobId],
        one_at_a_time: bool,
        leftovers: Collection[str] = (),
    ) -> dict[str, JobId]:
        """With `one_at_a_time` every job waits until the one before it has ended, however it ended."""
        ids: dict[str, JobId] = {}
        previous = max(map(int, running), default=None) if one_at_a_time else None
        for job in jobs:
            try:
                if (self._run_dir / STOPPED).exists():
                    raise QueueError("The run was stopped while its jobs were submitted.")
                ids[job.name] = submitted = self._submit(job, previous, job.name in leftovers)
            except QueueError as error:
                self._take_back(ids, error)
                raise
            previous = submitted if one_at_a_time else None
        return ids

    def states(self, names: Iterable[str]) -> dict[str, JobState]:
        """The newest job of each name, as far as slurmctld remembers it. One query, however many jobs."""
        output = self._ask(
            ["squeue", "--noheader", "--all", "--states=all", f"--user={self._user}", f"--format={SQUEUE}"]
        )
        return newest(set(names), map(parse_squeue, output.splitlines()))

    def remembered(self, names: Iterable[str]) -> dict[str, JobState]:
        """What accounting knows of jobs that slurmctld has forgotten; nothing where there is no accounting."""
        wanted = set(names)
        if not wanted:
            return {}
        command = ["env", "sacct", "--noheader", "--allocations", "--parsable2", f"--format={SACCT}"]
        status, output, error = self._run(
            [*command, f"--starttime={_REMEMBERED}", f"--name={','.join(sorted(wanted))}"]
        )
        if status not in (0, _NOT_INSTALLED) and "disabled" not in error:
            raise QueueError(f"Slurm does not answer sacct: {_said(error)}")
        return newest(wanted, map(parse_sacct, output.splitlines())) if status == 0 else {}

    def hopeless(self, states: Mapping[str, JobState]) -> Mapping[str, str]:
        reasons = {name: never_starts(state) for name, state in states.items()}
        return {name: reason for name, reason in reasons.items() if reason is not None}

    def stuck(self, jobs: Sequence[QueuedJob], states: Mapping[str, JobState]) -> Mapping[str, Stuck]:
        waiting = [job for job in jobs if job.name in states and waits_for_nodes(states[job.name])]
        usable = self._usable_nodes() if waiting else None
        lost = Stuck(GIVEN_UP_NODES, f"it needs more nodes than the {usable} that can take jobs")
        stuck = {job.name: lost for job in waiting if usable is not None and job.nodes > usable}
        for name, state in states.items():
            reason = waits_for_somebody(state)
            if reason is not None:
                stuck[name] = Stuck(GIVEN_UP_HOPELESS, reason)
        return stuck

    def cancel(self, states: Mapping[str, JobState]) -> None:
        """Slurm refuses it for a job that is being ended already."""
        open_states = [state for state in states.values() if not state.finished and state.state != "COMPLETING"]
        jobs = [str(state.job_id) for state in open_states]
        if jobs:
            self._ask(["scancel", *jobs])

    def last_word(self, state: JobState) -> JobState:
        """Says why nodes of a job that Slurm ended are out of service: it may have ended because of that."""
        if state.state in ("COMPLETED", "FAILED", "TIMEOUT") or not state.nodes:
            return state
        status, output, _ = self._run(["sinfo", "--noheader", "--Node", f"--nodes={state.nodes}", "--format=%N|%T|%E"])
        rows = [row.split("|", 2) for row in output.splitlines() if row.count("|") >= 2] if status == 0 else []
        reasons = {name: reason.strip() for name, node_state, reason in rows if out_of_service(node_state)}
        return replace(state, node_reasons=reasons)

    def _usable_nodes(self) -> int | None:
        """How many nodes can take jobs now or when they become free."""
        where = _in_partition(self._options.partition or self._default_partition())
        status, output, _ = self._run(["sinfo", "--noheader", "--Node", "--format=%N|%T", where])
        rows = {tuple(row.split("|", 1)) for row in output.splitlines() if "|" in row}
        return sum(not out_of_service(row[1]) for row in rows) if status == 0 else None

    def _default_partition(self) -> str:
        """Empty where there is none, and where Slurm does not answer."""
        _, output, _ = self._run(["sinfo", "--noheader", "--all", "--format=%P"])
        return next((name[:-1] for name in output.split() if name.endswith("*")), "")

    def _shares_nodes(self, partition: str) -> bool:
        """Whether jobs get company even when they ask for nodes of their own."""
        _, output, _ = self._run(["sinfo", "--noheader", _in_partition(partition), "--format=%h"])
        return output.strip().startswith("FORCE")

    def _sbatch_options(self, job: QueuedJob) -> list[str]:
        """A job that lost its node is not put back: its repeat would mix two measurements."""
        chosen = self._options
        named = {
            "partition": chosen.partition,
            "account": chosen.account,
            "qos": chosen.qos,
            "constraint": chosen.constraint,
        }
        return [
            f"--job-name={job.name}",
            f"--nodes={job.nodes}",
            # Slurm promises every task a processor. Nodes may have fewer of them than devices: srun then overcommits.
            f"--ntasks-per-node={min(job.devices_per_node, job.cpus or job.devices_per_node)}",
            *([f"--gres={job.resource}:{job.devices_per_node}"] if job.resource else []),
            "--exclusive",
            *(["--no-kill"] if job.independent else []),
            "--no-requeue",
            f"--time={job.minutes}",
            *(f"--{name}={value}" for name, value in named.items() if value),
            *chosen.more,
        ]

    def _submit(self, job: QueuedJob, after: int | None, left_over: bool) -> int:
        # Two jobs of one name write into one folder, so that they must never run at the same time. What a dead node
        # keeps in the queue does not run.
        waits = [*([] if left_over else ["singleton"]), *([] if after is None else [f"afterany:{after}"])]
        dependency = [f"--dependency={','.join(waits)}"] if waits else []
        status, output, error = self._run([*_afresh(), "sbatch", "--parsable", *dependency, str(job.folder / "job.sh")])
        if status != 0:
            raise QueueError(f"Slurm refused {job.name}: {_said(error)}")
        number = re.search(r"^(\d+)(;\S*)?$", output, re.MULTILINE)
        if number is None:
            raise QueueError(f"sbatch took {job.name} and did not say the job's number: {output.strip()!r}")
        return int(number[1])

    def _take_back(self, ids: Mapping[str, JobId], error: QueueError) -> None:
        try:
            self.cancel({name: JobState(number, name, "PENDING") for name, number in ids.items()})
        except QueueError:
            raise QueueError(f"{error} {len(ids)} jobs are still queued: end them with playbooks/stop.yml.") from error

    def _ask(self, command: list[str]) -> str:
        status, output, error = self._run(command)
        if status != 0:
            raise QueueError(f"Slurm does not answer {command[0]}: {_said(error)}")
        return output


def _in_partition(partition: str) -> str:
    """The option of sinfo for one partition, or for all, hidden ones too; it does not take both."""
    return f"--partition={partition}" if partition else "--all"


def _afresh() -> list[str]:
    """Without what a job around this process, or the user's profile, says of jobs: it would win over the script."""
    names = [name for name in os.environ if name.startswith(("SLURM_", "SBATCH_", "SRUN_")) and name != "SLURM_CONF"]
    return ["env", *(word for name in names for word in ("-u", name))]


def _said(error: str) -> str:
    lines = [line.strip() for line in error.strip().splitlines() if line.strip()]
    return lines[-1] if lines else "no reason given"
