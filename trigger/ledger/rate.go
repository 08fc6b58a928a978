package ledger

import (
	"fmt"
	"time"

	"earshot/repositories"
)

// rateLua defines overRate(app, rates, srates, add), which counts what is about to be
// stored against the limits of its app and of its session. It returns nil, or the reply
// 'limited' with limit, most (its number) and pause (ms), with the pause until there is room; what is
// refused is not counted. srates is nil without a session. add has the numbers messages,
// triggers and bytes; what an agent says counts as bytes alone, and apart from what the
// users of the app store.
//
// A minute begins with the first thing that is counted after the last minute was over.
// Thus no more than the limit pass in any flood, the pause that is told is exact, and one
// hash with an expiry is all that is kept. What alone is more than the limit on bytes
// passes when nothing else has in its minute: else it never would.
//
// An app that was written before it had rates has the defaults.
var rateLua = `
local defaultRates = '` + repositories.Limits{}.Rates() + `'
local function overRate(app, rates, srates, add)
  local most, counted = {}, {}
  for word in string.gmatch(redis.call('HGET', app, 'limits') or defaultRates, '%S+') do most[#most + 1] = tonumber(word) end
  local function limit(name, key, field, by, limited)
    if key and by and by > 0 and limited > 0 then
      counted[#counted + 1] = {name = name, key = key, field = field, by = by, most = limited}
    end
  end
  if not add.agent then
    limit('sessionMessagesPerMinute', srates, 'messages', add.messages, most[2])
    limit('messagesPerMinute', rates, 'messages', add.messages, most[1])
    limit('sessionTriggersPerMinute', srates, 'triggers', add.triggers, most[4])
    limit('triggersPerMinute', rates, 'triggers', add.triggers, most[3])
  end
  limit('bytesPerMinute', srates, add.agent and 'agent' or 'bytes', add.bytes, most[6])
  limit('bytesPerMinute', rates, add.agent and 'agent' or 'bytes', add.bytes, most[5])
  for _, c in ipairs(counted) do
    local used = tonumber(redis.call('HGET', c.key, c.field)) or 0
    if used > 0 and used + c.by > c.most then
      return {'limited', 'limit', c.name, 'most', tostring(c.most), 'pause', tostring(math.max(1, redis.call('PTTL', c.key)))}
    end
  end
  for _, c in ipairs(counted) do
    redis.call('HINCRBY', c.key, c.field, c.by)
    if redis.call('PTTL', c.key) < 0 then redis.call('PEXPIRE', c.key, 60000) end
  end
end
`

// RateError is a rate limit error: an app or a session has posted as much as it may in a
// minute. Nothing was stored.
type RateError struct {
	Limit      string        // as settings.limits names it
	Most       int           // its number, for the app or the session
	RetryAfter time.Duration // until there is room
}

// Error names the limit, the pause and the way out.
func (e *RateError) Error() string {
	return fmt.Sprintf("%s is reached, which is %d: nothing was stored, try again in %s; settings.limits.%[1]s of the app raises it, and null takes it off",
		e.Limit, e.Most, e.RetryAfter.Round(time.Second))
}

// readLimited reads the reply of a script that has refused.
func readLimited(v values) error {
	return &RateError{Limit: v.text("limit"), Most: v.number("most"), RetryAfter: v.duration("pause")}
}
