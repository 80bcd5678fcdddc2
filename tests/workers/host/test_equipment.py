"""What a host has for goals is checked before the control plane hears of the host."""

import pytest

from workers.host.life import ExitCode
from workers.host.main import run_host
from workers.host.settings import HostSettings

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"agent_model": "qwen3"}, "no model is named `qwen3`"),
        ({"agent_model": "compatible:qwen3"}, "needs the URL of its endpoint"),
        ({"agent_model": "openai:gpt-5"}, "set OPENAI_API_KEY"),
        ({"agent_secrets_file": "nowhere.json"}, "nowhere.json cannot be read"),
    ],
)
async def test_a_host_whose_model_or_secrets_are_not_there_ends_before_it_enrols(
    far_side, tmp_path, monkeypatch, capsys, settings, said
):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    host = HostSettings(api_url=far_side.url, join_token="join", state_dir=tmp_path, **settings)
    assert await run_host(host) == ExitCode.NOT_CONFIGURED
    assert said in "".join(capsys.readouterr())
    assert far_side.made("register") == []
