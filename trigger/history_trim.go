package trigger

// trimmed is how many messages leave the history at most as one comes: more than one, so
// that a number that was lowered, or was held up by a message under way, is reached.
const trimmed = "16"

// trimLua defines trim(order, turns, most, session), which lets the oldest messages of a
// session leave its history where there are more than most. One that is not decided, or
// that a replica works on, stays, and with it all that came later. session is how the
// names of its turns begin. It needs DueLua.
const trimLua = `
local function trim(order, turns, most, session)
  for _ = 1, ` + trimmed + ` do
    if redis.call('LLEN', order) <= most then return end
    local old = redis.call('LINDEX', order, 0)
    local lease = redis.call('HGET', turns, 'u:' .. old)
    if redis.call('ZSCORE', ledger.turns, session .. old) or lease and tonumber(lease) > now() then return end
    redis.call('LPOP', order)
    for letter in string.gmatch('mthkucdxaprfv', '.') do redis.call('HDEL', turns, letter .. ':' .. old) end
    redis.call('HINCRBY', turns, 'left', 1)
  end
end
`
