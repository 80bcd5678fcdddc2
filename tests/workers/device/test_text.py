"""What plain `input text` can type, and in which pieces."""

import pytest
from hypothesis import given, strategies as st

from workers.device.outcome import ErrorCode
from workers.device.text import MAX_CHARACTERS, PIECE_CHARACTERS, pieces_of, refusal_of

TYPABLE = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("é", "character 1 of the text is U+00E9"),
        ("line\nbreak", "character 5 of the text is U+000A"),
        ("tab\t", "character 4 of the text is U+0009"),
        ("\x00", "U+0000"),
        ("\x7f", "U+007F"),
        ("ok \U0001f600", "character 4 of the text is U+1F600"),
    ],
)
def test_what_cannot_be_typed_is_refused_and_its_place_is_named(text, place):
    refused = refusal_of(text)
    assert refused is not None
    assert refused.code is ErrorCode.TEXT_UNSUPPORTED
    assert place in refused.message


def test_a_text_beyond_the_limit_is_refused_and_the_limit_is_named():
    assert refusal_of("a" * MAX_CHARACTERS) is None
    assert str(MAX_CHARACTERS) in refusal_of("a" * (MAX_CHARACTERS + 1)).message


@given(TYPABLE)
def test_every_text_of_printable_ascii_can_be_typed(text):
    assert refusal_of(text) is None


@given(TYPABLE | st.text("%s", max_size=40) | st.builds(lambda n: "x" * n + "%s", st.integers(490, 510)))
def test_the_pieces_are_the_text_and_the_phone_changes_none_of_them(text):
    pieces = pieces_of(text)
    assert "".join(pieces) == text
    assert all("%s" not in piece and 0 < len(piece) <= PIECE_CHARACTERS for piece in pieces)


def test_a_text_of_usual_length_is_one_piece():
    assert pieces_of("very" * 100 + "longemail@mobile.dev") == ["very" * 100 + "longemail@mobile.dev"]
