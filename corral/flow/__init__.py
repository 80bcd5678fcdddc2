"""The flow language: Maestro's YAML, as far as it is built here, turned into commands that can be run.

The control plane parses a flow when it is submitted, so that whoever wrote it hears of every mistake at once; the host
parses the same text again and runs it. Parsing is pure: no file, clock or network is read. Whatever is wrong with the
text, a `FlowError` says what, where, and what would be right.

    source ──yaml_tree──► nodes with lines ──parser──► commands (commands/) ──► Flow

`limits` bounds all of it; `docs/reference/flows.md` is the reference for those who write flows.
"""
