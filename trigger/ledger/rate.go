package ledger

import (
	"fmt"
	"time"

	"earshot/repositories"
)

// rateLua defines overRate(limits, rates, srates, add), which counts what is about to be
// stored, or matched as a draft, against the limits of its app and of its session. It returns nil, or the reply
// 'limited' with limit, most (its number) and pause (ms), with the pause until there is room; what is
// refused is not counted. limits are those of the app, as Limits.Rates writes them; srates
// is nil without a session. add has the numbers messages, triggers, drafts and bytes; what an agent
// says counts as bytes alone, and apart from what the users of the app store.
//
// A minute begins with the first thing that is counted after the last minute was over.
// Thus no more than the limit pass in any flood, the pause that is told is exact, and one
// hash with an expiry is all that is kept. What alone is more than the limit on bytes
// passes when nothing else has in its minute: else it never would.
//
// An app that was written before it had rates has the defaults.
var rateLua = `
local defaultRates = '` + repositories.Limits{}.Rates() + `'
local defaultDrafts = tonumber(string.match(defaultRates, '%d+$'))
local function minute(key)
  local read = redis.call('HMGET', key, 'messages', 'triggers', 'bytes', 'agent', 'drafts')
  return {key = key, new = not (read[1] or read[2] or read[3] or read[4] or read[5]), counts = {},
    messages = tonumber(read[1]) or 0, triggers = tonumber(read[2]) or 0, bytes = tonumber(read[3]) or 0, agent = tonumber(read[4]) or 0,
    drafts = tonumber(read[5]) or 0}
end
local function overRate(limits, rates, srates, add)
  local most = {}
  for word in string.gmatch(limits or defaultRates, '%S+') do most[#most + 1] = tonumber(word) end
  most[7] = most[7] or defaultDrafts -- an app that an older version wrote has none
  local app, session = minute(rates), srates and minute(srates)
  local function over(name, of, field, limited)
    local by = add[field == 'agent' and 'bytes' or field]
    if not of or not by or by <= 0 or limited <= 0 then return end
    if of[field] > 0 and of[field] + by > limited then
      return {'limited', 'limit', name, 'most', tostring(limited), 'pause', tostring(math.max(1, redis.call('PTTL', of.key)))}
    end
    table.insert(of.counts, field)
    table.insert(of.counts, of[field] + by)
  end
  local bytes = add.agent and 'agent' or 'bytes'
  local refused = not add.agent and (
      over('sessionMessagesPerMinute', session, 'messages', most[2]) or over('messagesPerMinute', app, 'messages', most[1])
      or over('sessionDraftsPerMinute', session, 'drafts', most[7])
      or over('sessionTriggersPerMinute', session, 'triggers', most[4]) or over('triggersPerMinute', app, 'triggers', most[3]))
    or over('bytesPerMinute', session, bytes, most[6]) or over('bytesPerMinute', app, bytes, most[5])
  if refused then return refused end
  for _, of in ipairs({app, session}) do
    if #of.counts > 0 then
      redis.call('HSET', of.key, unpack(of.counts))
      if of.new then redis.call('PEXPIRE', of.key, 60000) end
    end
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
