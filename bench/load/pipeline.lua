-- Sixteen requests in one write.
dofile("bench/load/plain.lua")
local batch = {}
init = function()
  for index = 1, 16 do batch[index] = wrk.format("GET", "/") end
  batch = table.concat(batch)
end
request = function() return batch end
