"""A log for programs: levels, fields, JSON or text, and the request at hand."""

from flare.log.level import Level
from flare.log.line import LogLine
from flare.log.log import Log, Logger, LogSettings, RequestLog
from flare.log.sink import LogFormat, LogSink, StandardError, StandardOutput
from flare.log.with_log import WithLog
