"""The session: what happened to an agent, one event per line, and the messages that follow from it.

The log is the only source of what a model is told: `replay.py` makes the messages of a running agent and those of a
log read from disk. An interrupted turn ends as `{"kind": "aborted"}` and no more; who asked for it is not kept.
"""
