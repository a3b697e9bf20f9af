-- A request as browsers send it: ten fields.
dofile("bench/load/plain.lua")
local fields = {
  ["User-Agent"] = "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0",
  ["Accept"] = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
  ["Accept-Language"] = "en-US,en;q=0.5",
  ["Accept-Encoding"] = "identity",
  ["Referer"] = "http://bench.example/index.html",
  ["Cookie"] = "session=0123456789abcdef0123456789abcdef; theme=dark",
  ["Upgrade-Insecure-Requests"] = "1",
  ["Sec-Fetch-Site"] = "same-origin",
  ["Cache-Control"] = "max-age=0",
}
for name, value in pairs(fields) do wrk.headers[name] = value end
