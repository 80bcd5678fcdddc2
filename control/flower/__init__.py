"""Celery's world, for operators who live in it: device hosts as workers and device tasks as tasks in Flower.

    Postgres ─ events in order ─► bridge ─ batches ─► Redis ─► Flower
    Flower, any client ─ revoke, inspect ─► Redis ─► bridge ─► durable cancel, one merged answer

The bridge invents nothing: what it tells stands in Postgres, and what it is asked for becomes an operation.
"""
