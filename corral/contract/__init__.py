"""The words that both sides speak: models of the public API, of the host protocol, and of problems.

This room is the floor: pydantic only, and nothing of ours. Requests of the public API refuse unknown fields, for a typo
is an error; the host protocol is read tolerantly, for either side may be a version older.
"""
