"""The shell and its commands, without adb in between."""

import asyncio

import pytest

from workers.phone.shell.interpreter import Interpreter, Outcome
from workers.phone.shell.reader import ShellSyntaxError, parse

NOTES = "dev.corral.notes"


@pytest.fixture
def sh(phone):
    def run(line: str, *, stdin: bytes = b"") -> Outcome:
        interpreter = Interpreter(phone, service="shell", hung_up=asyncio.Event())
        return asyncio.run(interpreter.run(line, stdin=stdin))

    return run


def out(outcome: Outcome) -> str:
    return outcome.stdout.decode()


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("echo a b", "a b\n"),
        ("echo 'a  b' \"c  $HOME\" d\\ e", "a  b c  / d e\n"),
        ("echo \"a\\\"b\" 'c\"d' '$HOME'", 'a"b c"d $HOME\n'),
        ("false; echo $?", "1\n"),
        ("true && echo yes || echo no", "yes\n"),
        ("false && echo yes || echo no", "no\n"),
        ("echo a > /sdcard/x; echo b >> /sdcard/x; cat < /sdcard/x", "a\nb\n"),
        ("cat /none 2>/dev/null; echo $?", "1\n"),
        ("cat /none 2>&1", "cat: /none: No such file or directory\n"),
        ("cat /none > /sdcard/x 2>&1; cat /sdcard/x", "cat: /none: No such file or directory\n"),
        ("echo one two | wc -w", "2\n"),
        ("getprop | grep ro.serialno", "[ro.serialno]: [CORRAL0001]\n"),
        ("echo a # and no more", "a\n"),
        ("echo a\necho b", "a\nb\n"),
        ("echo -n a; echo", "a\n"),
        ("echo $", "$\n"),
        ("which input nothing; echo $?", "/system/bin/input\n1\n"),
        ("/system/bin/echo a", "a\n"),
        ("", ""),
    ],
)
def test_the_shell_reads(sh, line, printed):
    assert out(sh(line)) == printed


@pytest.mark.parametrize(
    "line", ["echo 'a", 'echo "a', "echo $(id)", "echo `id`", "&& echo", "echo |", "echo &&", "(id)", "echo >"]
)
def test_what_the_shell_cannot_read_is_refused_by_name(sh, line):
    with pytest.raises(ShellSyntaxError):
        parse(line)
    assert sh(line).exit_code == 1
    assert sh(line).stderr.startswith(b"/system/bin/sh: syntax error: ")


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        (f"cmd package resolve-activity --brief {NOTES}", f"isDefault=true\n{NOTES}/.MainActivity\n"),
        ("cmd package resolve-activity --brief com.none", "No activity found\n"),
        (f"pm path {NOTES}", f"package:/data/app/{NOTES}/base.apk\n"),
        ("pm path com.none; echo $?", "1\n"),
        ("pm list packages -3 notes", f"package:{NOTES}\n"),
        (f"pm clear {NOTES}", "Success\n"),
        ("pm clear com.none; echo $?", "Failed\n1\n"),
        (f"monkey -p {NOTES} -c android.intent.category.LAUNCHER 1 | grep Events", "Events injected: 1\n"),
        ("monkey -p com.none 1; echo $?", "monkey aborted.\n252\n"),
        ("wm size", "Physical size: 1080x2400\n"),
        ("wm density", "Physical density: 420\n"),
        ("settings put system screen_brightness 5; settings get system screen_brightness", "5\n"),
        ("settings get secure nothing", "null\n"),
        ("ime list -s", "com.google.android.inputmethod.latin/com.android.inputmethod.latin.LatinIME\n"),
        ("dumpsys battery set level 9; dumpsys battery | grep level", "  level: 9\n"),
        ("dumpsys input_method | grep Shown", "mInputShown=false\n"),
        ("am force-stop com.none; echo $?", "0\n"),
        ("am broadcast -a X --es msg hello", "Broadcast completed: result=0\n"),
        ("uiautomator dump", "UI hierchary dumped to: /sdcard/window_dump.xml\n"),
        ("logcat -d", ""),
        ("date +%Y | wc -c", "5\n"),
    ],
)
def test_commands_answer_as_android_does(sh, line, printed):
    assert out(sh(line)).endswith(printed)


@pytest.mark.parametrize(
    ("line", "printed", "exit_code"),
    [
        ("am start -n com.none/.Main", "Error: Activity class {com.none/com.none.Main} does not exist.", 1),
        (f"am start -n {NOTES}/.Other", f"Error: Activity class {{{NOTES}/{NOTES}.Other}} does not exist.", 1),
        ("am start -a android.intent.action.VIEW -d https://x.y", "unable to resolve Intent", 1),
        ("input text é", "java.lang.NullPointerException", 255),
        ("input tap 1", "Error: Invalid arguments for command: tap", 255),
        ("input tap a b", "java.lang.NumberFormatException", 255),
        ("input keyevent NOPE", "Error: Unknown keycode: NOPE", 255),
        ("dumpsys nothing", "Can't find service: nothing", 1),
        ("pm install /x.apk", "described in YAML", 1),
        ("nothing", "inaccessible or not found", 127),
        ("rm /sdcard", "is a directory", 1),
        ("mkdir /sdcard/a/b", "No such file or directory", 1),
        ("echo a > /system/x", "Read-only file system", 1),
    ],
)
def test_commands_fail_as_android_does(sh, line, printed, exit_code):
    outcome = sh(line)
    assert (printed in outcome.stderr.decode(), outcome.exit_code) == (True, exit_code)


def test_text_is_typed_with_androids_own_spaces(sh, notes):
    notes.tap("New note")
    notes.tap("Title")
    sh("input text 'a%sb c' && input keyevent 67 KEYCODE_DEL 29; input keyevent --longpress SPACE")
    assert notes.find("title").text == "a ba "


def test_a_link_is_opened_by_view(sh, phone):
    assert sh("am start -W -a android.intent.action.VIEW -d corral://notes/settings").exit_code == 0
    assert phone.display.front.visit.name == "settings"


def test_am_kill_spares_the_app_in_front(sh, notes):
    notes.tap("Counter")
    notes.tap("More")
    sh(f"am kill {NOTES}")
    assert notes.find("count").text == "1"
    notes.press("HOME")
    sh(f"am kill {NOTES}; am start -n {NOTES}/.MainActivity")
    assert notes.texts()[0] == "Notes"


def test_the_log_tells_actions_from_looking(sh, phone):
    sh("dumpsys battery; input tap 1 1; uiautomator dump && am force-stop com.x; settings get system a; nothing")
    assert phone.log.commands() == [
        "dumpsys battery",
        "input tap 1 1",
        "uiautomator dump",
        "am force-stop com.x",
        "settings get system a",
    ]
    assert [entry.command for entry in phone.log.actions] == ["input tap 1 1", "am force-stop com.x"]
    assert all(entry.ended_at >= entry.started_at and entry.exit_code == 0 for entry in phone.log.entries)
