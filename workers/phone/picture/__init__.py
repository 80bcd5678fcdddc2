"""Draws frames as PNG, so that a person can follow what happens on the phone."""
