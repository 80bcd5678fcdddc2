"""Runs a flow on a device, step by step, until it is done, fails, or is told to stop.

    stop asked? ──► checkpoint ──► step ──► stop asked? ──► checkpoint ──► … ──► RunResult
         │                          │ fails
         └─► cancelled | failed     └─► optional: a warning; retry: once more; else failed, with a screenshot

There is one way to stop, asked before each step and in every wait: an action that was sent is never cut off. Success
wins: when the last step has ended, the run is done whatever was asked. The runner knows no lease; whether the device
may still be touched is asked by the device before each action, and its refusal ends the run.
"""
