"""What only HTTP can get wrong: addresses, methods, media types."""

from control.domain.errors import Refusal
from corral.contract.problems import ProblemCode


class RouteNotFound(Refusal):
    """Look into /openapi.json for the addresses that exist."""

    code = ProblemCode.ROUTE_NOT_FOUND


class MethodNotAllowed(Refusal):
    """Use one of the methods that the `Allow` header names."""

    code = ProblemCode.METHOD_NOT_ALLOWED


class UnsupportedMediaType(Refusal):
    """Send JSON, and say so in `Content-Type`."""

    code = ProblemCode.UNSUPPORTED_MEDIA_TYPE
