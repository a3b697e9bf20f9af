-- A connection for each request.
dofile("bench/load/plain.lua")
wrk.headers["Connection"] = "close"
