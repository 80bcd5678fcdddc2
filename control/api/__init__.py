"""The edge over HTTP: `/v1` for people and programs, `/internal/v1` for hosts.

A route reads the request, calls one operation and answers with a contract model. Handlers are plain functions that run
in threads, as many as there are database connections; async are those that wait, or that ask first whether their caller
still listens. Whatever goes wrong becomes a problem document in `problems.py`, and nowhere else.
"""
