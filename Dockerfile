# One image for every part: `docker run IMAGE api`, `jobs`, `beat`, `bridge`, `flower`, `host`, `phone`, `migrate`, …

FROM python:3.13-slim AS libraries
ENV PIP_NO_CACHE_DIR=1 PIP_QUIET=1
RUN python3 -m venv --without-pip /opt/corral
COPY deploy/image/runtime.lock /build/
RUN python3 -m pip --python /opt/corral/bin/python install --require-hashes -r /build/runtime.lock

FROM libraries AS build
WORKDIR /build
# What builds is kept apart from what runs.
RUN python3 -m venv --without-pip tools
COPY deploy/image/build.lock ./
RUN python3 -m pip --python tools/bin/python install --require-hashes -r build.lock
COPY . source
RUN python3 -m pip --python tools/bin/python wheel --no-deps --no-build-isolation --wheel-dir dist ./source \
 && python3 -m pip --python /opt/corral/bin/python install --no-deps --prefix /build/own dist/*.whl

FROM python:3.13-slim
# Numbers, for a cluster that wants to see by them that this is not root.
RUN groupadd --gid 10001 corral \
 && useradd --uid 10001 --gid 10001 --home-dir /var/lib/corral --no-create-home --shell /usr/sbin/nologin corral \
 && install --directory --owner corral --group corral --mode 0750 \
      /var/lib/corral /var/lib/corral/artifacts /var/lib/corral/jobs /var/lib/corral/host
# The libraries make up nearly all of it, and stay the same from one version to the next more often than not.
COPY --from=libraries /opt/corral /opt/corral
COPY --from=build /build/own/ /opt/corral/
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
