"""docs/deploy.md names what there is."""

import re
from pathlib import Path

import yaml

from tests.deploy.settings import is_setting

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/deploy.md").read_text()
#: Of compose.yaml and of the command line, which have no settings class.
OTHERS = {"CORRAL_API_PORTS", "CORRAL_FLOWER_PORT", "CORRAL_URL", "CORRAL_API_KEY"}


def test_its_links_lead_to_pages_and_headings():
    for target in re.findall(r"\]\(([^)]+)\)", PAGE):
        path, _, heading = target.partition("#")
        text = (ROOT / "docs" / path).read_text() if path else PAGE
        titles = [
            re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-")
            for line in re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        ]
        assert not heading or heading in titles, target


def test_the_files_and_variables_that_it_names_are_there():
    paths = {path.rstrip(".") for path in re.findall(r"(?<![\w/])(?:deploy|examples|docs)/[\w./-]+", PAGE)}
    assert [path for path in paths if not (ROOT / path).exists()] == []
    variables = set(re.findall(r"\bCORRAL_\w+", PAGE)) - OTHERS
    assert [variable for variable in variables if not is_setting(variable)] == []


def test_what_it_adds_to_the_cluster_fits_into_it():
    (addition,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())
    services = yaml.safe_load(addition)["services"]
    assert set(services) - set(compose["services"]) == {"prometheus"}
    assert set(services["prometheus"]["networks"]) <= set(compose["networks"])
