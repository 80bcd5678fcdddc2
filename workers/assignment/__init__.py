"""The life of one assignment on its host, from the claim to the acknowledged report.

    claimed ──► first renewal ──► execution ──► settled ──► spooled ──► acknowledged ──► device free
                    │                 ▲                                     │
                    └── renewals ─────┴── guard: should stop? may touch? ───┘

The lease is renewed from the claim until the report is acknowledged. The guard is the only thing that renewals and
execution share: renewals tell it what the control plane said, the run asks it before every step and every action.
"""
