-- A body of 16 KiB.
dofile("bench/load/plain.lua")
wrk.method = "POST"
wrk.body = string.rep("u", 16384)
wrk.headers["Content-Type"] = "application/octet-stream"
