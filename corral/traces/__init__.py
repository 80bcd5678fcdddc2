"""Traces: what is done for one task, in whichever process, seen as one picture in time.

    span("attempt", task_id) ─► FinishedSpan ─► OpenTelemetry's batch ─► OTLP over HTTP ─► whatever keeps traces

A trace is named by its task: the trace id is the task's UUID, and the id of its root span is the lower half of that. So
each process knows both by itself, nothing of traces is kept or sent along, and whoever has a task id finds its trace.

Off unless OpenTelemetry's own variables say where traces go. Until then `corral.traces.otlp` is not imported, which
alone knows OpenTelemetry, and a span is one shared object that does nothing.
"""
