"""All settings, read from the environment; an invalid value stops the start."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import environ
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from whitenoise.compress import Compressor

from evalsvc import __version__
from evalsvc.environment import (
    PRIVATE_FOLDER,
    PRIVATE_UMASK,
    env_bool,
    env_choice,
    env_database,
    env_folder,
    env_for_sign_on,
    env_int,
    env_level,
    env_mail,
    env_object,
    secret_key,
)
from evalsvc.logs import logging_config

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()

# ---- data folder and security ------------------------------------------------------------------
os.umask(PRIVATE_UMASK)  # database, logs and uploads are for the service alone
DATA_DIR = env_folder("EVALSVC_DATA", default=BASE_DIR / ".data")

DEBUG = env_bool("DEBUG", default=False)
HTTPS = env_bool("EVALSVC_HTTPS", default=False)
if HTTPS and DEBUG:
    raise ImproperlyConfigured(
        "EVALSVC_HTTPS and DEBUG exclude each other: DEBUG shows settings to visitors."
    )
if HTTPS and not os.environ.get("SECRET_KEY"):
    raise ImproperlyConfigured("EVALSVC_HTTPS needs a SECRET_KEY of 50 characters or more.")
SECRET_KEY = secret_key(DATA_DIR)
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])
VERSION = __version__

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_htmx",
    "csp",
    "evalsvc",
    "django.contrib.admin.apps.SimpleAdminConfig",  # after evalsvc, whose templates replace some of its own
    "evalsvc.core.web",
    "evalsvc.core.jobs",
    "evalsvc.core.accounts",
    "evalsvc.core.activity",
    "annotation",
    "evalsvc.evaluation",
]
MIDDLEWARE = [
    "evalsvc.core.log_context.RequestIdMiddleware",
    "evalsvc.core.accounts.sessions.RejectionLogMiddleware",
    "evalsvc.core.web.middleware.HttpsApiMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "evalsvc.core.web.middleware.ApiConditionalGetMiddleware",
    "evalsvc.core.errors.handlers.ProblemMiddleware",
    "evalsvc.core.web.middleware.TruncatedBodyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "evalsvc.core.accounts.sessions.SessionLifetimeMiddleware",
    "django.middleware.common.CommonMiddleware",
    "evalsvc.core.web.middleware.BodyLimitMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "evalsvc.core.web.middleware.StorableTextMiddleware",
    "evalsvc.core.web.middleware.UnknownNamesMiddleware",
]
ROOT_URLCONF = "evalsvc.urls"
WSGI_APPLICATION = "evalsvc.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "evalsvc.home.page_context",
            ],
        },
    }
]

# ---- storage -----------------------------------------------------------------------------------
DATABASES: dict[str, dict[str, Any]] = {
    "default": env_database("DATABASE_URL", default=f"sqlite:///{DATA_DIR / 'evalsvc.sqlite3'}")
}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # IMMEDIATE and WAL keep parallel writers from failing with "database is locked".
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;PRAGMA foreign_keys=ON;",
    }
    DATABASES["default"]["TEST"] = {"NAME": DATA_DIR / "test.sqlite3"}
else:
    DATABASES["default"] |= {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True}
    if env_bool("DATABASE_PREPARES", default=True):  # PostgreSQL keeps the plans of repeated queries
        options = DATABASES["default"].setdefault("OPTIONS", {})
        options |= {"server_side_binding": True, "prepare_threshold": 2}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

STORAGES: dict[str, dict[str, Any]] = {
    "default": {
        "BACKEND": os.environ.get("STORAGE_BACKEND") or "evalsvc.core.storage.WholeFileStorage",
        "OPTIONS": env_object("STORAGE_OPTIONS"),
    },
    "staticfiles": {"BACKEND": "evalsvc.core.web.static_storage.HashedStaticFilesStorage"},
}
MEDIA_ROOT = DATA_DIR / "files"
MEDIA_URL = "/files-are-never-served-directly/"
STATIC_URL = "/static/"
STATICFILES_FINDERS = ["evalsvc.core.web.static_storage.UsedFilesFinder"]
WHITENOISE_KEEP_ONLY_HASHED_FILES = True
WHITENOISE_SKIP_COMPRESS_EXTENSIONS = [*Compressor.SKIP_COMPRESS_EXTENSIONS, "map"]  # for developers only
STATIC_ROOT = Path(os.environ.get("STATIC_ROOT", DATA_DIR / "static"))
# Temporary files of uploads, in a folder of their own: those of killed processes are removed.
FILE_UPLOAD_TEMP_DIR = DATA_DIR / "uploads"
FILE_UPLOAD_TEMP_DIR.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
FILE_UPLOAD_PERMISSIONS, FILE_UPLOAD_DIRECTORY_PERMISSIONS = 0o600, PRIVATE_FOLDER

# ---- limits, listed by GET /api/v1/limits --------------------------------------------------------
UPLOAD_MAX_BYTES = env_int("UPLOAD_MAX_BYTES", default=200_000_000, least=1)
UPLOAD_MAX_UNPACKED_BYTES = env_int("UPLOAD_MAX_UNPACKED_BYTES", default=2_000_000_000, least=1)
UPLOAD_DAY_BYTES = max(env_int("UPLOAD_DAY_BYTES", default=5_000_000_000), UPLOAD_MAX_UNPACKED_BYTES)
UPLOAD_MAX_LINES = env_int("UPLOAD_MAX_LINES", default=20_000_000, least=1)
UPLOAD_MAX_LINE_BYTES = env_int("UPLOAD_MAX_LINE_BYTES", default=4_000_000, least=1)
# Checks without submitting, per person.
CHECKS_PER_HOUR = env_int("CHECKS_PER_HOUR", default=60, least=1)
CHECK_SECONDS = env_int("CHECK_SECONDS", default=30, least=1)
# An import holds about 400 bytes of each line in memory, to detect duplicates.
IMPORT_MAX_LINES = min(env_int("IMPORT_MAX_LINES", default=2_000_000, least=1), UPLOAD_MAX_LINES)
# Threads of one web process; long polls may occupy a quarter of them.
WEB_THREADS = env_int("WEB_THREADS", default=4, least=1)
WAIT_MAX_SECONDS = env_int("WAIT_MAX_SECONDS", default=20)
# Models run where a worker's self-test passes; `off` rejects them everywhere.
MODEL_UPLOADS = env_choice("MODEL_UPLOADS", "auto", "off")
MODEL_MAX_BYTES = env_int("MODEL_MAX_BYTES", default=200_000_000, least=1)
MODEL_MAX_FILES = env_int("MODEL_MAX_FILES", default=200, least=1)
MODEL_SECONDS = env_int("MODEL_SECONDS", default=600, least=1)
MODEL_MEMORY_BYTES = env_int("MODEL_MEMORY_BYTES", default=4_000_000_000, least=100_000_000)
MODEL_RESULT_BYTES = env_int("MODEL_RESULT_BYTES", default=200_000_000, least=1)
DATA_UPLOAD_MAX_MEMORY_SIZE = 5_000_000
FILE_UPLOAD_MAX_MEMORY_SIZE = 1_000_000
DATA_UPLOAD_MAX_NUMBER_FIELDS = 2_000

# ---- accounts ----------------------------------------------------------------------------------
AUTH_USER_MODEL = "teams.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
AUTH_PASSWORD_VALIDATORS += [{"NAME": "evalsvc.core.accounts.passwords.ServiceWordValidator"}]
PASSWORD_HASHERS = ["evalsvc.core.accounts.passwords.Hasher"]
AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend"]
SIGN_UP = env_choice("SIGN_UP", "invitation", "open", "closed")
TEAMS_PER_PERSON = env_int("TEAMS_PER_PERSON", default=3, least=1)
# Wrong passwords in 15 minutes: this many per person and network, 5 times per person, 10 times per network.
PASSWORD_TRIES = env_int("PASSWORD_TRIES", default=10, least=1)
# Number of proxies that append to X-Forwarded-For; with 0 the header is ignored.
TRUSTED_PROXIES = env_int("TRUSTED_PROXIES", default=0)
PASSWORD_RESET_TIMEOUT = 86_400
# Sessions end after so many hours without a request, and so many after the log-in.
SESSION_COOKIE_AGE = 3_600 * env_int("SESSION_IDLE_HOURS", default=72, least=1)
SESSION_LIFETIME = 3_600 * env_int("SESSION_HOURS", default=336, least=1)
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "home"

# ---- mail: password resets and invitations -------------------------------------------------------
globals().update(env_mail("EMAIL_URL"))
EMAIL_TIMEOUT = 10
MAIL_IN_REQUEST = False  # tests look into the outbox at once
DEFAULT_FROM_EMAIL = SERVER_EMAIL = os.environ.get("EMAIL_FROM") or "evalsvc@localhost"

# ---- single sign-on: off unless a client id is set -----------------------------------------------
OIDC_RP_CLIENT_ID = os.environ.get("OIDC_CLIENT_ID", "")
SINGLE_SIGN_ON = bool(OIDC_RP_CLIENT_ID)
OIDC_TITLE = (os.environ.get("OIDC_TITLE") or "single sign-on") if SINGLE_SIGN_ON else ""
if SINGLE_SIGN_ON:
    OIDC_RP_CLIENT_SECRET = env_for_sign_on("OIDC_CLIENT_SECRET")
    OIDC_ISSUER = env_for_sign_on("OIDC_ISSUER")
    OIDC_OP_AUTHORIZATION_ENDPOINT = env_for_sign_on("OIDC_AUTHORIZATION_URL")
    OIDC_OP_TOKEN_ENDPOINT = env_for_sign_on("OIDC_TOKEN_URL")
    OIDC_OP_USER_ENDPOINT = env_for_sign_on("OIDC_USERINFO_URL")
    OIDC_OP_JWKS_ENDPOINT = env_for_sign_on("OIDC_JWKS_URL")
    OIDC_RP_SIGN_ALGO = env_choice("OIDC_SIGN_ALGO", "RS256", "ES256", "HS256")
    # Create accounts for users of the provider without an invitation.
    OIDC_OPENS_ACCOUNTS = env_bool("OIDC_OPENS_ACCOUNTS", default=SIGN_UP == "open")
    OIDC_RP_SCOPES, OIDC_USE_PKCE, OIDC_TIMEOUT = "openid email profile", True, 5
    OIDC_AUTHENTICATION_CALLBACK_URL = "single-sign-on-back"
    LOGIN_REDIRECT_URL_FAILURE = "/login/?refused=single-sign-on"
    AUTHENTICATION_BACKENDS += ["evalsvc.core.accounts.single_sign_on.Provider"]

# ---- response headers ----------------------------------------------------------------------------
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "object-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
# Browsers take a cookie of this prefix from this host over HTTPS alone, not from its subdomains.
COOKIE_PREFIX = "__Host-" if HTTPS else ""
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = f"{COOKIE_PREFIX}sessionid", f"{COOKIE_PREFIX}csrftoken"
MESSAGE_STORAGE = "evalsvc.core.web.views.MessageStorage"
CSRF_FAILURE_VIEW = "evalsvc.core.errors.handlers.csrf_failure"
if HTTPS:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_SSL_REDIRECT = SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = True
    SECURE_REDIRECT_EXEMPT = [r"^(healthz|readyz|metrics)$"]
    SECURE_HSTS_SECONDS = env_int("HSTS_SECONDS", default=31_536_000)
    # These also bind all subdomains, including the operator's other hosts, so they are off by default.
    SECURE_HSTS_INCLUDE_SUBDOMAINS = env_bool("HSTS_SUBDOMAINS", default=False)
    SECURE_HSTS_PRELOAD = env_bool("HSTS_PRELOAD", default=False)
    SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]  # both are off on purpose

# ---- API ---------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "evalsvc.core.accounts.token_authentication.TokenAuthentication",
        "evalsvc.core.accounts.token_authentication.PageSession",
    ],
    "DEFAULT_PERMISSION_CLASSES": [
        "rest_framework.permissions.IsAuthenticated",
        "evalsvc.core.accounts.token_authentication.TokenTeam",
        "evalsvc.core.accounts.token_authentication.TokenScope",
        "evalsvc.core.web.unknown_names.NoUnknownBody",
    ],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["evalsvc.core.web.json_parser.StorableJSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "evalsvc.core.errors.handlers.problem_response",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    # links nested in buttons are not accessible
    "SWAGGER_UI_SETTINGS": {"deepLinking": False},
    "TITLE": "evalsvc",
    "DESCRIPTION": "Label, freeze, submit, score, compare.",
    "VERSION": __version__,
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    **dict.fromkeys(("SWAGGER_UI_DIST", "SWAGGER_UI_FAVICON_HREF"), "SIDECAR"),
    "COMPONENT_SPLIT_REQUEST": True,
    "POSTPROCESSING_HOOKS": ["drf_spectacular.hooks.postprocess_schema_enums", "evalsvc.openapi.complete"],
    "ENUM_NAME_OVERRIDES": {
        "KindEnum": "annotation.testset.Kind",
        "SubmissionState": "evalsvc.evaluation.models.Submission.State",
        "ProjectState": "annotation.models.Project.State",
        "ImportState": "annotation.models.Batch.State",
        "ItemState": "annotation.models.Item.State",
        "TestSetState": "annotation.testset.TestSet.State",
        "ProjectRole": "annotation.models.Member.Role",
        "CompanionRole": "annotation.testset.Companion.Role",
        "PhaseEnum": "evalsvc.evaluation.models.Setting.Phase",
        "FilePhase": ["dev", "test", "both"],
    },
}


# ---- jobs ----------------------------------------------------------------------------------------
JOB_LEASE_SECONDS = env_int("JOB_LEASE_SECONDS", default=10, least=2)
JOB_HEARTBEAT_SECONDS = env_int("JOB_HEARTBEAT_SECONDS", default=3, least=1)
JOB_RECONCILE_SECONDS = env_int("JOB_RECONCILE_SECONDS", default=3, least=1)
JOB_TIME_LIMIT = env_int("JOB_TIME_LIMIT", default=3_300, least=60)
JOB_MEMORY_BYTES = env_int("JOB_MEMORY_BYTES", default=2_000_000_000)
# Serve /metrics to everybody who reaches the web server; keep it from the outside by the proxy.
METRICS = env_bool("METRICS", default=False)
# With less free space in the data folder /readyz answers 503.
FREE_BYTES_LEAST = env_int("FREE_BYTES_LEAST", default=1_000_000_000)
# Sweep, and check a sixteenth of all files and test sets; 0: never.
UPKEEP_SECONDS = env_int("UPKEEP_SECONDS", default=3_600)
# Days that replaced jobs, used invitations and revoked tokens stay; 0: for ever.
KEEP_DAYS = env_int("KEEP_DAYS", default=90)
JOB_APP = "evalsvc.celery.app"
JOB_QUEUES = ("score", "heavy", "ingest")
# BROKER_URL, else REDIS_URL, else the embedded broker, else Redis on this machine
_embedded = DATA_DIR / "broker.url"
_fallback = _embedded.read_text().strip() if _embedded.exists() else "redis://127.0.0.1:6379/0"
CELERY_BROKER_URL = os.environ.get("BROKER_URL") or os.environ.get("REDIS_URL") or _fallback
# RabbitMQ keeps these queues on the disks of several machines; Redis has one kind only.
CELERY_TASK_QUEUES = {name: {"queue_arguments": {"x-queue-type": "quorum"}} for name in JOB_QUEUES}
CELERY_TASK_IGNORE_RESULT, CELERY_RESULT_EXPIRES = True, None  # beat would remove results each night
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_SOFT_TIME_LIMIT = JOB_TIME_LIMIT
CELERY_TASK_TIME_LIMIT = JOB_TIME_LIMIT + 60
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TIMEZONE = "UTC"
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# Replace a process after 200 tasks (of ticks, an hour or two), or when it exceeds this size (kB).
CELERY_WORKER_MAX_TASKS_PER_CHILD, CELERY_WORKER_MAX_MEMORY_PER_CHILD = 200, 1_000_000
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BEAT_SCHEDULER, CELERY_BEAT_SCHEDULE_FILENAME = "workers.beat:TickScheduler", str(DATA_DIR / "beat")
# A late tick is of no use.
CELERY_BEAT_SCHEDULE = {
    f"tick {queue}": {
        "task": "workers.run_next",
        "schedule": JOB_RECONCILE_SECONDS,
        "args": (queue,),
        "options": {"queue": queue, "expires": JOB_RECONCILE_SECONDS},
    }
    for queue in JOB_QUEUES
}
# Beat answers `celery inspect ping`, as workers do, unless it has not ticked for so many seconds.
CELERY_BEAT_ENABLE_REMOTE_CONTROL, CELERY_BEAT_REMOTE_CONTROL_MAX_TICK_AGE = True, 30
# A broker restart must not kill jobs: the fence already keeps a second attempt from storing.
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_HEARTBEAT = 25
_options: dict[str, Any] = {}
if CELERY_BROKER_URL.startswith("amqp"):
    _options = {"confirm_publish": True, "connect_timeout": 2, "read_timeout": 30, "write_timeout": 30}
elif CELERY_BROKER_URL.startswith("redis"):
    # The timeout is above the hard time limit, so that a message is redelivered only if its worker is gone.
    _options = {"visibility_timeout": CELERY_TASK_TIME_LIMIT + 240, "unacked_restore_interval": 10}
    _options |= {"unacked_restore_throttle": 1, "socket_connect_timeout": 2, "socket_timeout": 30}
    _options |= {"health_check_interval": 25}
    # Publishing without a broker fails at once instead of after 6 s.
    _options |= {"max_retries": 1, "interval_start": 0, "interval_max": 0.1, "interval_step": 0.1}
    if not CELERY_BROKER_URL.startswith("redis+socket"):
        _options["socket_keepalive"] = True
CELERY_BROKER_TRANSPORT_OPTIONS = _options

# ---- language and time -------------------------------------------------------------------------
LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True
USE_THOUSAND_SEPARATOR = False

LOG_FORMAT = env_choice("LOG_FORMAT", "line", "json")
LOGGING = logging_config(env_level("LOG_LEVEL"), LOG_FORMAT)
