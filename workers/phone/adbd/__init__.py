"""The device's end of the adb protocol: packets, streams, services. Knows the wire, not the phone's screen.

host                          phone
 │ CNXN ─────────────────────► │   or AUTH … when the phone does not trust the host
 │ ◄───────────────────── CNXN │
 │ OPEN(local, "shell:ls") ──► │
 │ ◄──── OKAY(remote, local)   │   or CLSE(0, local): no such service
 │ ◄──── WRTE(remote, local)   │   one unacknowledged WRTE for each stream and direction
 │ OKAY(local, remote) ──────► │
 │ ◄──── CLSE(remote, local)   │
"""
