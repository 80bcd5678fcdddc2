"""Puts the control plane's API together: settings, logs, the plane, keepers in the background, the server."""
