"""Unmodified adbutils against the phone."""

import pytest
from adbutils import AdbError

NOTES = "dev.corral.notes"


@pytest.fixture
def device(connected):
    return connected.device


def test_it_lists_the_phone(connected):
    assert connected.address in [info.serial for info in connected.adb.client.list()]


def test_it_reads_properties(device):
    assert device.prop.model == "Corral Phone"
    assert device.getprop("ro.serialno") == "CORRAL0001"


def test_shell_and_shell2_agree_in_both_protocols(device):
    assert device.shell("echo hello") == "hello"
    for v2 in (False, True):
        answer = device.shell2("echo hello; false", v2=v2)
        assert (answer.output, answer.returncode) == ("hello\n", 1)


def test_shell_v2_tells_output_and_errors_apart(device):
    answer = device.shell2("echo out; foo", v2=True)
    assert (answer.stdout, answer.returncode) == ("out\n", 127)
    assert "inaccessible or not found" in answer.stderr


def test_arguments_survive_its_quoting(device):
    words = ["echo", "two words", "it's", '"quoted"', "$HOME", "a;b", "back\\slash", "ü"]
    assert device.shell(words) == " ".join(words[1:])


def test_it_starts_stops_and_finds_apps(device):
    device.app_start(NOTES)
    assert (device.app_current().package, device.app_current().activity) == (NOTES, f"{NOTES}.MainActivity")
    device.app_stop(NOTES)
    assert device.app_current().package == "com.google.android.apps.nexuslauncher"
    device.app_start(NOTES, ".MainActivity")
    assert device.app_current().package == NOTES
    assert device.app_info(NOTES).version_name == "1.2.0"
    assert device.app_info("com.missing") is None
    assert NOTES in device.list_packages()
    assert device.list_packages(["-3"]) == ["com.example.example", NOTES]


def test_it_measures_the_display(device):
    assert tuple(device.window_size()) == (1080, 2400)
    assert device.rotation() == 0
    assert device.is_screen_on()
    device.keyevent("POWER")
    assert not device.is_screen_on()


def test_it_reads_the_battery(connected):
    connected.phone.battery.level_percent = 12
    connected.phone.battery.temperature_tenths_c = 415
    battery = connected.device.battery()
    assert (battery.level, battery.temperature, battery.usb_powered) == (12, 41.5, True)


def test_it_taps_types_and_dumps(device):
    device.app_start(NOTES)
    device.click(0.5, 560 / 2400)
    device.click(540, 330)
    device.send_keys("Milk, 2%")
    assert 'text="Milk, 2%"' in device.dump_hierarchy()
    device.keyevent(67)
    device.keyevent("BACK")
    assert 'text="Milk, 2"' in device.dump_hierarchy()


def test_it_swipes_and_drags(device):
    device.app_start(NOTES)
    device.click(540, 720)
    device.swipe(540, 1800, 540, 600, 0.3)
    assert 'text="Entry 1"' not in device.dump_hierarchy()
    device.drag(540, 600, 540, 1800, 0.6)
    assert 'text="Entry 1"' in device.dump_hierarchy()


def test_letters_without_a_key_bring_the_java_exception(device):
    assert "java.lang.NullPointerException: Attempt to get length of null array" in device.send_keys("héllo")


def test_it_takes_screenshots(device):
    assert device.screenshot().size == (1080, 2400)


def test_it_moves_files(device, tmp_path):
    device.sync.push(b"content", "/sdcard/a.txt", check=True)
    assert device.sync.read_text("/sdcard/a.txt") == "content"
    assert device.sync.stat("/sdcard/a.txt").size == 7
    assert [entry.path for entry in device.sync.list("/sdcard/") if entry.size] == ["a.txt"]
    device.sync.pull("/sdcard/", tmp_path, exist_ok=True)
    assert (tmp_path / "a.txt").read_text() == "content"
    device.remove("/sdcard/a.txt")
    with pytest.raises(AdbError, match="No such file or directory"):
        device.sync.read_bytes("/sdcard/a.txt")
