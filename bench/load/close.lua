-- A connection for each request. The field comes last: the raw C servers look there.
dofile("bench/load/plain.lua")
local text
init = function()
  text = "GET " .. wrk.path .. " HTTP/1.1\r\nHost: " .. wrk.host .. "\r\nConnection: close\r\n\r\n"
end
request = function() return text end
