"""What every kind of queue does for a run: who plans, starts, watches and stops one does not ask which it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Collection, Iterable, List, Mapping, Protocol, Sequence, Tuple

from ...node.job_record import JobRecord
from ..job_state import JobId, JobState
from ..place import Place

Run = Callable[[List[str]], Tuple[int, str, str]]


@dataclass(frozen=True)
class Traits:
    """What there is to know of a kind of queue before one is asked.

    `launched` is how a report says it, and `shown_by` where a person sees its jobs. `starts_on` says who talks to it: a
    "login" node of the cluster, the first of its "hosts", or this machine ("here"). `on_cluster` is whether jobs run on
    machines of the inventory, `exclusive` whether nothing else runs beside them, and `needs_hosts` whether it has to be
    told which machines there are. `engine` is whether our programs start and guard the ranks on the nodes, `silence`
    for how many seconds it may not answer before who follows a run gives up. `role` has what is to be done here before
    jobs are submitted and after they have ended, where there is any of that. `playbook` resumes a run by its
    name, where the queue has one of its own. `alternates` says that jobs of two runs take turns whatever they are told.
    """

    name: str
    launched: str
    starts_on: str
    shown_by: str
    on_cluster: bool = True
    exclusive: bool = False
    needs_hosts: bool = False
    engine: bool = True
    silence: float = 1800.0
    role: str = ""
    playbook: str = ""
    alternates: bool = False


@dataclass(frozen=True)
class QueuedJob:
    """A job as a queue is asked for it; its program is `job.sh` in its folder. One whose nodes are `independent` goes
    on without a node that is lost."""

    name: str
    folder: Path
    nodes: int
    devices_per_node: int
    minutes: int = 0
    resource: str = ""
    cpus: int | None = None
    independent: bool = False

    def size(self) -> tuple[int, int]:
        return self.nodes, self.devices_per_node


@dataclass(frozen=True)
class Setting:
    """What a queue works with; of `options` it knows its own alone. `secrets` are written down nowhere."""

    run: Run
    run_dir: Path = Path()
    hosts: Sequence[str] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Devices:
    """What the operator says of nodes; 0 and "auto" leave it to the queue, which may know better of the accelerator."""

    per_node: int = 0
    accelerator: str = "none"
    device: str = "auto"
    simulated: Collection[str] = ()


@dataclass(frozen=True)
class Stuck:
    """Why a job waits that waiting alone may not help, and the word for it when it is given up."""

    word: str
    reason: str


FOLLOWING = "following.log"  # the end of a running job's log, from a queue whose logs are elsewhere


class Queue(Protocol):
    """Raises QueueError with a sentence where it does not answer, or refuses."""

    traits: Traits

    def place(self, devices: Devices) -> Place:
        """Where a run can take place."""

    def versions(self) -> Mapping[str, str]:
        """Of what starts jobs, for the record."""

    def check(self, largest: QueuedJob) -> None:
        """Whether it would take this job, now or later."""

    def check_access(self, jobs: Sequence[QueuedJob]) -> None:
        """Whether these jobs would be let in to their nodes, as far as that can be known before."""

    def script_head(self, job: QueuedJob) -> Sequence[str]:
        """Lines for the begin of the job's script."""

    def request(self, job: QueuedJob, record: JobRecord) -> str:
        """What it is asked for, where that is more than a script."""

    def submit(
        self, jobs: Sequence[QueuedJob], running: Sequence[JobId], one_at_a_time: bool, leftovers: Collection[str]
    ) -> dict[str, JobId]:
        """All of them or none, with their numbers by name.

        `running` are jobs of the run that have not ended, `leftovers` the names of those that are over and still shown.
        """

    def states(self, names: Iterable[str]) -> dict[str, JobState]:
        """The newest job of each name, as far as the queue shows it. What an ended one has left is in its folder."""

    def remembered(self, names: Iterable[str]) -> dict[str, JobState]:
        """Jobs that the queue no longer shows, from where they are kept longer."""

    def hopeless(self, states: Mapping[str, JobState]) -> Mapping[str, str]:
        """Waiting jobs that will wait for ever, each with the reason."""

    def stuck(self, jobs: Sequence[QueuedJob], states: Mapping[str, JobState]) -> Mapping[str, Stuck]:
        """Jobs that wait for somebody to do something: for nodes that are lost, say."""

    def cancel(self, states: Mapping[str, JobState]) -> None:
        """Those of them that have not ended; where that takes more, all that wait or run."""

    def last_word(self, state: JobState) -> JobState | None:
        """What is kept of a job that has ended; None where the queue has written that down itself."""


def jobs_of(plan: Mapping[str, Any], run_dir: Path) -> list[QueuedJob]:
    """The jobs of a plan, as a module hands it on."""
    return [
        QueuedJob(
            name=job["name"],
            folder=run_dir / job["folder"],
            nodes=job["nodes"],
            devices_per_node=job["devices_per_node"],
            minutes=plan["minutes"],
            resource=plan["resource"],
            cpus=plan["cpus"],
            independent=plan.get("independent", False),
        )
        for job in plan["jobs"]
    ]
