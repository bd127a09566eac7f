"""What every alert rule must have. Whether they fire is what "promtool test rules" looks at, in the tier lab."""

from __future__ import annotations

import copy
import re
from pathlib import Path

import pytest
import yaml
from lab import rendered_roles

ROOT = Path(__file__).parents[2]
TEMPLATE = (ROOT / "roles/prometheus/templates/alerts.yml.j2").read_text()
STORIES = {path.name: yaml.safe_load(path.read_text()) for path in sorted((ROOT / "tests/rules").glob("*.yml"))}
ALERTS = {block.partition("\n")[0]: block for block in TEMPLATE.split("- alert: ")[1:]}


def firing(test):
    """Alerts that a story expects to fire."""
    samples = [sample for query in test.get("promql_expr_test", []) for sample in query["exp_samples"]]
    by_query = re.findall(r'alertname="(\w+)",alertstate="firing"', " ".join(sample["labels"] for sample in samples))
    return {*by_query, *(rule["alertname"] for rule in test.get("alert_rule_test", []) if rule["exp_alerts"])}


def quiet(test):
    """Moments at which a story expects that nothing fires, or not the alert that it asks about."""
    return [query["eval_time"] for query in test.get("promql_expr_test", []) if query["exp_samples"] == []]


def test_every_alert_has_a_story_in_which_it_fires_and_one_in_which_it_is_quiet():
    tests = [test for story in STORIES.values() for test in story["tests"]]
    assert set().union(*map(firing, tests)) == set(ALERTS)
    assert {name for test in tests if len(quiet(test)) > 1 for name in firing(test)} == set(ALERTS)


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_names_its_weight_and_the_host_in_a_sentence(alert):
    text = ALERTS[alert]
    severity = re.search(r"severity: (\w+)", text)
    assert severity and severity[1] in ("critical", "warning")
    summary = text.partition("summary:")[2].partition("description:")[0]
    description = text.partition("description:")[2].partition("- alert:")[0]
    place = re.compile(r"\$labels\.(instance|node|partition)|_prometheus_(database_host|shared_dir)")
    assert place.search(summary) and place.search(description)


@pytest.mark.parametrize("alert", sorted(set(ALERTS) - {"DeviceEccErrors"}))
def test_an_alert_waits_before_it_fires(alert):
    assert re.search(r"^ +for: \d+m$", ALERTS[alert], re.MULTILINE)


@pytest.mark.parametrize("story", STORIES)
def test_a_story_has_a_name(story):
    assert [test for test in STORIES[story]["tests"] if not test.get("name")] == []


@pytest.fixture(scope="module")
def rules_of_a_renamed_controller(tmp_path_factory):
    """Rules by alert, where the controllers' machines have other names than the inventory, and Slurm checks seldom."""
    hosts = copy.deepcopy(rendered_roles.HOSTS)
    controllers = {"head.example.org": {"slurm_check_interval": 900}, "second": {}}
    hosts["all"]["children"]["slurm_controller"]["hosts"] = controllers
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rendered_roles, "HOSTS", hosts)
        folder = rendered_roles.render("prometheus", tmp_path_factory.mktemp("renamed"))
    groups = yaml.safe_load((folder / "etc/prometheus/rules/rackmark.yml").read_text())["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


def test_a_controller_that_is_down_is_called_by_its_name_in_the_inventory(rules_of_a_renamed_controller):
    expression = rules_of_a_renamed_controller["SlurmctldDown"]["expr"]
    assert expression.count(', "instance", "head.example.org", "controller", "head") == 0') == 1
    assert '"second"' not in expression


def test_how_often_a_check_runs_is_what_the_controller_was_told(rules_of_a_renamed_controller):
    rule = rules_of_a_renamed_controller["HealthCheckSilent"]
    assert "> 2760" in rule["expr"] and "every 900 s" in rule["annotations"]["description"]
