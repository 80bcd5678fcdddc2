"""An emulated phone: an adbd over TCP that an unmodified adb server takes for an Android device.

    adb server ── TCP ── adbd ── shell ── phone ── app ── picture
                         the wire  commands  state   screens  PNG

It is the device of the embedded default and the bench of the tests: apps are described in YAML,
faults can be ordered, and everything that was asked of the phone is in its log.
"""
