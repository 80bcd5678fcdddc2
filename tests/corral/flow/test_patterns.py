import time

import pytest

from corral.flow.patterns import InvalidPattern, TextPattern


def matches(pattern: str, text: str) -> bool:
    return TextPattern.checked(pattern).matches_text(text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("login", "LOGIN"),
        (".*foo.*", "a\nfoo\nb"),
        ("two lines", "two\nlines"),
        ("Price (USD)", "Price (USD)"),
        (r"\d{8}", "01234567"),
        ("[A-Z][a-z]+ [A-Z][a-z]+", "Ada Lovelace"),
        (".+@.+", "a@b.c"),
        (r"(\d{1,3}\.){3}\d{1,3}", "127.0.0.1"),
        ("(ab|cd)?x", "abx"),
        ("(colou?r|favou?rite|neighbou?r|hono?u?r|labou?r|flavou?r|humou?r|rumou?r|vapou?r).*", "favourite food"),
        (r"(0?\d|1\d|2[0-3]):[0-5]\d ?([ap]\.?m\.?)?", "10:45 a.m."),
    ],
)
def test_a_pattern_matches_in_full_whatever_the_case_or_is_the_text_itself(pattern, text):
    assert matches(pattern, text)


@pytest.mark.parametrize(("pattern", "text"), [("log", "login"), (r"\d{4}", "12345"), ("foo", "bar"), ("a+b", "a + b")])
def test_a_part_of_a_text_is_no_match(pattern, text):
    assert not matches(pattern, text)


def test_an_id_matches_as_a_whole_or_after_its_last_slash():
    pattern = TextPattern.checked("button_.*")
    assert pattern.matches_id("com.a:id/button_ok")
    assert pattern.matches_id("button_ok")
    assert not pattern.matches_id("com.a:id/my_button_ok")
    assert TextPattern.checked("com.a:id/ok").matches_id("com.a:id/ok")


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+b",
        "(a*)*",
        "(a|aa)+b",
        "(.*x){9}",
        "((a{1,9}){1,9}){1,9}",
        ".*a.*b.*c.*d.*e",
        "(\\w+ ?)*x",
        "x" * 501,
        "((a+){3}){3}",
        "(a?){30}a{30}",
        "a?" * 30 + "a{30}",
        "((((a?)?)?)?)?" * 20,
        "(a|ab)(c|bcd)" * 20,
        "(a|b|ab|ba)" * 8 + ".*.*.*.*x",
        "a{1,3}" * 20 + "b",
    ],
)
def test_a_pattern_that_could_take_forever_is_refused(pattern):
    with pytest.raises(InvalidPattern):
        TextPattern.checked(pattern)


@pytest.mark.parametrize(
    "pattern", [".*a.*b", ".*a.*a.*b", ".*a.*a.*a.*b", "a*a*a*a*b", "a?" * 16 + "a{16}b", "(a|aa)(a|aa)a*a*a*b"]
)
def test_the_worst_text_for_an_accepted_pattern_is_judged_soon(pattern):
    begun = time.process_time()
    assert not matches(pattern, "a" * 20_000)
    assert time.process_time() - begun < 5


def test_python_warnings_about_a_pattern_stay_inside():
    assert matches("[[a]", "a")
