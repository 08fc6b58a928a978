package ledger

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"earshot/repositories"
	"earshot/repositories/keyspace"
)

// defaultRates are the limits of an app without settings.
var defaultRates = repositories.Settings{}.Rates()

// rateLua defines overRate(limits, rates, srates, add), which counts a use, or a draft's match, against the
// limits of its app and session. It returns nil, or the reply 'limited' with limit, most (its number) and pause
// (ms until it may be tried again); a refused use is not counted. limits are the app's, as Settings.Rates
// writes them; srates is nil without a session. add has the numbers messages, triggers, drafts, bytes and
// models (requests relayed to a model). An agent's message counts as bytes alone, apart from the bytes of the
// app's users. visitor marks a request by a session's token, whose model requests are limited like its
// messages.
//
// A minute begins with the first use after the last minute. Thus no burst exceeds the limit, the returned pause
// is exact, and one expiring hash is enough. A single use above the limit on bytes passes if it is alone in its
// minute: else it never would.
//
// An app without stored rates has the defaults.
var rateLua = `
local rated, most, unlimited
local function readRates(limits)
  rated, most, unlimited = limits, {}, true
  for word in string.gmatch(limits or '', '%S+') do most[#most + 1] = tonumber(word) end
  if #most < ` + strconv.Itoa(len(strings.Fields(defaultRates))) + ` then -- an app that an older version wrote lacks the last ones
    local i = 0
    for word in string.gmatch('` + defaultRates + `', '%S+') do
      i = i + 1
      most[i] = most[i] or tonumber(word)
    end
  end
  for _, limit in ipairs(most) do unlimited = unlimited and limit <= 0 end
end
local function minute(key)
  local read = redis.call('HMGET', key, 'messages', 'triggers', 'bytes', 'agent', 'drafts', 'models')
  return {key = key, new = not (read[1] or read[2] or read[3] or read[4] or read[5] or read[6]), counts = {},
    messages = tonumber(read[1]) or 0, triggers = tonumber(read[2]) or 0, bytes = tonumber(read[3]) or 0, agent = tonumber(read[4]) or 0,
    drafts = tonumber(read[5]) or 0, models = tonumber(read[6]) or 0}
end
local function overRate(limits, rates, srates, add)
  if not most or rated ~= limits then readRates(limits) end
  if unlimited then return end
  local minutes = {} -- of the app and of the session, as far as something of them is limited
  local function over(name, rate, field, limited)
    local by = add[field == 'agent' and 'bytes' or field]
    if not rate or not by or by <= 0 or limited <= 0 then return end
    local of = minutes[rate] or minute(rate)
    minutes[rate] = of
    if of[field] > 0 and of[field] + by > limited then
      return {'limited', 'limit', name, 'most', tostring(limited), 'pause', tostring(math.max(1, redis.call('PTTL', of.key)))}
    end
    table.insert(of.counts, field)
    table.insert(of.counts, of[field] + by)
  end
  local bytes = add.agent and 'agent' or 'bytes'
  local asked, requests = 'openai.limits.requestsPerMinute', most[8]
  if add.visitor and requests == 0 then asked, requests = 'messagesPerMinute', most[1] end
  local refused = not add.agent and (
      over('sessionMessagesPerMinute', srates, 'messages', most[2]) or over('messagesPerMinute', rates, 'messages', most[1])
      or over('sessionDraftsPerMinute', srates, 'drafts', most[7])
      or add.visitor and over('sessionMessagesPerMinute', srates, 'models', most[2]) or over(asked, rates, 'models', requests)
      or over('sessionTriggersPerMinute', srates, 'triggers', most[4]) or over('triggersPerMinute', rates, 'triggers', most[3]))
    or over('bytesPerMinute', srates, bytes, most[6]) or over('bytesPerMinute', rates, bytes, most[5])
  if refused then return refused end
  for _, of in pairs(minutes) do
    if #of.counts > 0 then
      redis.call('HSET', of.key, unpack(of.counts))
      if of.new then redis.call('PEXPIRE', of.key, 60000) end
    end
  end
end
`

// use counts a use that no other script stores.
//
//	KEYS 1 app, 2 rate of the app, 3 rate of the session
//	ARGV 1 messages, 2 triggers, 3 bytes, 4 requests to a model, 5 '1' for a session's token,
//	     6 '1' if the session's limits count as well
//	=>   ok, noapp, or limited as in overRate
//
// A client that lost the reply tries again and is counted twice: a limit is then reached slightly early.
var use = keyspace.NewScript(rateLua, `
local app = redis.call('HMGET', KEYS[1], 'version', 'limits')
if not app[1] then return {'noapp'} end
return overRate(app[2], KEYS[2], ARGV[6] == '1' and KEYS[3] or nil, {messages = tonumber(ARGV[1]), triggers = tonumber(ARGV[2]),
  bytes = tonumber(ARGV[3]), models = tonumber(ARGV[4]), visitor = ARGV[5] == '1'}) or {'ok'}
`)

// Use is the amount that a request counts against the limits of its app and session.
type Use struct {
	Messages, Triggers, Bytes int
	// ModelRequests are requests relayed to a model.
	ModelRequests int
	// FrontEnd marks a request by a session's token.
	FrontEnd bool
	// AppAlone ignores the limits of the session.
	AppAlone bool
}

// Count counts a use against the limits of a minute. Session is empty for a request of the app.
//
// Errors: *RateError, and then nothing was counted; repositories.ErrNotFound without the app;
// keyspace.ErrUnavailable.
func (l *Ledger) Count(ctx context.Context, appID, session string, u Use) error {
	k := keyspace.KeysOf(appID)
	r, err := l.run(ctx, use, []string{k.App(), k.Rates(""), k.Rates(session)},
		u.Messages, u.Triggers, u.Bytes, u.ModelRequests, u.FrontEnd, session != "" && !u.AppAlone)
	if r.Status == NoApp {
		return AppNotFound(appID)
	}
	return err
}

// RateError reports that an app or a session has reached a limit of its minute. Nothing was stored.
type RateError struct {
	Limit      string        // as settings.limits names it, or openai.limits below settings
	Most       int           // its number, for the app or the session
	RetryAfter time.Duration // until a retry may succeed
}

// Error names the limit, the pause and the way out.
func (e *RateError) Error() string {
	setting := "settings.limits." + e.Limit
	if strings.HasPrefix(e.Limit, "openai.") {
		setting = "settings." + e.Limit
	}
	return fmt.Sprintf("%s is reached, which is %d: nothing was stored, try again in %s; %s of the app raises it, and 0 takes it off",
		e.Limit, e.Most, e.RetryAfter.Round(time.Second), setting)
}
