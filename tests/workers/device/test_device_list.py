"""Lines as the adb server prints them, with all that has been seen in them."""

import pytest

from corral.contract.fleet import DeviceState
from workers.device.device_list import read_device_list

SEE = "see [http://developer.android.com/tools/device.html]"
LISTING = f"""\
R5CT10ABCDE            device usb:1-4 product:a54xnaeea model:SM_A546B device:a54x transport_id:3
adb-R5CT10ABCDE-x2Yz (2)._adb-tls-connect._tcp device product:a54xnaeea model:SM_A546B device:a54x transport_id:14
????????????           no permissions (missing udev rules? user is in the plugdev group); {SEE} usb:1-2 transport_id:4
0a388e93               no permissions (user in plugdev group; are your udev rules wrong?); {SEE} usb:3-1
emulator-5554          unauthorized transport_id:5
192.168.1.20:5555      offline transport_id:6
(no serial number)     device usb:1-7 product:clone model:Clone_Phone_X device:clone transport_id:7
ZY22                   authorizing usb:1-9 transport_id:8
FA7                    recovery usb:1-1 product:walleye model:Pixel_2 device:walleye transport_id:9
FA8                    sideload usb:1-3 transport_id:10
QQ1                    connecting transport_id:11
QQ2                    detached usb:1-8 transport_id:12
TAB\tdevice
"""


@pytest.fixture(scope="module")
def devices():
    return {listed.transport_serial: listed for listed in read_device_list(LISTING)}


def test_no_line_hides_another(devices):
    assert len(devices) == 13


@pytest.mark.parametrize(
    ("serial", "state"),
    [
        ("R5CT10ABCDE", DeviceState.READY),
        ("????????????", DeviceState.NO_PERMISSIONS),
        ("0a388e93", DeviceState.NO_PERMISSIONS),
        ("emulator-5554", DeviceState.UNAUTHORIZED),
        ("192.168.1.20:5555", DeviceState.OFFLINE),
        ("ZY22", DeviceState.AUTHORIZING),
        ("FA7", DeviceState.RECOVERY),
        ("FA8", DeviceState.RECOVERY),
        ("QQ1", DeviceState.CONNECTING),
        ("QQ2", DeviceState.UNKNOWN),
        ("TAB", DeviceState.READY),
    ],
)
def test_each_state_is_told_with_what_to_do_about_it(devices, serial, state):
    assert devices[serial].state is state
    assert (devices[serial].remedy is None) is (state is DeviceState.READY)


def test_a_serial_may_hold_spaces(devices):
    assert devices["adb-R5CT10ABCDE-x2Yz (2)._adb-tls-connect._tcp"].state is DeviceState.READY
    assert devices["(no serial number)"].model == "Clone Phone X"


def test_an_unknown_state_is_shown_in_the_word_of_adb(devices):
    assert "'detached'" in devices["QQ2"].remedy


def test_model_and_transport_are_read(devices):
    assert (devices["R5CT10ABCDE"].model, devices["R5CT10ABCDE"].transport_id) == ("SM A546B", 3)
    assert devices["????????????"].transport_id == 4


@pytest.mark.parametrize("listing", ["", "\n\n", "   \n"])
def test_an_empty_list_has_no_devices(listing):
    assert read_device_list(listing) == []


def test_a_line_of_one_word_is_a_device_of_unknown_state():
    (listed,) = read_device_list("lonely")
    assert (listed.transport_serial, listed.state) == ("lonely", DeviceState.UNKNOWN)
