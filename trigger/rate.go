package trigger

import (
	"fmt"
	"time"
)

// rateLua defines overRate(app, rate, srate), which counts a new message against the
// limits of its app and of its session, and returns the limit that is reached with
// the pause (ms) until there is room. What is refused is not counted.
//
// A minute begins with the first message after the last minute was over. Thus no more
// than the limit pass in any flood, the pause that is told is exact, and one counter
// with an expiry is all that is kept.
const rateLua = `
local function full(key, limit)
  if limit == 0 or (tonumber(redis.call('GET', key)) or 0) < limit then return nil end
  return math.max(1, redis.call('PTTL', key))
end
local function count(key, limit)
  if limit > 0 and redis.call('INCR', key) == 1 then redis.call('PEXPIRE', key, 60000) end
end
local function overRate(app, rate, srate)
  local limits = redis.call('HMGET', app, 'rate', 'srate')
  local most, smost = tonumber(limits[1] or '') or 0, tonumber(limits[2] or '') or 0
  local pause = full(srate, smost)
  if pause then return 'sessionMessagesPerMinute', pause end
  pause = full(rate, most)
  if pause then return 'messagesPerMinute', pause end
  count(srate, smost)
  count(rate, most)
end
`

// RateError means that an app or a session has posted as many messages as it may in a
// minute. Nothing was stored.
type RateError struct {
	Limit      string        // as settings.limits names it
	RetryAfter time.Duration // until there is room
}

// Error names the limit and the pause.
func (e *RateError) Error() string {
	return fmt.Sprintf("%s is reached: nothing was stored, try again in %s", e.Limit, e.RetryAfter.Round(time.Second))
}
