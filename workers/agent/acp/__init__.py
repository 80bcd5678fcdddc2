"""The agent as an editor sees it: the Agent Client Protocol, one conversation for each of its sessions.

    session/prompt ─► Conversation ─► agent.prompt ─► waits for the device ─► turn ─► outcome ─┐
    session/update ◄─ Updates (a queue, written in order) ◄─ what the agent records           │ all updates written?
    session/request_permission ◄─► Permissions ◄─ the approval hook                            ▼
    stop reason ◄───────────────────────────────────────────────────────────────────────────── then, and not before

`session/cancel` is a cancel by the `user`. All conversations share one device, on which one turn runs at a time. When
the client is gone, every agent is disposed of and the server has ended only when all of them have settled.
"""
