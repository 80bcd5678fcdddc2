"""Subagents: an agent hands a part of its goal to another, and waits for what comes of it.

    spawn_agent ─► SubagentRequest (goal, signal, what is left of the budget) ─► subagent hooks ─► child Agent ─► result
    ask_agent   ─►          the same                                          ─► subagent hooks ─► a process over ACP

A parent's cancel travels in the request: a child in this process is cancelled as `parent`, a process is sent its
protocol's own `session/cancel`. Either is awaited to its end and put away before the tool returns.
"""
