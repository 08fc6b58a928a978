package ledger

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
	"earshot/repositories/lists"
)

const (
	// WebhookProbeAfter is the number of consecutive failures after which only one delivery at a time tries the
	// webhook's server.
	WebhookProbeAfter = 5
	// MostResends bounds a webhook's deliveries that wait for a retry, beyond which others wait in the stream,
	// and the listed deliveries that have failed for good.
	MostResends = 1000
)

// Webhooks is the durable state of the webhooks of apps: each one's position in the stream of events, and its
// undelivered events. It is safe for concurrent use.
type Webhooks struct{ l *Ledger }

// NewWebhooks returns the state of webhooks in a ledger.
func NewWebhooks(of *Ledger) *Webhooks { return &Webhooks{of} }

// WebhookClaim is a webhook whose lease was taken.
type WebhookClaim struct {
	Now        time.Time // by the clock of Redis
	Since      time.Time // when it was added
	Position   uint64    // the place in the stream up to which it was served
	Positioned bool      // Position is valid; else it begins at Since
	Streak     int       // failures since the last successful delivery
	Failing    time.Time // time of the first of them; zero for none
	Resends    int       // number of deliveries that wait for a retry
	Due        []WebhookDelivery
	hints      string
}

// WebhookDelivery is an undelivered event, by its place in the stream. Only the stream has its content.
type WebhookDelivery struct {
	Sequence uint64
	Attempts int
	First    time.Time // time of the first attempt
	Status   int       // of the last response; 0 for none
	// Next is the time of the next attempt; zero after the last one failed.
	Next time.Time
}

// field returns the value of its field in the hash of the webhook.
func (d WebhookDelivery) field() string { return fmt.Sprint(d.Attempts, d.First.UnixMilli(), d.Status) }

func readDelivery(sequence, field string) (d WebhookDelivery) {
	d.Sequence, _ = strconv.ParseUint(sequence, 10, 64)
	words := append(strings.Fields(field), "", "", "")
	d.Attempts, d.First, d.Status = number(words[0]), time.UnixMilli(int64(number(words[1]))).UTC(), number(words[2])
	return d
}

// resendLua defines the fields of deliveries in the hash of a webhook, and schedules a webhook in the lanes of
// its partition.
const resendLua = `
local function fieldOf(sequence) return 'd:' .. sequence end
local function wakes(due, lane, app, name, at)
  redis.call('ZADD', lane, 'XX', at, name)
  redis.call('ZADD', due, 'LT', at, '` + string(keyspace.LaneWebhooks) + `/' .. app)
end
`

// claimWebhook takes the lease of a due webhook.
//
//	=>   {status, ...}
//	     gone    it is gone or disabled
//	     taken   another token has it, or it is not due
//	     ok      with the fields of a WebhookClaim, and due: alternating sequences and fields
var claimWebhook = keyspace.NewFreeingScript(resendLua, `
KEYS due lane webhook resends
ARGV app name token lease most brink
local at, due = now(), redis.call('ZSCORE', @lane, $name)
local f = redis.call('HMGET', @webhook, 'since', 'position', 'hints', 'streak', 'failing', 'token', 'until', 'disabled')
if not due or not f[1] or f[8] then
  redis.call('ZREM', @lane, $name)
  return {'gone'}
end
if f[6] ~= $token and tonumber(f[7] or '0') > at then
  wakes(@due, @lane, $app, $name, f[7])
  return {'taken'}
end
if f[6] ~= $token and tonumber(due) > at then return {'taken'} end
local ends = at + tonumber($lease)
redis.call('HSET', @webhook, 'token', $token, 'until', ends)
wakes(@due, @lane, $app, $name, ends)
local most, list = tonumber(f[4] or '0') >= tonumber($brink) and 1 or $most, {}
for i, sequence in ipairs(redis.call('ZRANGEBYSCORE', @resends, '-inf', at, 'LIMIT', 0, most)) do
  list[2 * i - 1], list[2 * i] = sequence, redis.call('HGET', @webhook, fieldOf(sequence)) or ''
end
return {'ok', 'since', f[1], 'position', f[2] or '', 'hints', f[3] or '', 'streak', f[4] or '0', 'failing', f[5] or '0',
  'resends', tostring(redis.call('ZCARD', @resends) - #redis.call('ZRANGEBYSCORE', @resends, '+inf', '+inf')), 'now', string.format('%.0f', at), 'due', list}
`)

func webhookKeys(appID, name string) []string {
	k := keyspace.KeysOf(appID)
	webhook, resends := keyspace.Webhook(k, name)
	return []string{k.Due(), k.Lane(keyspace.LaneWebhooks), webhook, resends}
}

// Claim takes the lease of a webhook with at most most of its due deliveries, or one beyond WebhookProbeAfter. It
// returns nil if the webhook is not available.
func (w *Webhooks) Claim(ctx context.Context, appID, name, token string, lease time.Duration, most int) (*WebhookClaim, error) {
	r, err := w.l.run(ctx, claimWebhook, webhookKeys(appID, name), appID, name, token, lease.Milliseconds(), most, WebhookProbeAfter)
	if err != nil || r.Status != "ok" {
		return nil, err
	}
	c := &WebhookClaim{Now: r.time("now").UTC(), Since: r.time("since").UTC(), Streak: r.number("streak"), Resends: r.number("resends"), hints: r.text("hints")}
	if text := r.text("position"); text != "" {
		c.Positioned = true
		c.Position, _ = strconv.ParseUint(text, 10, 64) // written by our scripts
	}
	if since := r.number("failing"); since > 0 {
		c.Failing = time.UnixMilli(int64(since)).UTC()
	}
	for pair := range slices.Chunk(r.texts("due"), 2) {
		c.Due = append(c.Due, readDelivery(pair[0], pair[1]))
	}
	return c, nil
}

// WebhookReport is the outcome of a claim's deliveries.
type WebhookReport struct {
	App, Name, Token string
	Claim            *WebhookClaim
	Position         uint64
	Positioned       bool              // Position is valid
	Done             []uint64          // sequences of finished Resends: delivered, or gone from the stream
	Again            []WebhookDelivery // failed; one without Next has failed for good
	Delivered, Gone  int               // numbers of delivered events and of events gone from the stream
	Streak           int
	Pause            time.Duration // until it is due again
	// Disabled is why the webhook is disabled, empty if it is not; Event is the event of the disabling.
	Disabled string
	Event    *keyspace.Entry
}

type reportedResend struct {
	Sequence string `json:"sequence"`
	Field    string `json:"field"`
	Pause    int64  `json:"pause"` // ms; negative for never
}

// reportWebhook writes a report and releases the lease.
//
//	KEYS due, lane, webhook, resends, outbox, effect of the event, then the ledger
//	ARGV report (JSON)
//	=>   ok, or lost if another token has the lease
var reportWebhook = keyspace.NewFreeingScript(keyspace.EffectLua, resendLua, `
local doc, at = cjson.decode(ARGV[1]), now()
local lane, webhook, resends = KEYS[2], KEYS[3], KEYS[4]
if redis.call('HGET', webhook, 'token') ~= doc.token then return 'lost' end
redis.call('HDEL', webhook, 'token', 'until')
if doc.position ~= '' then redis.call('HSET', webhook, 'position', doc.position) end
for _, sequence in ipairs(doc.done) do
  redis.call('ZREM', resends, sequence)
  redis.call('HDEL', webhook, fieldOf(sequence))
end
for _, d in ipairs(doc.again) do
  redis.call('ZADD', resends, d.pause < 0 and '+inf' or at + d.pause, d.sequence)
  redis.call('HSET', webhook, fieldOf(d.sequence), d.field)
  if d.pause < 0 then redis.call('HINCRBY', webhook, 'failed', 1) end
end
local dead = redis.call('ZRANGEBYSCORE', resends, '+inf', '+inf')
for i = 1, #dead - doc.most do
  redis.call('ZREM', resends, dead[i])
  redis.call('HDEL', webhook, fieldOf(dead[i]))
end
if doc.gone > 0 then redis.call('HINCRBY', webhook, 'gone', doc.gone) end
if doc.delivered > 0 then
  redis.call('HINCRBY', webhook, 'delivered', doc.delivered)
  redis.call('HSET', webhook, 'arrived', at)
end
if doc.streak == 0 then
  redis.call('HDEL', webhook, 'streak', 'failing')
else
  redis.call('HSET', webhook, 'streak', doc.streak)
  redis.call('HSETNX', webhook, 'failing', at)
end
if doc.disabled ~= '' then
  redis.call('HSET', webhook, 'disabled', at, 'reason', doc.disabled)
  redis.call('ZREM', lane, doc.name)
  enqueue(KEYS[6], doc.event, doc.app, KEYS[5], '')
  return 'ok'
end
local next = at + doc.pause
if doc.streak < doc.brink then
  local first = redis.call('ZRANGE', resends, 0, 0, 'WITHSCORES')[2]
  if first then next = math.min(next, tonumber(first) or next) end
  if (redis.call('HGET', webhook, 'hints') or '') ~= doc.hints then next = at end
end
wakes(KEYS[1], lane, doc.app, doc.name, next)
return 'ok'
`)

// Report records the outcome of deliveries. If another token has the lease, it returns false and writes
// nothing: these deliveries are repeated.
func (w *Webhooks) Report(ctx context.Context, r WebhookReport) (bool, error) {
	decimal := func(sequence uint64) string { return strconv.FormatUint(sequence, 10) }
	again := lists.Map(r.Again, func(one WebhookDelivery) reportedResend {
		pause := int64(-1)
		if !one.Next.IsZero() {
			pause = max(0, one.Next.Sub(r.Claim.Now).Milliseconds())
		}
		return reportedResend{decimal(one.Sequence), one.field(), pause}
	})
	position := ""
	if r.Positioned {
		position = decimal(r.Position)
	}
	event := r.Event
	if event == nil {
		event = &keyspace.Entry{}
	}
	report, err := exactjson.Text(map[string]any{
		"app": r.App, "name": r.Name, "token": r.Token, "hints": r.Claim.hints, "position": position,
		"done": lists.Map(r.Done, decimal), "again": again, "delivered": r.Delivered, "gone": r.Gone, "streak": r.Streak, "pause": r.Pause.Milliseconds(),
		"disabled": r.Disabled, "event": event, "most": MostResends, "brink": WebhookProbeAfter,
	})
	if err != nil {
		return false, err
	}
	k := keyspace.KeysOf(r.App)
	keys := append(webhookKeys(r.App, r.Name), k.Outbox(event.Box), k.Effect(event.ID))
	written, err := w.l.run(ctx, reportWebhook, append(keys, k.Ledger()...), report)
	return written.Status == "ok", err
}

// hintWebhooks makes webhooks due for an event that they may take.
//
//	KEYS due, lane, then each webhook
//	ARGV app, brink, then the name of each
//
// A leased webhook becomes due when its lease is released. One beyond the brink keeps its time.
var hintWebhooks = keyspace.NewScript(resendLua, `
for i = 3, #ARGV do
  local f = redis.call('HMGET', KEYS[i], 'since', 'until', 'streak')
  if f[1] and tonumber(f[3] or '0') < tonumber(ARGV[2]) then
    redis.call('HINCRBY', KEYS[i], 'hints', 1)
    local due = redis.call('ZSCORE', KEYS[2], ARGV[i])
    if due and tonumber(due) > now() and tonumber(f[2] or '0') <= now() then wakes(KEYS[1], KEYS[2], ARGV[1], ARGV[i], now()) end
  end
end
return 'ok'
`)

// Wake reports that the stream has an event that webhooks of an app may take.
func (w *Webhooks) Wake(ctx context.Context, appID string, names []string) error {
	k := keyspace.KeysOf(appID)
	keys, args := []string{k.Due(), k.Lane(keyspace.LaneWebhooks)}, []any{appID, WebhookProbeAfter}
	for _, name := range names {
		webhook, _ := keyspace.Webhook(k, name)
		keys, args = append(keys, webhook), append(args, name)
	}
	_, err := w.l.run(ctx, hintWebhooks, keys, args...)
	return err
}

// resendWebhook restarts a webhook: from a place in the stream, or with its undelivered events.
//
//	ARGV position is empty to continue; enabled '1' if its app wants it
//	=>   ok, or gone
var resendWebhook = keyspace.NewScript(resendLua, `
KEYS due lane webhook resends
ARGV app name position enabled
if redis.call('HEXISTS', @webhook, 'since') == 0 then return 'gone' end
redis.call('HDEL', @webhook, 'token', 'until', 'disabled', 'reason', 'streak', 'failing')
for _, sequence in ipairs(redis.call('ZRANGE', @resends, 0, -1)) do
  if $position == '' then
    redis.call('ZADD', @resends, now(), sequence)
    redis.call('HSET', @webhook, fieldOf(sequence), '0 ' .. string.format('%.0f', now()) .. ' 0')
  else
    redis.call('HDEL', @webhook, fieldOf(sequence))
  end
end
if $position ~= '' then
  redis.call('DEL', @resends)
  redis.call('HSET', @webhook, 'position', $position)
end
if $enabled == '1' then
  redis.call('ZADD', @lane, now(), $name)
  wakes(@due, @lane, $app, $name, now())
end
return 'ok'
`)

// Resend sends a webhook the events after a place in the stream; without a place, its undelivered events and
// those it has not had. It enables a webhook that Earshot has disabled. It returns false if there is no such
// webhook.
func (w *Webhooks) Resend(ctx context.Context, appID, name string, after *uint64, enabled bool) (bool, error) {
	position := ""
	if after != nil {
		position = strconv.FormatUint(*after, 10)
	}
	r, err := w.l.run(ctx, resendWebhook, webhookKeys(appID, name), appID, name, position, enabled)
	return r.Status == "ok", err
}

// WebhookState is the delivery state of a webhook.
type WebhookState struct {
	Since, Failing, Disabled, Arrived time.Time // zero for never
	Reason                            string    // why Earshot disabled it
	Delivered, Failed, Gone           int
	Waiting                           int // deliveries that wait for a retry
}

// States reads the states of webhooks of an app, in the order of names. A missing one has no Since.
func (w *Webhooks) States(ctx context.Context, appID string, names []string) ([]WebhookState, error) {
	k, pipe := keyspace.KeysOf(appID), w.l.db.Pipeline()
	type read struct {
		fields *redis.SliceCmd
		all    *redis.IntCmd
		failed *redis.StringSliceCmd
	}
	all := make([]read, len(names))
	for i, name := range names {
		webhook, resends := keyspace.Webhook(k, name)
		all[i] = read{
			pipe.HMGet(ctx, webhook, "since", "failing", "disabled", "arrived", "reason", "delivered", "failed", "gone"),
			pipe.ZCard(ctx, resends), pipe.ZRangeByScore(ctx, resends, &redis.ZRangeBy{Min: "+inf", Max: "+inf"}),
		}
	}
	_, _ = pipe.Exec(ctx) // every command has its own error
	states := make([]WebhookState, len(names))
	for i, one := range all {
		if err := one.fields.Err(); err != nil {
			return nil, keyspace.Unavailable(err)
		}
		f := keyspace.Fields(one.fields.Val())
		at := func(text string) time.Time {
			if text == "" {
				return time.Time{}
			}
			return time.UnixMilli(int64(number(text))).UTC()
		}
		states[i] = WebhookState{
			Since: at(f[0]), Failing: at(f[1]), Disabled: at(f[2]), Arrived: at(f[3]), Reason: f[4],
			Delivered: number(f[5]), Failed: number(f[6]), Gone: number(f[7]), Waiting: int(one.all.Val()) - len(one.failed.Val()),
		}
	}
	return states, nil
}

// Deliveries lists the undelivered events of a webhook, oldest first.
func (w *Webhooks) Deliveries(ctx context.Context, appID, name string) ([]WebhookDelivery, error) {
	webhook, resends := keyspace.Webhook(keyspace.KeysOf(appID), name)
	listed, err := w.l.db.ZRangeWithScores(ctx, resends, 0, -1).Result()
	if err != nil || len(listed) == 0 {
		return nil, keyspace.Unavailable(err)
	}
	fields := lists.Map(listed, func(z redis.Z) string { return "d:" + z.Member.(string) })
	values, err := w.l.db.HMGet(ctx, webhook, fields...).Result()
	if err != nil {
		return nil, keyspace.Unavailable(err)
	}
	deliveries := make([]WebhookDelivery, len(listed))
	for i, text := range keyspace.Fields(values) {
		deliveries[i] = readDelivery(listed[i].Member.(string), text)
		if score := listed[i].Score; !math.IsInf(score, 1) {
			deliveries[i].Next = time.UnixMilli(int64(score)).UTC()
		}
	}
	slices.SortFunc(deliveries, func(a, b WebhookDelivery) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return deliveries, nil
}
