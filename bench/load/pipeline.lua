-- Several requests in one write; how many is the argument.
dofile("bench/load/plain.lua")
local batch
init = function(words)
  batch = {}
  for index = 1, tonumber(words[1]) do batch[index] = wrk.format("GET", wrk.path) end
  batch = table.concat(batch)
end
request = function() return batch end
