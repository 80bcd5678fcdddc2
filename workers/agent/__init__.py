"""The agent: it pursues a goal in turns, and every turn can be cancelled.

    prompt ─► queue ─► turn: submit prompt ─► assemble prompt ─► session prefix
                         ┌────────────────────────────────────────────┘
                         ▼
                       step: pre-step ─► request ─► model stream ─► tools (approval, execution) ─► step result
                         ▲                                                                             │
                         └───────────────────────────── continuation ◄─────────────────────────────────┘
                                                             │
                                                             ▼
                                              turn stop ─► turn/end ─► log on disk

One `TurnCancellation` lives from before the arrow out of the queue until the log is on disk, and its signal is an
argument of everything in between. Nothing is abandoned: what was started is awaited, and idle means idle.
"""
