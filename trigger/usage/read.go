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
	"earshot/repositories/lists"
)

// Prefixes of the fields of durations and hosts. A duration is counted by its power of 2^(1/4) milliseconds.
const (
	fieldDecided = "d"
	fieldHost    = "h"
	mostPower    = 88 // an hour
)

func durationField(kind string, duration time.Duration) string {
	power := 0
	if ms := float64(duration) / float64(time.Millisecond); ms > 1 {
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

// histogram is a histogram of durations by power.
type histogram [mostPower + 1]int64

// add counts a field of durationField, without its prefix.
func (s *histogram) add(power string, count int64) {
	if n, err := strconv.Atoi(power); err == nil && n >= 0 && n <= mostPower {
		s[n] += count
	}
}

// durations returns the percentiles; nil without counts.
func (s *histogram) durations() *Durations {
	total := int64(0)
	for _, count := range s {
		total += count
	}
	if total == 0 {
		return nil
	}
	percentile := func(share float64) float64 {
		remaining := int64(math.Ceil(share * float64(total)))
		for power, count := range s {
			if remaining -= count; remaining <= 0 {
				return math.Round(10*math.Exp2(float64(power)/4)) / 10
			}
		}
		return 0
	}
	return &Durations{percentile(0.5), percentile(0.95)}
}

// Use is the use of an app in a period.
type Use struct {
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

func useOf(counts map[string]int64) Use {
	count := func(kind Kind) int64 { return counts[fields[kind]] }
	var durations histogram
	for field, count := range counts {
		if power, is := strings.CutPrefix(field, fieldDecided); is {
			durations.add(power, count)
		}
	}
	return Use{
		Messages: count(Messages), Matched: count(Matched), Rejected: count(Rejected), Unmatched: count(Unmatched), Triggers: count(Triggers),
		ModelRequests: count(ModelRequests), PromptTokens: count(PromptTokens), CompletionTokens: count(CompletionTokens),
		Calls: count(Calls), CallFailures: count(CallFailures), Events: count(Events), Decided: durations.durations(),
	}
}

// Read returns the use of an app between two times, both included, by steps with any use, oldest first, and the
// total. Counts of other replicas arrive some seconds later. The caller must bound the period: each step costs
// a read of Redis.
//
// Errors: repositories.ErrNotFound without the app, keyspace.ErrUnavailable.
func (c *Counter) Read(ctx context.Context, appID string, step Step, from, to time.Time) (list []Use, total Use, err error) {
	periods, err := c.fields(ctx, appID, step, from, to)
	if err != nil {
		return nil, total, err
	}
	sum := map[string]int64{}
	for i, counts := range periods {
		if len(counts) == 0 {
			continue
		}
		use := useOf(counts)
		if use.Begins = step.start(step.number(from) + int64(i)); step == Day {
			use.Day = use.Begins.Format(time.DateOnly)
		}
		list = append(list, use)
		for field, count := range counts {
			sum[field] += count
		}
	}
	return list, useOf(sum), nil
}

// fields reads the counts of each step.
func (c *Counter) fields(ctx context.Context, appID string, step Step, from, to time.Time) ([]map[string]int64, error) {
	if err := c.Flush(ctx); err != nil {
		return nil, err
	}
	pipe, k := c.db.Pipeline(), keyspace.KeysOf(appID)
	exists := pipe.Exists(ctx, k.App())
	replies := make([]*redis.MapStringIntCmd, 0, step.Number)
	for number := step.number(from); number <= step.number(to); number++ {
		reply := redis.NewMapStringIntCmd(ctx, "hgetall", keyspace.Usage(k, step.Name, number))
		_ = pipe.Process(ctx, reply) // sent below
		replies = append(replies, reply)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, keyspace.Unavailable(err)
	}
	if exists.Val() == 0 {
		return nil, &repositories.NotFoundError{Kind: "app", ID: appID}
	}
	counts := lists.Map(replies, func(reply *redis.MapStringIntCmd) map[string]int64 { return reply.Val() })
	return counts, nil
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
func (c *Counter) Hosts(ctx context.Context, appID string, step Step, from, to time.Time) ([]Host, error) {
	periods, err := c.fields(ctx, appID, step, from, to)
	if err != nil {
		return nil, err
	}
	hosts, durations := map[string]*Host{}, map[string]*histogram{}
	for i, counts := range periods {
		period := hostsOf(counts, durations)
		for name, use := range period {
			host := hosts[name]
			if host == nil {
				host = &Host{Name: name}
				hosts[name] = host
			}
			host.Calls, host.Failures, host.Held = host.Calls+use.Calls, host.Failures+use.Failures, host.Held+use.Held
			host.Last = step.start(step.number(from) + int64(i))
			switch {
			case use.Held > 0 && use.Calls == use.Failures:
				host.State = HostDown
			case use.Failures > 0 && use.Calls == use.Failures:
				host.State = HostFailing
			default:
				host.State = HostUp
			}
		}
	}
	list := make([]Host, 0, len(hosts))
	for name, host := range hosts {
		if durations[name] != nil {
			host.Took = durations[name].durations()
		}
		list = append(list, *host)
	}
	slices.SortFunc(list, func(a, b Host) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// hostsOf returns the calls of one period by host, and adds their durations to durations.
func hostsOf(counts map[string]int64, durations map[string]*histogram) map[string]*Host {
	hosts := map[string]*Host{}
	for field, count := range counts {
		rest, is := strings.CutPrefix(field, fieldHost)
		if !is || rest == "" {
			continue
		}
		if power, name, is := strings.Cut(rest, ":"); is && rest[0] >= '0' && rest[0] <= '9' {
			if durations[name] == nil {
				durations[name] = &histogram{}
			}
			durations[name].add(power, count)
			continue
		}
		name := rest[1:]
		if hosts[name] == nil {
			hosts[name] = &Host{}
		}
		switch Outcome(rest[:1]) {
		case Succeeded:
			hosts[name].Calls += count
		case Failed:
			hosts[name].Calls, hosts[name].Failures = hosts[name].Calls+count, hosts[name].Failures+count
		case Held:
			hosts[name].Held += count
		}
	}
	return hosts
}
