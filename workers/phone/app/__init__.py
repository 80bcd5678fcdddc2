"""Apps described in YAML: what one may say (description), where things stand (layout), what happens (running)."""
