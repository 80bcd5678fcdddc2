"""What is known of a secret outside the keystroke: its name."""

import base64
import copy
import json
import pickle
import re
import shlex
from urllib.parse import quote

import pytest
from hypothesis import given, strategies as st

from workers.agent.secrets_file import SecretsUnreadable, read_secrets_file
from workers.agent.task_secrets import InvalidSecret, SecretNotGranted, Secrets

PASSWORD = 'it\'s a p&ss/wörd "42"'


@pytest.fixture
def secrets() -> Secrets:
    return Secrets({"PASSWORD": PASSWORD, "PIN": "42", "KEY": "first line\nsecond line", "OTHER": "of-another-task"})


@pytest.mark.parametrize(
    "form",
    [
        PASSWORD,
        quote(PASSWORD),
        quote(PASSWORD, safe=""),
        re.sub("%..", lambda found: found.group().lower(), quote(PASSWORD, safe="")),
        shlex.quote(PASSWORD),
        json.dumps(PASSWORD),
        json.dumps(PASSWORD, ensure_ascii=False),
        repr(PASSWORD),
        base64.b64encode(PASSWORD.encode()).decode(),
        PASSWORD.replace("&", "&amp;").replace('"', "&quot;").replace("'", "&#x27;"),
    ],
)
def test_a_value_is_replaced_in_every_form_that_it_takes_on_its_way(secrets, form):
    redacted = secrets.redacted(f"before {form} after")
    assert "ss" not in redacted.replace("PASSWORD", "")
    assert "[secret PASSWORD]" in redacted
    assert redacted.startswith("before ")
    assert redacted.endswith(" after")


def test_a_value_of_several_lines_is_replaced_line_by_line(secrets):
    assert secrets.redacted("the first line, then second line.") == "the [secret KEY], then [secret KEY]."
    assert secrets.redacted("first line\nsecond line") == "[secret KEY]"
    assert secrets.redacted("first line second line") == "[secret KEY]"


def test_a_short_value_is_replaced_as_a_word_of_its_own(secrets):
    assert secrets.redacted("pin 42, order 1423, '42'") == "pin [secret PIN], order 1423, '[secret PIN]'"


def test_values_that_overlap_leave_no_end_behind():
    secrets = Secrets({"A": "abcdef", "B": "defghi", "C": "aaaa"})
    assert secrets.redacted("xabcdefghix") == "x[secret A]x"
    assert secrets.redacted("aaaaaa") == "[secret C]"


def test_a_value_that_holds_another_is_replaced_as_a_whole():
    assert Secrets({"A": "open", "B": "open sesame"}).redacted("say open sesame") in {
        "say [secret A]",
        "say [secret B]",
    }


def test_values_of_other_tasks_are_replaced_and_not_given(secrets):
    granted = Secrets({"PIN": "1234", "OTHER": "of-another-task"}, allowed=["PIN", "MISSING"])
    assert granted.names == ("PIN",)
    assert granted.value_of("PIN") == "1234"
    for name in ("OTHER", "MISSING", "ELSE"):
        with pytest.raises(SecretNotGranted):
            granted.value_of(name)
    assert granted.redacted("of-another-task") == "[secret OTHER]"


def test_values_inside_of_json_are_replaced(secrets):
    value = {"a": [PASSWORD, 1, None], PASSWORD: {"b": "pin 42"}}
    assert secrets.redacted_json(value) == {
        "a": ["[secret PASSWORD]", 1, None],
        "[secret PASSWORD]": {"b": "pin [secret PIN]"},
    }


def test_nothing_shows_or_stores_the_values(secrets):
    assert repr(secrets) == str(secrets) == "Secrets(KEY, OTHER, PASSWORD, PIN)"
    for store in (pickle.dumps, copy.deepcopy, copy.copy):
        with pytest.raises(TypeError, match="not stored"):
            store(secrets)


@pytest.mark.parametrize("values", [{"A": ""}, {"A": "  "}, {"A": 12345}, {"": "topsecret"}, {"a b": "topsecret"}])
def test_what_is_no_secret_is_refused_without_its_value(values):
    with pytest.raises(InvalidSecret) as refused:
        Secrets(values)
    assert "topsecret" not in str(refused.value)
    assert "12345" not in str(refused.value)


@given(st.text(min_size=4), st.text(), st.text())
def test_no_value_is_left_whatever_stands_around_it(value, before, after):
    if not value.strip():
        return
    redacted = Secrets({"NAME": value}).redacted(before + value + after)
    assert value not in redacted.replace("[secret NAME]", "\N{REPLACEMENT CHARACTER}")


# Files


def written(tmp_path, name, content, mode=0o600):
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    file.chmod(mode)
    return file


def test_a_file_of_secrets_is_toml_or_json(tmp_path):
    wanted = {"USER": "ann", "PASSWORD": "pässword"}
    assert read_secrets_file(written(tmp_path, "a.toml", 'USER = "ann"\nPASSWORD = "pässword"\n')) == wanted
    assert read_secrets_file(written(tmp_path, "a.json", json.dumps(wanted))) == wanted


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.toml", "A = topsecret"),
        ("a.toml", 'A = "topsecret"\nA = "topsecret"'),
        ("a.toml", '[shop]\nA = "topsecret"'),
        ("a.json", '{"A": "topsecret"'),
        ("a.json", '{"A": "topsecret", "A": "b"}'),
        ("a.json", '["topsecret"]'),
        ("a.json", '{"A": ["topsecret"]}'),
        ("a.json", '{"top secret!": "topsecret"}'),
        ("a.json", "[" * 100_000),
        ("a.json", b"\xff\xfe"),
        ("a.json", b"x" * (1024 * 1024 + 1)),
        ("a.yaml", "A: topsecret"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_without_a_word_of_its_content(tmp_path, name, content):
    file = written(tmp_path, name, content)
    with pytest.raises(SecretsUnreadable) as refused:
        read_secrets_file(file)
    assert str(file) in str(refused.value)
    assert "secret!" not in str(refused.value)
    assert "topsecret" not in str(refused.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(SecretsUnreadable, match="cannot be read: No such file"):
        read_secrets_file(tmp_path / "a.toml")


def test_a_file_that_others_may_read_is_warned_of(tmp_path, caplog, capsys):
    read_secrets_file(written(tmp_path, "a.toml", 'A = "topsecret"', mode=0o644))
    told = capsys.readouterr().out + caplog.text
    assert "secrets.readable_by_others" in told
    assert "topsecret" not in told
