"""Every fault that can be ordered, as an adb client meets it."""

import time

import pytest
from adbutils import AdbError

from tests.workers.phone.conftest import Connected, until
from workers.phone.adbd.connection import LinkState
from workers.phone.faults import Fault, FaultKind, RefusedFault
from workers.phone.phone import Phone


def order(connected: Connected, kind: str, **fields) -> Fault:
    return connected.phone.faults.add(Fault(FaultKind(kind), **fields))


def test_a_drop_before_the_command_leaves_the_phone_untouched(connected):
    connected.device.app_start("dev.corral.notes")
    order(connected, "drop", match="input tap*")
    assert connected.device.click(540, 560) is None
    until(lambda: connected.is_in_state("device"))
    assert connected.phone.display.front.visit.name == "home"


def test_a_drop_after_the_command_hides_that_it_worked(connected):
    connected.device.app_start("dev.corral.notes")
    order(connected, "drop", match="input tap*", after=True)
    with pytest.raises(EOFError):
        connected.device.shell2("input tap 540 560", v2=True)
    assert connected.phone.display.front.visit.name == "form"
    until(lambda: connected.is_in_state("device"))


def test_a_hang_lasts_until_the_client_gives_up(connected):
    order(connected, "hang", match="getprop*")
    with pytest.raises(AdbError):
        connected.device.shell("getprop", timeout=0.2)
    until(lambda: connected.phone.log.entries[-1].ended_at is not None)
    assert connected.phone.log.entries[-1].exit_code is None
    assert connected.device.shell("getprop ro.serialno") == "CORRAL0001"


def test_a_delay_answers_late(connected):
    order(connected, "delay", match="echo*", delay_ms=150)
    asked_at = time.monotonic()
    assert connected.device.shell("echo late") == "late"
    assert time.monotonic() - asked_at >= 0.15


def test_a_trickle_keeps_a_client_waiting_for_ever(connected):
    order(connected, "trickle", match="cat*", delay_ms=10)
    stream = connected.device.shell("cat /sdcard/x", stream=True)
    assert stream.read(5) == b"....."
    stream.close()


def test_garbage_comes_instead_of_an_answer(connected):
    order(connected, "garbage", match="dumpsys battery")
    answer = connected.run("shell", "dumpsys battery")
    assert answer.stdout.startswith(b"\xff\xfe\xfd")
    assert b"level: 87" in connected.run("shell", "dumpsys battery").stdout


def test_garbage_instead_of_a_file_breaks_the_pull(connected):
    order(connected, "garbage", match="sync RECV*")
    with pytest.raises((AdbError, UnicodeDecodeError)):
        connected.device.sync.read_bytes("/sdcard/x")


def test_an_output_and_an_exit_code_can_be_put_in_place_of_the_real_ones(connected):
    order(connected, "output", match="pm clear*", output="Killed\n", exit_code=137)
    answer = connected.device.shell2("pm clear dev.corral.notes", v2=True)
    assert (answer.output, answer.returncode) == ("Killed\n", 137)
    order(connected, "exit_code", match="monkey*", exit_code=251)
    assert connected.device.shell2("monkey -p dev.corral.notes 1", v2=True).returncode == 251
    assert connected.phone.display.front.description.package == "dev.corral.notes"


def test_a_refused_service_is_closed(connected):
    order(connected, "refuse", match="shell*")
    answer = connected.run("shell", "echo", "hello")
    assert answer.returncode != 0
    assert b"closed" in answer.stderr


def test_a_dump_fails_for_want_of_idleness(connected):
    order(connected, "not_idle")
    with pytest.raises(AdbError, match="could not get idle state"):
        connected.device.dump_hierarchy()
    assert connected.device.dump_hierarchy().startswith("<?xml")


def test_a_screenshot_can_be_black(connected):
    order(connected, "black_screenshot")
    assert connected.device.screenshot().getbbox() is None
    assert connected.device.screenshot().getbbox() is not None


def test_a_warning_can_stand_before_the_png(connected):
    order(connected, "display_warning")
    assert connected.run("exec-out", "screencap", "-p").stdout.startswith(b"[Warning] Multiple displays were found")


def test_input_can_be_forbidden_while_the_exit_code_says_nothing(connected):
    order(connected, "input_not_permitted", times=None)
    answer = connected.device.shell2("input tap 1 1", v2=True)
    assert "INJECT_EVENTS" in answer.output
    assert answer.returncode == 0


def test_a_fault_strikes_as_often_as_ordered_after_what_it_lets_through(connected):
    order(connected, "output", match="echo*", output="struck", times=2, skip=1)
    assert [connected.device.shell("echo own") for _ in range(4)] == ["own", "struck", "struck", "own"]


def test_a_fault_meets_one_command_of_a_line(connected):
    order(connected, "exit_code", match="rm *", exit_code=9)
    assert connected.device.shell("echo a; rm -f /sdcard/x; echo $?") == "a\n9"


@pytest.mark.parametrize("state", [LinkState.OFFLINE, LinkState.UNAUTHORIZED, LinkState.AUTHORIZING])
def test_the_phone_can_be(connected, state):
    connected.phone.link_state = state
    until(lambda: connected.is_in_state(state))
    connected.phone.link_state = LinkState.DEVICE
    until(lambda: connected.is_in_state("device"))


def test_the_cable_can_be_out(connected):
    connected.phone.link_state = LinkState.GONE
    until(lambda: not connected.is_in_state("device"))
    connected.phone.link_state = LinkState.DEVICE
    until(lambda: connected.is_in_state("device"))


def test_a_reboot_ends_apps_and_keeps_what_was_saved(connected):
    connected.device.app_start("dev.corral.notes")
    connected.phone.display.front.assign("notes", 3)
    connected.phone.display.front.assign("count", 3)
    connected.device.shell("reboot")
    until(lambda: connected.is_in_state("device"))
    connected.device.app_start("dev.corral.notes")
    values = connected.phone.display.front.values
    assert (values["notes"], values["count"]) == (3, 0)


def test_faults_are_ordered_listed_and_taken_back_over_adb(connected):
    assert connected.run("shell", "corral-fault add output --match 'id*' --output nobody --times 2").returncode == 0
    assert b"match='id*'" in connected.run("shell", "corral-fault list").stdout
    assert connected.device.shell("id") == "nobody"
    connected.run("shell", "corral-fault clear")
    assert connected.device.shell("id").startswith("uid=2000")


def test_the_link_is_changed_over_adb_and_comes_back_by_itself(connected):
    connected.run("shell", "corral-fault link unauthorized --for-ms 2000")
    until(lambda: connected.is_in_state("unauthorized"))
    until(lambda: connected.is_in_state("device"))


@pytest.mark.parametrize(
    "words",
    [
        "add nonsense",
        "add drop --times",
        "add drop --times 0",
        "add drop --what 1",
        "link offline",
        "link x --for-ms 1",
    ],
)
def test_an_order_that_makes_no_sense_is_refused_with_the_usage(connected, words):
    answer = connected.run("shell", f"corral-fault {words}")
    assert answer.returncode == 2
    assert b"corral-fault add KIND" in answer.stderr
    assert not connected.phone.faults.ordered


def test_a_fault_with_wrong_fields_says_which():
    with pytest.raises(RefusedFault, match="kind: 'explode' is none of drop, hang"):
        Fault("explode")
    with pytest.raises(RefusedFault, match="times: 0 is less than 1"):
        Fault(FaultKind.DROP, times=0)


def test_a_phone_without_faults_has_none():
    assert Phone().faults.take("input tap 1 2") is None


def test_orders_come_through_whatever_was_ordered(connected):
    for kind in ("hang", "refuse"):
        order(connected, kind, times=None)
    assert connected.run("shell", "corral-fault clear").returncode == 0
    assert connected.device.shell("echo again") == "again"
