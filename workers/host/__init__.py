"""The process of a device host: its loops, its slots, its life from the lock on its folder to the last heartbeat.

    lock ─► register ─► deliver the spool ─► heartbeat (new incarnation) ─► claims ─► … ─► drain ─► last heartbeat

Reports of the former life go out before the new one is announced, and nothing is claimed or touched before the control
plane has acknowledged it: that is the moment at which the leases of the former life end.
"""
