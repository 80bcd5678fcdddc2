import pytest

from corral.flow.errors import UnsupportedCommand, UnsupportedExpression
from corral.flow.parser import parse_flow
from tests.corral.flow.public_flows import ARE_HERE, FAILING, PASSING, REFUSED, all_files, path_of, source_of

pytestmark = pytest.mark.skipif(not ARE_HERE, reason="Maestro's flows are not beside the project")


def test_every_public_flow_is_expected_to_pass_to_fail_or_to_be_refused():
    assert {path_of(name) for name in (*PASSING, *FAILING, *REFUSED)} == set(all_files())


@pytest.mark.parametrize("name", [*PASSING, *FAILING])
def test_a_public_flow_that_can_run_is_accepted_unchanged(name):
    flow = parse_flow(source_of(name), name=path_of(name), files=all_files())
    assert flow.app_id in {"com.example.example", "com.nonexistent"}
    assert flow.steps_total >= len(flow.commands) > 0


@pytest.mark.parametrize(("name", "reason"), REFUSED.items())
def test_a_public_flow_that_cannot_run_is_refused_by_the_name_of_what_is_not_built(name, reason):
    with pytest.raises((UnsupportedCommand, UnsupportedExpression)) as caught:
        parse_flow(source_of(name), name=path_of(name), files=all_files())
    error = caught.value
    assert f"`{reason}` is" in error.message
    assert error.file == path_of(name)
    assert reason in source_of(name).splitlines()[error.line - 1] or reason == "when: true:"
    assert error.allowed
