# Private Release in a container: podman build -t private-release . (or docker build)
# The ledger, notes of what was seen of it, and uploads live in volumes: see docs/deploy.md.
FROM python:3.11-slim
WORKDIR /srv/private-release
COPY requirements.txt .
RUN pip install --no-cache-dir -r requirements.txt \
    && useradd --system --uid 1000 release \
    && install -d -o release -m 700 /var/lib/private-release /var/lib/private-release-state /var/spool/private-release
COPY app.py LICENSE ./
COPY .streamlit/config.toml .streamlit/
COPY data data
COPY dpengine dpengine
COPY pages pages
# Else every start would compile them again: the program may not write there.
RUN python -m compileall -q app.py dpengine pages
USER 1000
# Nothing here is secret: the rule takes PRIVATE in the name of the program for a key.
# hadolint ignore=DL3064
ENV PRIVATE_RELEASE_LEDGER=sqlite:////var/lib/private-release/ledger.db \
    PRIVATE_RELEASE_STATE=/var/lib/private-release-state \
    TMPDIR=/var/spool/private-release \
    PYTHONDONTWRITEBYTECODE=1
VOLUME /var/lib/private-release /var/lib/private-release-state /var/spool/private-release
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s CMD \
    ["python", "-c", "import urllib.request as u; u.build_opener(u.ProxyHandler({})).open('http://127.0.0.1:8501/health', timeout=8)"]
CMD ["streamlit", "run", "app.py", "--server.address", "0.0.0.0", "--server.headless", "true"]
