"""Benchmarks: ratios measured side by side in one run, since figures of one machine say little about another.

`make bench` runs all, `make bench BENCH=renewals` one. Each prints a table and writes `build/bench/<name>.json`.
"""
