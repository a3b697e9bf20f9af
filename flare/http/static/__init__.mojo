"""Files of a folder as a handler."""

from flare.http.static.file_server import FileServer, FileServerConfig
