# The server, its page and its workers, with all extras that a deployment uses. See docs/scaling.md.
#
#   docker build --tag callboard .
#   docker build --tag callboard --build-arg EXTRAS=server,chat,cli,sql .
#
# An image with your own tools: FROM callboard, COPY the package to /app, and CMD ["serve", "--tools", "shop.tools:registry"].

ARG PYTHON=3.13-slim-bookworm

# The wheel, with the page built by Node, which the build installs.
FROM python:${PYTHON} AS wheel
WORKDIR /source
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY scripts/assets.py scripts/
COPY web web
COPY src src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

# The environment, with the versions that the tests have run with.
FROM python:${PYTHON} AS environment
ARG EXTRAS=server,chat,cli,sql,postgres,mcp,nats,http,telemetry
WORKDIR /build
COPY requirements/dev.txt ./
RUN python -m venv /opt/callboard \
  && sed -n 's/^\([A-Za-z0-9._-]*==[^ ;]*\).*/\1/p' dev.txt > versions.txt
COPY --from=wheel /wheels /wheels
RUN /opt/callboard/bin/pip install --no-cache-dir --constraint versions.txt \
  "callboard[${EXTRAS}] @ file://$(ls /wheels/callboard-*.whl)" \
  && /opt/callboard/bin/pip uninstall --yes pip

FROM python:${PYTHON}
RUN useradd --system --uid 10001 --home-dir /app --create-home callboard \
  && install --directory --owner callboard --group callboard /data
COPY --from=environment /opt/callboard /opt/callboard
ENV PATH=/opt/callboard/bin:$PATH \
  PYTHONUNBUFFERED=1 \
  PYTHONPATH=/app \
  CALLBOARD_HOST=0.0.0.0 \
  CALLBOARD_PORT=8000 \
  CALLBOARD_STORE=sqlite:////data/callboard.db
USER 10001
WORKDIR /app
VOLUME ["/data"]
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
  CMD ["python", "-c", "from os import environ; from urllib.request import urlopen; urlopen(f'http://127.0.0.1:{environ[\"CALLBOARD_PORT\"]}/healthz', timeout=4)"]
ENTRYPOINT ["callboard"]
CMD ["serve"]
