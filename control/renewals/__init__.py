"""The hot path: every running task asks here, several times in each lease, whether it may go on.

    RenewalRoutes ──► Renewals ──┬─ KnownLeases    this process renewed it a moment ago, and heard of nothing since
     (plain ASGI)                ├─ LeaseCache     another process did: Redis says until when
                                 └─ Coalescer ───► one UPDATE for all that wait, in Postgres

Postgres is the truth, and at the latest a third of a lease after the last time it is asked again. What comes in between
is answered by the two caches, and they only ever say that there is *nothing new*: whatever is new (a cancel, a lost
lease) is read from Postgres, so no cache can stop a task that nobody cancelled or keep a lost lease alive.
"""
