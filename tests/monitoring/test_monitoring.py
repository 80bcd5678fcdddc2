"""The reference, the dashboard and the alert rules speak of metrics that there are, and of all of them."""

import json
import re
from collections.abc import Iterator
from typing import Any

import promql_parser
import pytest
import yaml

from tests.monitoring.known import GROWING, ROOT, Known, known_metrics, names_in

PAGE = ROOT / "docs/reference/metrics.md"
DASHBOARD = ROOT / "deploy/grafana/corral.json"
ALERTS = ROOT / "deploy/prometheus/alerts.yml"
SCRAPES = ROOT / "deploy/prometheus/prometheus.yml"


@pytest.fixture(scope="module")
def known() -> dict[str, list[Known]]:
    return known_metrics()


@pytest.fixture(scope="module")
def by_series(known: dict[str, list[Known]]) -> dict[str, Known]:
    return {series: one for metrics in known.values() for one in metrics for series in one.series()}


def panels() -> list[dict[str, Any]]:
    return [panel for panel in json.loads(DASHBOARD.read_text())["panels"] if panel["type"] != "row"]


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]


def expressions() -> Iterator[str]:
    for panel in panels():
        yield from (target["expr"].replace("$__rate_interval", "5m") for target in panel["targets"])
    yield from (rule["expr"] for rule in rules())


def test_each_process_has_a_chapter_with_all_of_its_metrics_their_labels_and_types(
    known: dict[str, list[Known]],
) -> None:
    row = re.compile(r"^\| `(corral_\w+)(?:\{([\w, ]+)\})?` \| (\w+) \|", re.MULTILINE)
    chapters = {chapter.partition("\n")[0]: chapter for chapter in PAGE.read_text().split("\n## ")}
    for title, metrics in known.items():
        documented = {(name, labels, kind) for name, labels, kind in row.findall(chapters[title])}
        assert documented == {(one.name, ", ".join(one.labels), one.type) for one in metrics}, title


def test_names_follow_the_conventions_of_prometheus(known: dict[str, list[Known]]) -> None:
    for one in (one for metrics in known.values() for one in metrics):
        assert (one.type == "counter") == one.name.endswith("_total"), one.name
        assert one.type != "histogram" or one.name.endswith(("_seconds", "_rows")), one.name
        # Prometheus puts its own into rows, and renames those of ours that are in the way.
        assert not {"job", "instance"} & set(one.labels), one.name


def test_every_value_of_a_label_is_shown_before_the_first_event(known: dict[str, list[Known]]) -> None:
    empty = [
        (one.name, label)
        for metrics in known.values()
        for one in metrics
        for label, values in one.values.items()
        if not values and label not in GROWING
    ]
    assert empty == []


def test_dashboard_and_alerts_ask_for_rows_that_there_are(by_series: dict[str, Known]) -> None:
    asked = set[str]()
    for expression in expressions():
        asked |= names_in(expression)
        assert names_in(expression) <= set(by_series), expression
        for name, matchers in re.findall(r"\b(corral_\w+)\{([^}]*)\}", expression):
            for label, operator, value in re.findall(r"(\w+)\s*(=~|!=|=|!~)\s*\"([^\"]*)\"", matchers):
                shown = by_series[name].values[label]
                assert label in GROWING or set(value.split("|")) <= shown, (expression, label, operator)
    # Nothing is counted that nobody looks at.
    assert {one.name for one in by_series.values()} == {by_series[name].name for name in asked}


def test_the_expressions_are_prometheus_language() -> None:
    for expression in expressions():
        promql_parser.parse(expression)


def test_expressions_group_by_labels_that_their_metrics_have(by_series: dict[str, Known]) -> None:
    for expression in expressions():
        possible = {"le", "instance", "job"}.union(*(by_series[name].labels for name in names_in(expression)))
        for grouped in re.findall(r"\bby \(([^)]*)\)", expression):
            assert set(grouped.replace(" ", "").split(",")) <= possible, expression


def test_a_gauge_that_every_api_process_shows_is_never_added_up(known: dict[str, list[Known]]) -> None:
    fleet = "|".join(one.name for one in known["The fleet"])
    for expression in expressions():
        assert len(re.findall(rf"\b(?:{fleet})\b", expression)) == len(
            re.findall(rf"\bmax(?: by \(\w+\) )?\((?:{fleet})\b", expression)
        ), expression


def test_every_panel_says_what_it_shows_and_asks_the_data_source_that_was_chosen() -> None:
    ids = [panel["id"] for panel in json.loads(DASHBOARD.read_text())["panels"]]
    assert len(ids) == len(set(ids))
    for panel in panels():
        assert panel["title"]
        assert panel["description"].endswith(".")
        assert panel["datasource"]["uid"] == "${datasource}"
        assert all(target["datasource"]["uid"] == "${datasource}" for target in panel["targets"])
        assert all(re.fullmatch(r"[\w %:{}()]*", target["legendFormat"]) for target in panel["targets"])


def test_panels_do_not_overlap() -> None:
    taken = set[tuple[int, int]]()
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells


def test_every_alert_says_what_is_the_matter_and_what_to_do_and_is_documented() -> None:
    documented = dict(re.findall(r"^\| `(Corral\w+)` \| (\w+) \|", PAGE.read_text(), re.MULTILINE))
    assert documented == {rule["alert"]: rule["labels"]["severity"] for rule in rules()}
    for rule in rules():
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert set(rule["annotations"]) == {"summary", "description"}
        assert rule["annotations"]["description"].endswith(".")


def test_what_alerts_say_of_their_labels_is_there_to_be_said(by_series: dict[str, Known]) -> None:
    for rule in rules():
        said = " ".join(rule["annotations"].values())
        for label in re.findall(r"\$labels\.(\w+)", said):
            assert re.search(rf"by \({label}\)|\"{label}\"", rule["expr"]) or label == "instance", rule["alert"]


def test_services_are_scraped_by_their_names_in_the_cluster() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    scraped = {
        name: config["job_name"]
        for config in yaml.safe_load(SCRAPES.read_text())["scrape_configs"]
        for found in config["dns_sd_configs"]
        for name in found["names"]
    }
    assert set(scraped) <= set(services)
    assert set(re.findall(r"job=\"(corral-\w+)\"", ALERTS.read_text())) <= set(scraped.values())
