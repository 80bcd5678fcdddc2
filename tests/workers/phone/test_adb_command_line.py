import os

PNG = b"\x89PNG\r\n\x1a\n"


def test_devices_are_listed_with_product_and_model(connected):
    line = next(
        line for line in connected.adb.run("devices", "-l").stdout.decode().splitlines() if connected.address in line
    )
    assert line.split()[1:5] == ["device", "product:corral_phone", "model:Corral_Phone", "device:corral_phone"]


def test_the_serial_is_the_phones_own_and_stable(connected):
    assert connected.run("shell", "getprop", "ro.serialno").stdout == b"CORRAL0001\n"
    assert connected.run("shell", "getprop ro.build.version.release").stdout == b"15\n"


def test_a_shell_command_brings_back_its_output_its_errors_and_its_exit_code(connected):
    answer = connected.run("shell", "echo out; ls /nowhere")
    assert answer.stdout == b"out\n"
    assert answer.stderr == b"ls: /nowhere: No such file or directory\n"
    assert answer.returncode == 1


def test_an_unknown_command_ends_with_127(connected):
    answer = connected.run("shell", "foo --bar")
    assert (answer.returncode, answer.stderr) == (127, b"/system/bin/sh: foo: inaccessible or not found\n")


def test_without_shell_v2_outputs_are_mixed_and_the_exit_code_is_lost(connected):
    answer = connected.run("shell", "-x", "echo out; foo")
    assert answer.stdout == b"out\n/system/bin/sh: foo: inaccessible or not found\n"
    assert answer.returncode == 0


def test_lines_typed_into_a_shell_are_run_one_after_the_other(connected):
    answer = connected.run("shell", stdin=b"echo one\necho $?\nfalse\necho $?\nexit\necho never\n")
    assert answer.stdout == b"one\n0\n1\n"


def test_a_shell_on_a_terminal_prompts_and_echoes(connected):
    answer = connected.run("shell", "-tt", stdin=b"echo hixx\x7f\x7f\rexit\r")
    assert b"CORRAL0001:/ $ echo hixx\x08 \x08\x08 \x08\r\nhi\r\n" in answer.stdout


def test_the_input_of_a_command_reaches_it(connected):
    assert connected.run("shell", "cat", stdin=b"through and through").stdout == b"through and through"


def test_what_was_pushed_is_pulled_unchanged(connected, tmp_path):
    content = os.urandom(1_500_000)
    (tmp_path / "sent.bin").write_bytes(content)
    assert connected.run("push", str(tmp_path / "sent.bin"), "/sdcard/deep/er/kept.bin").returncode == 0
    assert connected.run("pull", "/sdcard/deep/er/kept.bin", str(tmp_path / "got.bin")).returncode == 0
    assert (tmp_path / "got.bin").read_bytes() == content
    assert connected.run("exec-out", "cat", "/sdcard/deep/er/kept.bin").stdout == content


def test_a_folder_is_pushed_and_pulled(connected, tmp_path):
    (tmp_path / "sent" / "inner").mkdir(parents=True)
    (tmp_path / "sent" / "a.txt").write_text("a")
    (tmp_path / "sent" / "inner" / "b.txt").write_text("b")
    (tmp_path / "got").mkdir()
    assert connected.run("push", str(tmp_path / "sent"), "/sdcard/").returncode == 0
    assert connected.run("pull", "/sdcard/sent", str(tmp_path / "got")).returncode == 0
    assert (tmp_path / "got" / "sent" / "inner" / "b.txt").read_text() == "b"


def test_a_push_to_a_read_only_place_is_refused(connected, tmp_path):
    (tmp_path / "x").write_text("x")
    answer = connected.run("push", str(tmp_path / "x"), "/system/x")
    assert answer.returncode == 1
    assert b"Read-only file system" in answer.stderr + answer.stdout


def test_a_missing_file_cannot_be_pulled(connected, tmp_path):
    answer = connected.run("pull", "/sdcard/none", str(tmp_path / "none"))
    assert answer.returncode == 1
    assert b"No such file or directory" in answer.stderr + answer.stdout


def test_a_screenshot_comes_out_as_png(connected):
    shot = connected.run("exec-out", "screencap", "-p").stdout
    assert shot.startswith(PNG)
    assert shot.rstrip().endswith(b"IEND\xaeB`\x82")


def test_a_dump_is_written_where_it_was_asked_for(connected):
    answer = connected.run("shell", "uiautomator dump /sdcard/x.xml && cat /sdcard/x.xml")
    assert answer.stdout.startswith(b"UI hierchary dumped to: /sdcard/x.xml\n<?xml version='1.0'")
    assert b'text="Notes"' in answer.stdout


def test_root_is_refused_politely(connected):
    assert b"adbd cannot run as root in production builds" in connected.run("root").stdout


def test_a_service_that_the_phone_lacks_is_closed(connected):
    assert b"closed" in connected.run("jdwp").stderr + connected.run("reverse", "tcp:1", "tcp:2").stderr


def test_an_install_is_refused_with_the_way_that_works(connected, tmp_path):
    (tmp_path / "app.apk").write_bytes(b"PK\x03\x04")
    answer = connected.run("install", str(tmp_path / "app.apk"))
    assert answer.returncode != 0
    assert b"described in YAML" in answer.stdout + answer.stderr


def test_an_app_is_driven_from_the_command_line(connected):
    launch = (
        "am start -n dev.corral.notes/.MainActivity; input tap 540 560; input tap 540 330; input text Milk%sand%stea"
    )
    assert connected.run("shell", launch).returncode == 0
    assert b'text="Milk and tea"' in connected.run("shell", "uiautomator dump /dev/tty").stdout
