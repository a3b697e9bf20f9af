-- A body of 16 KiB.
wrk.method = "POST"
wrk.body = string.rep("u", 16384)
wrk.headers["Content-Type"] = "application/octet-stream"
