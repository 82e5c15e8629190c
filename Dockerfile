# One image for web, worker and beat; the command selects.
# With a digest: make digests prints it, and compose.yaml passes it on.
ARG PYTHON_IMAGE=python:3.11-slim

FROM ${PYTHON_IMAGE} AS packages
COPY requirements.txt .
RUN pip install --no-cache-dir --require-hashes --prefix=/packages -r requirements.txt

FROM ${PYTHON_IMAGE}
RUN groupadd --gid 10001 evalsvc && useradd --uid 10001 --gid evalsvc --create-home evalsvc \
 && install -d -o evalsvc -g evalsvc /data /data/files /static
COPY --from=packages /packages /usr/local
WORKDIR /app
COPY manage.py ./
COPY docs ./docs
COPY evalsvc ./evalsvc
COPY annotation ./annotation
COPY workers ./workers
RUN python -m compileall -q annotation evalsvc workers
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 EVALSVC_DATA=/data STATIC_ROOT=/static
USER evalsvc
RUN python manage.py collectstatic --no-input && rm -f /data/secret_key
VOLUME /data
EXPOSE 8000
STOPSIGNAL SIGTERM
CMD ["python", "manage.py", "supervise", "web"]
