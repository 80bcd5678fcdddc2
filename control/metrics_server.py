"""The server of metrics under the name that the control plane's processes know it by."""

from corral.metrics_server import MetricsServer, metrics_served, serve_metrics

__all__ = ["MetricsServer", "metrics_served", "serve_metrics"]
