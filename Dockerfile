# One image for every part: `docker run IMAGE api`, `jobs`, `beat`, `bridge`, `flower`, `host`, `phone`, `migrate`, …

FROM python:3.13-slim AS build
WORKDIR /build
ENV PIP_NO_CACHE_DIR=1 PIP_QUIET=1
# What runs and what builds are kept apart: the image gets the former alone.
RUN python3 -m venv --without-pip /opt/corral && python3 -m venv --without-pip /build/tools
COPY deploy/image/ deploy/image/
RUN python3 -m pip --python /opt/corral/bin/python install --require-hashes -r deploy/image/runtime.lock \
 && python3 -m pip --python /build/tools/bin/python install --require-hashes -r deploy/image/build.lock
COPY . .
RUN python3 -m pip --python /build/tools/bin/python wheel --no-deps --no-build-isolation --wheel-dir dist . \
 && python3 -m pip --python /opt/corral/bin/python install --no-deps dist/*.whl

FROM python:3.13-slim
# Numbers, for a cluster that wants to see by them that this is not root.
RUN groupadd --gid 10001 corral \
 && useradd --uid 10001 --gid 10001 --home-dir /var/lib/corral --no-create-home --shell /usr/sbin/nologin corral \
 && install --directory --owner corral --group corral --mode 0750 \
      /var/lib/corral /var/lib/corral/artifacts /var/lib/corral/host
COPY --from=build /opt/corral /opt/corral
ENV PATH=/opt/corral/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    HOME=/var/lib/corral \
    CORRAL_ADDRESS=0.0.0.0 \
    CORRAL_ARTIFACTS_DIR=/var/lib/corral/artifacts \
    CORRAL_LOG_FORMAT=json \
    CORRAL_HOST_STATE_DIR=/var/lib/corral/host \
    CORRAL_HOST_LOG_FORMAT=json
USER 10001:10001
WORKDIR /var/lib/corral
ENTRYPOINT ["corral"]
CMD ["--help"]
