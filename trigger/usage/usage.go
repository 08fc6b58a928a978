// Package usage counts the use of an app by minutes, hours and days (UTC): messages and their durations,
// triggers, requests to models with their tokens, calls, also by host, and events. A replica counts in memory
// and adds its counts to Redis every few seconds, so that it costs a message nothing.
package usage

import (
	"context"
	"sync"
	"time"

	"earshot/repositories/keyspace"
)

// Kind is a kind of use.
type Kind int

// All kinds. Messages are users' decided messages, without repetitions. Each is one of Matched, Rejected and
// Unmatched. Calls are attempts, including failures.
const (
	Messages Kind = iota
	Matched
	Rejected
	Unmatched
	Triggers
	ModelRequests
	PromptTokens
	CompletionTokens
	Calls
	CallFailures
	Events
	kinds
)

// fields of the kinds in Redis, which must never change. Durations and hosts have further fields.
var fields = [kinds]string{"m", "mm", "mr", "mu", "t", "lr", "lp", "lc", "c", "cf", "e"}

// Step is the length of the periods by which counts are stored, and their number.
type Step struct {
	Name   string
	Length time.Duration
	Number int
}

// The steps.
var (
	Minute = Step{keyspace.UsageMinute, time.Minute, 180}
	Hour   = Step{keyspace.UsageHour, time.Hour, 14 * 24}
	Day    = Step{keyspace.UsageDay, 24 * time.Hour, 400}
)

// steps are all steps, finest first.
var steps = []Step{Minute, Hour, Day}

func (s Step) number(at time.Time) int64 { return at.Unix() / int64(s.Length/time.Second) }

func (s Step) start(number int64) time.Time {
	return time.Unix(number*int64(s.Length/time.Second), 0).UTC()
}

// Counter counts use. It is safe for concurrent use. A killed replica loses its counts since the last Flush.
type Counter struct {
	db    *keyspace.DB
	now   func() time.Time
	byApp *byApp // nil: none

	mu     sync.Mutex
	counts map[minute]*minuteCounts
}

// minute is a minute of an app.
type minute struct {
	app    string
	number int64 // since 1970
}

// minuteCounts are the counts of a minute, by field in Redis.
type minuteCounts struct {
	all       map[string]int64
	hosts     map[string]int64
	hostNames map[string]bool
}

// NewCounter returns a Counter without counts.
func NewCounter(db *keyspace.DB, now func() time.Time) *Counter {
	return &Counter{db: db, now: now, counts: map[minute]*minuteCounts{}}
}

// Add counts a number of a kind for an app. Use without an app, as in a test of tools, is not counted.
func (c *Counter) Add(appID string, kind Kind, count int) {
	if appID == "" || count == 0 {
		return
	}
	c.byApp.add(appID, kind, count)
	c.count(appID, func(counts *minuteCounts) { counts.all[fields[kind]] += int64(count) })
}

// CountDecision counts the time of a message from arrival to decision.
func (c *Counter) CountDecision(appID string, duration time.Duration) {
	c.count(appID, func(counts *minuteCounts) { counts.all[durationField(fieldDecided, duration)]++ })
}

// Outcome is the outcome of a call to a host.
type Outcome string

// The outcomes of a call, each with its letter in Redis. A Held call was not made: the host has failed too
// often, or has no free slot.
const (
	Succeeded Outcome = "s"
	Failed    Outcome = "f"
	Held      Outcome = "h"
)

// mostHosts bounds the hosts of an app counted by name in a minute here; others are counted together.
const mostHosts = 50

// CountCall counts a call to a host.
func (c *Counter) CountCall(appID, host string, outcome Outcome, duration time.Duration) {
	if host == "" {
		return
	}
	c.count(appID, func(counts *minuteCounts) {
		if !counts.hostNames[host] && len(counts.hostNames) >= mostHosts {
			host = other
		}
		counts.hostNames[host] = true
		counts.hosts[fieldHost+string(outcome)+host]++
		if outcome != Held {
			counts.hosts[durationField(fieldHost, duration)+":"+host]++
		}
	})
}

func (c *Counter) count(appID string, add func(*minuteCounts)) {
	key := minute{appID, Minute.number(c.now())}
	c.mu.Lock()
	defer c.mu.Unlock()
	add(c.countsOf(key))
}

// countsOf returns the counts of a minute. The caller holds the lock.
func (c *Counter) countsOf(key minute) *minuteCounts {
	if c.counts[key] == nil {
		c.counts[key] = &minuteCounts{map[string]int64{}, map[string]int64{}, map[string]bool{}}
	}
	return c.counts[key]
}

// mostFields bounds the fields of one hash: about those of mostHosts. Hosts beyond it are not counted.
const mostFields = 600

// addCounts adds to the counts of a minute, an hour and a day, unless the app is gone. Days have no hosts.
//
//	KEYS app, minute, hour, day
//	ARGV life of each of these (ms), most fields, number of fields not of hosts, then each field
//	     and its count, those of hosts last
//	=>   ok or noapp
//
// A client that lost the reply counts twice.
var addCounts = keyspace.NewScript(`
if redis.call('EXISTS', KEYS[1]) == 0 then return 'noapp' end
local last = 5 + 2 * tonumber(ARGV[5])
for k = 2, 4 do
  for i = 6, last, 2 do redis.call('HINCRBY', KEYS[k], ARGV[i], ARGV[i + 1]) end
  local room = k < 4 and tonumber(ARGV[4]) - redis.call('HLEN', KEYS[k]) or 0
  for i = last + 1, k < 4 and #ARGV or 0, 2 do
    local known = redis.call('HEXISTS', KEYS[k], ARGV[i]) == 1
    if not known then room = room - 1 end
    if known or room >= 0 then redis.call('HINCRBY', KEYS[k], ARGV[i], ARGV[i + 1]) end
  end
  if redis.call('EXISTS', KEYS[k]) == 1 then redis.call('PEXPIRE', KEYS[k], ARGV[k - 1]) end
end
return 'ok'
`)

// Flush adds the counts to Redis in one round trip. It keeps unwritten counts for the next time.
func (c *Counter) Flush(ctx context.Context) error {
	c.mu.Lock()
	written := c.counts
	c.counts = map[minute]*minuteCounts{}
	c.mu.Unlock()
	if len(written) == 0 {
		return nil
	}
	minutes, calls := make([]minute, 0, len(written)), make([]keyspace.Call, 0, len(written))
	for key, counts := range written {
		k, args := keyspace.KeysOf(key.app), []any{}
		keys := []string{k.App()}
		for _, step := range steps {
			keys = append(keys, keyspace.Usage(k, step.Name, step.number(Minute.start(key.number))))
			args = append(args, (time.Duration(step.Number) * step.Length).Milliseconds())
		}
		args = append(args, mostFields, len(counts.all))
		for _, group := range []map[string]int64{counts.all, counts.hosts} {
			for field, count := range group {
				args = append(args, field, count)
			}
		}
		minutes, calls = append(minutes, key), append(calls, keyspace.Call{Keys: keys, Args: args})
	}
	replies, err := addCounts.RunAll(ctx, c.db, calls)
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, reply := range replies {
		if reply != nil {
			continue
		}
		current, lost := c.countsOf(minutes[i]), written[minutes[i]]
		for field, count := range lost.all {
			current.all[field] += count
		}
		for field, count := range lost.hosts {
			current.hosts[field] += count
		}
		for host := range lost.hostNames {
			current.hostNames[host] = true
		}
	}
	return err
}
