SHIFT = "com.google.android.inputmethod.latin:id/key_pos_shift"


def test_the_keyboard_comes_with_the_focus_and_goes_with_back(example):
    example.tap("Form Test")
    assert SHIFT not in example.xml()
    example.tap("Email")
    assert SHIFT in example.xml()
    assert example.find("Email").is_focused
    example.press("BACK")
    assert SHIFT not in example.xml()
    assert example.sees("Login")
    example.press("BACK")
    assert example.sees("Form Test")


def test_it_covers_the_lower_third(example):
    example.tap("Input Test")
    example.tap("textInput")
    holder = example.find("keyboard_holder")
    assert (holder.bounds.top, holder.bounds.bottom) == (1600, 2400)


def test_what_is_under_it_cannot_be_touched(notes):
    notes.tap("New note")
    notes.tap("Title")
    x, y = notes.middle("q")
    notes.phone.touch.press((x, y))
    assert notes.find("title").text == "q"


def test_a_field_that_it_would_cover_moves_up(notes):
    notes.tap("New note")
    before = notes.find("code").bounds.top
    notes.tap("code")
    assert notes.find("code").bounds.bottom <= 1600
    notes.press("BACK")
    assert notes.find("code").bounds.top == before


def test_its_keys_type(example):
    example.tap("Input Test")
    example.tap("textInput")
    for key in ("Shift", "H", "i", "Space", "y", "o", "u", "Delete"):
        example.tap(key)
    assert example.find("textInput").text == "Hi yo"
    example.tap("Done")
    assert SHIFT not in example.xml()


def test_the_keys_of_the_phone_type_erase_and_move_on(example):
    example.tap("Form Test")
    example.tap("Email")
    example.type("abc")
    example.press("DEL")
    example.press("TAB")
    example.type("x")
    assert [example.find("Email").text, example.find("Password").text] == ["ab", "•"]


def test_an_empty_field_shows_and_reports_its_hint(example):
    example.tap("Form Test")
    field = example.find("Email")
    assert (field.text, field.hint) == ("Email", "Email")
    example.tap("Email")
    example.type("a")
    assert (example.find("Email").text, example.find("Email").hint) == ("a", "Email")


def test_enter_submits_a_line_and_breaks_a_text(notes):
    notes.tap("New note")
    notes.tap("What is on your mind?")
    notes.type("one")
    notes.press("ENTER")
    notes.type("two")
    assert notes.find("body").text == "one\ntwo"
    assert 'text="one&#10;two"' in notes.xml()
    notes.tap("Title")
    notes.press("ENTER")
    assert SHIFT not in notes.xml()


def test_what_is_typed_without_a_focus_is_lost(notes):
    notes.type("lost")
    assert "lost" not in notes.xml()
