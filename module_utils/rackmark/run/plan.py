"""From what an operator asks for to the plan of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, Mapping, Sequence

from . import program, rules
from .asked import Asked, listed, number, one_of
from .cases import Case, CaseRequest, choose_cases
from .framework import Framework
from .manifest import PlannedCase
from .measures import KINDS_OF_STEPS, with_time_to_target
from .place import Place
from .preset import Preset
from .rules import Condition
from .run_plan import SYNTHETIC, RunPlan
from .search_time import duration_of, minutes_of
from .workload import DEFAULT_PROFILE, SCALINGS, Workload

_CONVERGED = Condition("converged", ">=", 1)


def make_plan(workload: Workload, asked: Asked, run_id: str, place: Place, image: str | None = None) -> RunPlan:
    """`image` is the operator's, empty where the workload's is to be taken, None where there are no containers."""
    preset = _preset(workload, asked)
    requests = _requests(workload, asked, preset, place)
    framework = _framework(workload, asked, requests)
    precision = _precision(workload, framework, asked, preset, place)
    scaling = asked.scaling or workload.scaling
    if scaling not in SCALINGS:
        raise ValueError(f"scaling={scaling} is unknown: use {listed(SCALINGS)}.")
    sizes = _Sizes(
        batch=_batch(asked, preset, precision, scaling),
        precision=precision,
        asked_repeats=number("repeats", asked.repeats) if asked.repeats else None,
        repeats=preset.repeats,
        scaling=scaling,
    )
    target = _target(workload, framework, asked, preset)
    duration = duration_of(preset, asked)
    plan = RunPlan(
        run_id=run_id,
        workload=workload.name,
        title=workload.title,
        framework=framework.name,
        unit=workload.unit,
        preset=preset.name,
        scaling=scaling,
        baseline=_baseline(asked, requests),
        dialect=framework.dialect,
        dlperf_model=framework.dlperf_model,
        hardware=next((request.hardware for request in requests if request.hardware), None),
        device=place.device,
        accelerator=place.accelerator,
        resource=place.resource,
        cpus=place.cpus,
        data=_data(workload, framework, asked, preset),
        data_package=preset.data.package if preset.data and not asked.data else "",
        data_kind=workload.data,
        independent=workload.independent,
        result=workload.result,
        duration=duration,
        warmup=number("warmup", asked.warmup or preset.warmup, least=0),
        steps=number("steps", asked.steps or preset.steps, least=1 if workload.measure in KINDS_OF_STEPS else 0),
        minutes=number("minutes", asked.minutes or minutes_of(preset, duration)),
        stalled_after=number("stalled_after", asked.stalled_after or preset.stalled_after),
        settings=_settings(asked, preset),
        cases=[_planned(request, sizes) for request in requests],
        ranks=framework.ranks,
        meet=framework.meet,
        measure="target" if target else workload.measure,
        measures=with_time_to_target(workload.measures) if target else workload.measures,
        headline=workload.headline,
        rules=_rules(workload, asked, preset, precision),
        rules_profile=_profile(workload, asked, preset),
        target=target,
        require_target=_require_target(workload, asked, target),
        program=program.with_flags(framework.program, _options(framework, asked, preset), asked.flags),
        image=_image(framework, place.device, image),
    )
    _check_program(plan, asked, preset)
    return plan


@dataclass(frozen=True)
class _Sizes:
    batch: int | None
    precision: str | None
    asked_repeats: int | None
    repeats: int
    scaling: str


def _preset(workload: Workload, asked: Asked) -> Preset:
    if asked.preset:
        return one_of("preset", asked.preset, workload.presets)
    cases = asked.cases.split(",") if asked.cases else []
    return workload.preset_of(CaseRequest.parse(text.strip()).model for text in cases)


def _requests(workload: Workload, asked: Asked, preset: Preset, place: Place) -> list[CaseRequest]:
    cases = asked.cases or ("" if asked.nodes else preset.cases)
    requests = choose_cases(asked.nodes or None, cases or None, place.nodes, place.devices_per_node)
    names = (workload.name, *workload.also_called)
    for request in requests:
        if request.model is not None and request.model not in names:
            raise ValueError(
                f"Case {request.case.name} is for the model {request.model!r}: here use {listed(names)}, or give"
                " cases of several models to playbooks/suite.yml."
            )
    return requests


def _framework(workload: Workload, asked: Asked, requests: Iterable[CaseRequest]) -> Framework:
    named = {request.framework for request in requests if request.framework}
    if asked.framework:
        named.add(asked.framework)
    if len(named) > 1:
        raise ValueError(
            f"A run has one framework, and {listed(named)} were given: playbooks/suite.yml starts a run for each."
        )
    return one_of("framework", named.pop() if named else workload.default_framework, workload.frameworks)


def _precision(workload: Workload, framework: Framework, asked: Asked, preset: Preset, place: Place) -> str | None:
    known = framework.precisions
    if known and place.device not in known:
        others = [name for name, other in workload.frameworks.items() if place.device in other.precisions]
        instead = f" or framework={listed(others)}" if others else ""
        raise ValueError(
            f"framework={framework.name} does not run on {place.device}: use benchmark_device={listed(known)}{instead}."
        )
    precision, here = asked.precision or preset.precision, known.get(place.device, ())
    if precision and known and precision not in here:
        raise ValueError(f"precision={precision} is unknown to {framework.name} on {place.device}: use {listed(here)}.")
    return precision or None


def _batch(asked: Asked, preset: Preset, precision: str | None, scaling: str) -> int | None:
    """A preset may name a batch for each precision."""
    batch = preset.batch
    if asked.batch:
        return number("batch", asked.batch)
    if isinstance(batch, Mapping):
        return one_of("precision", str(precision), batch)
    if batch is None and scaling == "strong":
        raise ValueError(
            f"scaling=strong divides a batch, and the preset {preset.name} has none: give one with -e batch=."
        )
    return batch


def _baseline(asked: Asked, requests: Iterable[CaseRequest]) -> str | None:
    if not asked.baseline:
        return None
    name = Case.parse(asked.baseline).name
    names = [request.case.name for request in requests]
    if name not in names:
        raise ValueError(f"baseline={name} is not a case of this run: use one of {', '.join(names)}.")
    return name


def _planned(request: CaseRequest, sizes: _Sizes) -> PlannedCase:
    """With strong scaling the batch is that of all devices together, and each gets its part."""
    case, batch = request.case, sizes.batch
    if batch is not None and sizes.scaling == "strong":
        if batch % case.world_size:
            raise ValueError(
                f"batch={batch} cannot be divided among the {case.world_size} devices of {case.name}:"
                " with scaling=strong give a multiple of every case's devices."
            )
        batch //= case.world_size
    return PlannedCase(
        case=case.name,
        nodes=case.nodes,
        devices_per_node=case.devices_per_node,
        world_size=case.world_size,
        batch_per_device=batch,
        precision=sizes.precision,
        repeats=sizes.asked_repeats or request.repeats or sizes.repeats,
    )


def _data(workload: Workload, framework: Framework, asked: Asked, preset: Preset) -> str:
    if not asked.data and preset.data:
        return preset.data.folder
    if not asked.data and "data" in program.names_in(framework.program):
        raise ValueError(f"The preset {preset.name} has no data of its own: give -e data=<{workload.data}>.")
    if not asked.data:
        return SYNTHETIC
    if workload.data == "none":
        raise ValueError(f"data={asked.data} cannot be used: {workload.name} takes no data.")
    if not framework.data_options and "data" not in program.names_in(framework.program):
        raise ValueError(
            f"data={asked.data} cannot be used: {framework.name} has no `data_options` to pass it on with."
        )
    return asked.data


def _profile(workload: Workload, asked: Asked, preset: Preset) -> str | None:
    """Rules that are called like the preset belong to it."""
    if asked.rules and asked.rules not in workload.rules:
        known = f"use {listed(workload.rules)}" if workload.rules else f"{workload.name} has no rules"
        raise ValueError(f"rules={asked.rules} is unknown: {known}.")
    return asked.rules or next((name for name in (preset.name, DEFAULT_PROFILE) if name in workload.rules), None)


def _rules(workload: Workload, asked: Asked, preset: Preset, precision: str | None) -> Sequence[Condition]:
    found = workload.rules.get(_profile(workload, asked, preset) or "", ())
    if asked.require_target == "true" and _states_convergence(workload):
        found = (*found, _CONVERGED)
    for rule in found:
        if rule.name == "precision" and precision is None:
            raise ValueError(
                f"The rule {rule} cannot be computed: the run has no precision. Give one with -e precision=."
            )
    return found


def _target(workload: Workload, framework: Framework, asked: Asked, preset: Preset) -> Condition | None:
    if asked.target and workload.measure != "target" and not framework.target_options:
        raise ValueError(
            f"target={asked.target} has no use: {workload.name} does not train to a target with {framework.name}."
        )
    if asked.target:
        if framework.target_options and workload.data != "none" and not asked.data:
            raise ValueError(
                f"target={asked.target} is looked for in evaluations, which take -e data=<{workload.data}>."
            )
        return rules.target(asked.target)
    if workload.measure == "target" and preset.target is None:
        raise ValueError(f"The preset {preset.name} has no target: give one with -e target=, as in 'accuracy >= 0.72'.")
    return preset.target


def _states_convergence(workload: Workload) -> bool:
    """Some programs have a target of their own, and say only whether they reached it."""
    return _CONVERGED.name in workload.measures


def _require_target(workload: Workload, asked: Asked, target: Condition | None) -> bool:
    required = asked.require_target == "true"
    if asked.require_target not in ("", "true", "false"):
        raise ValueError(f"require_target={asked.require_target} is neither true nor false.")
    if required and target is None and not _states_convergence(workload):
        raise ValueError("require_target=true has no use without a target: give one with -e target=.")
    return required


def _options(framework: Framework, asked: Asked, preset: Preset) -> Sequence[str]:
    has_data = bool(asked.data or preset.data)
    return framework.data_options if has_data else "", framework.target_options if asked.target else ""


def _image(framework: Framework, device: str, image: str | None) -> str:
    if image is None:
        return ""
    found = image or framework.images.get(device, "")
    if not found:
        raise ValueError("runtime=docker needs an image that is on every node: -e image=NAME.")
    return found


def _settings(asked: Asked, preset: Preset) -> dict[str, Any]:
    unknown = asked.settings.keys() - preset.settings.keys()
    if unknown:
        raise ValueError(f"The preset {preset.name} has no setting {listed(unknown)}: use {listed(preset.settings)}.")
    return {**preset.settings, **asked.settings}


def _check_program(plan: RunPlan, asked: Asked, preset: Preset) -> None:
    """What a preset has and no brace names, its program reads from the record of the job."""
    named = program.names_in(plan.program)
    lacking = plan.lacking()
    if lacking:
        raise ValueError(
            f"The program of {plan.workload} with {plan.framework} has {listed(lacking)} in braces, and the preset"
            f" {plan.preset} says nothing of it: add it there, or to its `settings`."
        )
    for name in ("batch", "precision", "steps", "warmup"):
        told = plan.measure in KINDS_OF_STEPS or name in named or getattr(preset, name)
        if getattr(asked, name) and not told:
            raise ValueError(
                f"{name}={getattr(asked, name)} changes nothing: the program of {plan.workload} is not told it."
            )
