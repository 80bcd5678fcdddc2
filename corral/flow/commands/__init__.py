"""One frozen model per command, each with the function that reads it from its fields.

To add a command: a class here, its place in `union`, what it does in `workers/run`, a section in
`docs/reference/flows.md`; a test fails until all four are there.
"""
