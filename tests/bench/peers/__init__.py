"""What others do with a task that does nothing: enqueued one by one, run by their worker as it comes.

Each module has `prepare`, `enqueue` and `unfinished` for the benchmark, and is the worker when it is run as a program.
Every setting is the peer's own default.
"""
