import pytest
from prometheus_client import REGISTRY

from control.metrics import count_revokes


@pytest.mark.parametrize(
    ("actor", "source"),
    [
        ("celery:bridge", "bridge"),
        ("celery:reconciliation", "reconciliation"),
        ("celery:expires", "expires"),
        ("celery:jobs@some-machine", "worker"),
    ],
)
def test_revokes_are_counted_by_a_source_of_which_there_are_few(actor: str, source: str) -> None:
    def counted() -> float:
        return REGISTRY.get_sample_value("corral_revokes_total", {"source": source}) or 0

    before = counted()
    count_revokes(actor, 3)
    assert counted() == before + 3
