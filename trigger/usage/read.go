package usage

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories"
	"earshot/repositories/keyspace"
)

// Prefixes of the fields of durations and hosts. A duration is counted by its power of 2^(1/4) milliseconds.
const (
	fieldDecided = "d"
	fieldHost    = "h"
	mostPower    = 88 // an hour
)

func durationField(kind string, took time.Duration) string {
	power := 0
	if ms := float64(took) / float64(time.Millisecond); ms > 1 {
		power = min(mostPower, int(math.Ceil(4*math.Log2(ms))))
	}
	return kind + strconv.Itoa(power)
}

// Durations are percentiles in milliseconds: half of all durations are at most P50, 95 of 100 at most P95. They
// are at most a fifth too high.
type Durations struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
}

// spread is a histogram of durations by power.
type spread [mostPower + 1]int64

// add counts a field of durationField, without its prefix.
func (s *spread) add(power string, count int64) {
	if n, err := strconv.Atoi(power); err == nil && n >= 0 && n <= mostPower {
		s[n] += count
	}
}

// durations returns the percentiles; nil without counts.
func (s *spread) durations() *Durations {
	total := int64(0)
	for _, count := range s {
		total += count
	}
	if total == 0 {
		return nil
	}
	at := func(share float64) float64 {
		left := int64(math.Ceil(share * float64(total)))
		for power, count := range s {
			if left -= count; left <= 0 {
				return math.Round(10*math.Exp2(float64(power)/4)) / 10
			}
		}
		return 0
	}
	return &Durations{at(0.5), at(0.95)}
}

// Used is the use of an app in a period.
type Used struct {
	Begins           time.Time `json:"ts,omitzero"`
	Day              string    `json:"day,omitempty"` // of a day
	Messages         int64     `json:"messages"`
	Matched          int64     `json:"matched"`
	Rejected         int64     `json:"rejected"`
	Unmatched        int64     `json:"unmatched"`
	Triggers         int64     `json:"triggers"`
	ModelRequests    int64     `json:"modelRequests"`
	PromptTokens     int64     `json:"promptTokens"`
	CompletionTokens int64     `json:"completionTokens"`
	Calls            int64     `json:"calls"`
	CallFailures     int64     `json:"callFailures"`
	Events           int64     `json:"events"`
	// Decided is the time of messages from arrival to decision; nil without any.
	Decided *Durations `json:"decisionMs,omitempty"`
}

// usedOf returns the use counted in fields.
func usedOf(found map[string]int64) Used {
	of := func(kind Kind) int64 { return found[fields[kind]] }
	var took spread
	for field, count := range found {
		if power, is := strings.CutPrefix(field, fieldDecided); is {
			took.add(power, count)
		}
	}
	return Used{
		Messages: of(Messages), Matched: of(Matched), Rejected: of(Rejected), Unmatched: of(Unmatched), Triggers: of(Triggers),
		ModelRequests: of(ModelRequests), PromptTokens: of(PromptTokens), CompletionTokens: of(CompletionTokens),
		Calls: of(Calls), CallFailures: of(CallFailures), Events: of(Events), Decided: took.durations(),
	}
}

// Read returns the use of an app between two times, both included, by steps with any use, oldest first, and the
// total. Counts of other replicas arrive some seconds later. The caller must bound the period: each step costs
// a read of Redis.
//
// Errors: repositories.ErrNotFound without the app, keyspace.ErrUnavailable.
func (c *Counter) Read(ctx context.Context, appID string, by Step, from, to time.Time) (list []Used, total Used, err error) {
	found, err := c.fields(ctx, appID, by, from, to)
	if err != nil {
		return nil, total, err
	}
	sum := map[string]int64{}
	for i, one := range found {
		if len(one) == 0 {
			continue
		}
		used := usedOf(one)
		if used.Begins = by.begins(by.number(from) + int64(i)); by == Day {
			used.Day = used.Begins.Format(time.DateOnly)
		}
		list = append(list, used)
		for field, count := range one {
			sum[field] += count
		}
	}
	return list, usedOf(sum), nil
}

// fields reads the counts of each step.
func (c *Counter) fields(ctx context.Context, appID string, by Step, from, to time.Time) ([]map[string]int64, error) {
	if err := c.Flush(ctx); err != nil {
		return nil, err
	}
	pipe, k := c.db.Pipeline(), keyspace.KeysOf(appID)
	exists := pipe.Exists(ctx, k.App())
	replies := make([]*redis.MapStringIntCmd, 0, by.Kept)
	for number := by.number(from); number <= by.number(to); number++ {
		reply := redis.NewMapStringIntCmd(ctx, "hgetall", keyspace.Usage(k, by.Name, number))
		_ = pipe.Process(ctx, reply) // sent below
		replies = append(replies, reply)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, keyspace.Unavailable(err)
	}
	if exists.Val() == 0 {
		return nil, &repositories.NotFoundError{Kind: "app", ID: appID}
	}
	found := make([]map[string]int64, len(replies))
	for i, reply := range replies {
		found[i] = reply.Val()
	}
	return found, nil
}

// States of a host, by the last period with an attempted or held-back call.
const (
	HostUp      = "up"
	HostFailing = "failing" // no call succeeded
	HostDown    = "down"    // calls were held back
)

// Host is the state of a host that tools call.
type Host struct {
	Name     string     `json:"host"`
	State    string     `json:"state"`
	Calls    int64      `json:"calls"`
	Failures int64      `json:"failures"`
	Held     int64      `json:"heldBack"`     // not made: the host had failed too often, or had no free slot
	Took     *Durations `json:"ms,omitempty"` // of a call
	Last     time.Time  `json:"lastCallAt"`   // the minute, or the hour, of the last one
}

// Hosts returns the states of the hosts that an app called between two times, both included, by name. Days have
// no hosts.
//
// Errors: as Read.
func (c *Counter) Hosts(ctx context.Context, appID string, by Step, from, to time.Time) ([]Host, error) {
	found, err := c.fields(ctx, appID, by, from, to)
	if err != nil {
		return nil, err
	}
	hosts, took := map[string]*Host{}, map[string]*spread{}
	for i, one := range found {
		at := hostsAt(one, took)
		for name, now := range at {
			host := hosts[name]
			if host == nil {
				host = &Host{Name: name}
				hosts[name] = host
			}
			host.Calls, host.Failures, host.Held = host.Calls+now.Calls, host.Failures+now.Failures, host.Held+now.Held
			host.Last = by.begins(by.number(from) + int64(i))
			switch {
			case now.Held > 0 && now.Calls == now.Failures:
				host.State = HostDown
			case now.Failures > 0 && now.Calls == now.Failures:
				host.State = HostFailing
			default:
				host.State = HostUp
			}
		}
	}
	list := make([]Host, 0, len(hosts))
	for name, host := range hosts {
		if took[name] != nil {
			host.Took = took[name].durations()
		}
		list = append(list, *host)
	}
	slices.SortFunc(list, func(a, b Host) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// hostsAt returns the calls of one period by host, and adds their durations to took.
func hostsAt(counted map[string]int64, took map[string]*spread) map[string]*Host {
	at := map[string]*Host{}
	for field, count := range counted {
		rest, is := strings.CutPrefix(field, fieldHost)
		if !is || rest == "" {
			continue
		}
		if power, name, is := strings.Cut(rest, ":"); is && rest[0] >= '0' && rest[0] <= '9' {
			if took[name] == nil {
				took[name] = &spread{}
			}
			took[name].add(power, count)
			continue
		}
		name := rest[1:]
		if at[name] == nil {
			at[name] = &Host{}
		}
		switch Outcome(rest[:1]) {
		case Succeeded:
			at[name].Calls += count
		case Failed:
			at[name].Calls, at[name].Failures = at[name].Calls+count, at[name].Failures+count
		case Held:
			at[name].Held += count
		}
	}
	return at
}
