"""The edge over HTTP: `/v1` for people and programs, `/internal/v1` for hosts.

A route reads the request, calls one operation and answers with a contract model. Handlers are plain functions that run
in threads, as many as there are database connections; only the claim, which waits, is async. Whatever goes wrong
becomes a problem document in `problems.py`, and nowhere else.
"""
