"""One laboratory for all journeys: a control plane, two hosts with three phones each, and a model for one of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from control.store.schema import migrate
from corral.stack.postgres import EmbeddedPostgres
from corral.stack.valkey import EmbeddedValkey
from tests.journeys.lab import Lab, laboratory
from tests.journeys.slow_model import NAME, SlowModel, slow_model
from workers.phone.app.description import BUILT_IN_APPS
from workers.phone.fleet import phones
from workers.phone.phone import Phone

HOSTS = ("rack-a", "rack-b")
HOST_WITH_MODEL = "rack-a"
PHONES_EACH = 3


@dataclass
class Site:
    """A laboratory with its phones, by host."""

    lab: Lab
    phones: dict[str, list[Phone]]
    model: SlowModel

    @property
    def all_phones(self) -> list[Phone]:
        return [phone for phones in self.phones.values() for phone in phones]


@pytest.fixture(scope="package")
def _site(
    postgres: EmbeddedPostgres, valkey: EmbeddedValkey, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    postgres.ensure_database("laboratory")
    url = postgres.url("laboratory")
    migrate(url)
    with (
        phones(count=PHONES_EACH * len(HOSTS), apps=[Path(BUILT_IN_APPS)]) as fleet,
        slow_model() as model,
        laboratory(tmp_path_factory.mktemp("laboratory"), database_url=url, redis_url=valkey.url) as lab,
    ):
        by_host: dict[str, list[Phone]] = {}
        for number, host in enumerate(HOSTS):
            these = slice(number * PHONES_EACH, (number + 1) * PHONES_EACH)
            by_host[host] = fleet.phones[these]
            lab.add_host(host, fleet.addresses[these])
        lab.program(HOST_WITH_MODEL).env |= {
            "CORRAL_HOST_AGENT_MODEL": NAME,
            "CORRAL_HOST_AGENT_MODEL_URL": model.url,
        }
        for host in HOSTS:
            lab.program(host).start()
        yield Site(lab, by_host, model)


@pytest.fixture
def site(_site: Site) -> Site:
    """The laboratory with everything running, whatever a test before has killed."""
    if not _site.lab.program("api").is_running:
        _site.lab.start_api()
    for program in _site.lab.programs.values():
        if not program.is_running:
            program.start()
    for host in HOSTS:
        _site.lab.wait_for_devices(host, PHONES_EACH)
    return _site


@pytest.fixture
def lab(site: Site) -> Lab:
    return site.lab
