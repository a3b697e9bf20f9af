"""Writes h2o's configuration and files into a folder, then becomes h2o.

Usage: serve.py PORT THREADS FOLDER [CERTIFICATE KEY]; BENCH_HOST is the address.

h2o serves files by its own handler, and what is computed by mruby.
"""

import os
import sys
from pathlib import Path

CONFIGURATION = """
num-threads: {threads}
max-connections: 4096
http1-request-timeout: 75
pid-file: {folder}/pid
error-log: {folder}/error.log
{user}
file.etag: OFF
file.mime.settypes:
  "text/plain; charset=utf-8": [".txt"]
  "application/json": [".json"]
# The answers carry the same fields as everyone's.
header.unset: Last-Modified
header.unset: Accept-Ranges
listen:
  host: {host}
  port: {port}
{tls}
hosts:
  default:
    paths:
      "/":
        file.dir: {folder}/root
        file.index: ["hello.txt"]
      "/json":
        file.file: {folder}/object.json
      "/64k":
        file.file: {folder}/64k.txt
      "/users":
        mruby.handler: |
          Proc.new do |env|
            text = "user " + env["PATH_INFO"][1..-1]
            [200, {{"content-type" => "text/plain; charset=utf-8",
                   "content-length" => text.length.to_s}}, [text]]
          end
      "/upload":
        mruby.handler: |
          Proc.new do |env|
            [200, {{"content-type" => "text/plain; charset=utf-8",
                   "content-length" => "2"}}, ["OK"]]
          end
"""

TLS = """  ssl:
    certificate-file: {certificate}
    key-file: {key}
ssl-session-resumption:
  mode: off
"""


def main() -> None:
    port, threads, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    (folder / "root").mkdir(exist_ok=True)
    (folder / "root" / "hello.txt").write_text("Hello, World!")
    (folder / "object.json").write_text('{"message":"Hello, World!"}')
    (folder / "64k.txt").write_text("x" * 65536)
    tls = TLS.format(certificate=sys.argv[4], key=sys.argv[5]) if len(sys.argv) > 4 else ""
    # Started by root, h2o would change to a user who may not read the folder.
    text = CONFIGURATION.format(
        port=port,
        threads=threads,
        folder=folder,
        tls=tls,
        host=os.environ.get("BENCH_HOST", "127.0.0.1"),
        user="user: root" if os.geteuid() == 0 else "",
    )
    (folder / "h2o.conf").write_text(text)
    os.execvp("h2o", ["h2o", "-c", str(folder / "h2o.conf")])


if __name__ == "__main__":
    main()
