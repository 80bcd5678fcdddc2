"""What the control plane does without being asked over HTTP: Celery runs it, Postgres decides whether it is due.

    beat ── tick ──► Redis ──► worker ──► is the job due? (cadence row) ──► operation
    API ─ doorbell ─ gate ───►        ──► reopen the gate ────────────────► operation

Redis carries names of jobs and nothing else. Every message may be lost or come twice: an operation finds its work in
Postgres, and the next tick finds what a lost message was about.
"""
