// Package usage counts what an app uses, day by day (UTC): messages, triggers, requests to models with their tokens, calls and
// events. A replica counts in memory and adds its counts to Redis every few seconds, so that it costs a message nothing.
package usage

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories"
	"earshot/repositories/keyspace"
)

// Kind is what is counted.
type Kind int

// All kinds. Messages are those of users that were decided: one that is sent again is none. Each is one of Matched, Rejected and
// Unmatched. Calls are attempts, and those that failed.
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

// fields of the kinds in Redis, each of which stays what it is.
var fields = [kinds]string{"m", "mm", "mr", "mu", "t", "lr", "lp", "lc", "c", "cf", "e"}

// Kept is how many days are kept, the present one among them.
const Kept = 400

// Counter counts. It is safe for concurrent use. A replica that is killed loses what it has counted since the last Flush.
type Counter struct {
	db    *keyspace.DB
	now   func() time.Time
	byApp *byApp // nil: none

	mu      sync.Mutex
	counted map[day]*counts
}

type counts [kinds]int64

// day is a day of an app.
type day struct {
	app    string
	number int64 // since 1970
}

// NewCounter returns a Counter without counts.
func NewCounter(db *keyspace.DB, now func() time.Time) *Counter {
	return &Counter{db: db, now: now, counted: map[day]*counts{}}
}

// Add counts a number of a kind for an app. What is of no app, as a test of tools, is not counted.
func (c *Counter) Add(appID string, of Kind, count int) {
	if appID == "" {
		return
	}
	c.byApp.add(appID, of, count)
	at := day{appID, numberOf(c.now())}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of(at)[of] += int64(count)
}

// of is the counts of a day, under the lock.
func (c *Counter) of(at day) *counts {
	if c.counted[at] == nil {
		c.counted[at] = &counts{}
	}
	return c.counted[at]
}

func numberOf(at time.Time) int64 { return at.Unix() / int64(24*time.Hour/time.Second) }

// addCounts adds to the counts of a day, unless the app is gone.
//
//	KEYS app, usage
//	ARGV how long they are kept (ms), then each field and its count
//	=>   ok or noapp
//
// A client that lost the reply counts twice.
var addCounts = keyspace.NewScript(`
if redis.call('EXISTS', KEYS[1]) == 0 then return 'noapp' end
for i = 2, #ARGV, 2 do redis.call('HINCRBY', KEYS[2], ARGV[i], ARGV[i + 1]) end
redis.call('PEXPIRE', KEYS[2], ARGV[1])
return 'ok'
`)

// Flush adds what was counted to Redis, all in one round trip. It keeps what it cannot write for the next time.
func (c *Counter) Flush(ctx context.Context) error {
	c.mu.Lock()
	counted := c.counted
	c.counted = map[day]*counts{}
	c.mu.Unlock()
	if len(counted) == 0 {
		return nil
	}
	days, calls := make([]day, 0, len(counted)), make([]keyspace.Call, 0, len(counted))
	for at, all := range counted {
		k, args := keyspace.KeysOf(at.app), []any{(Kept * 24 * time.Hour).Milliseconds()}
		for kind, count := range all {
			if count > 0 {
				args = append(args, fields[kind], count)
			}
		}
		days, calls = append(days, at), append(calls, keyspace.Call{Keys: []string{k.App(), keyspace.Usage(k, at.number)}, Args: args})
	}
	replies, err := addCounts.RunAll(ctx, c.db, calls)
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, reply := range replies {
		if reply != nil {
			continue
		}
		again := c.of(days[i])
		for kind, count := range counted[days[i]] {
			again[kind] += count
		}
	}
	return err
}

// Day is what an app has used in a day.
type Day struct {
	Day              string `json:"day"`
	Messages         int64  `json:"messages"`
	Matched          int64  `json:"matched"`
	Rejected         int64  `json:"rejected"`
	Unmatched        int64  `json:"unmatched"`
	Triggers         int64  `json:"triggers"`
	ModelRequests    int64  `json:"modelRequests"`
	PromptTokens     int64  `json:"promptTokens"`
	CompletionTokens int64  `json:"completionTokens"`
	Calls            int64  `json:"calls"`
	CallFailures     int64  `json:"callFailures"`
	Events           int64  `json:"events"`
}

// Days returns what an app has used from one day to another, both included, of days in which it has used anything, the oldest
// first. What other replicas have counted is there some seconds later.
//
// Errors: repositories.ErrNotFound without the app, keyspace.ErrUnavailable.
func (c *Counter) Days(ctx context.Context, appID string, from, to time.Time) ([]Day, error) {
	if err := c.Flush(ctx); err != nil {
		return nil, err
	}
	pipe, k, first := c.db.Pipeline(), keyspace.KeysOf(appID), numberOf(from)
	exists := pipe.Exists(ctx, k.App())
	replies := make([]*redis.MapStringIntCmd, 0, Kept)
	for number := first; number <= numberOf(to); number++ {
		reply := redis.NewMapStringIntCmd(ctx, "hgetall", keyspace.Usage(k, number))
		_ = pipe.Process(ctx, reply) // it is sent below
		replies = append(replies, reply)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, keyspace.Unavailable(err)
	}
	if exists.Val() == 0 {
		return nil, &repositories.NotFoundError{Kind: "app", ID: appID}
	}
	var days []Day
	for i, reply := range replies {
		found := reply.Val()
		if len(found) == 0 {
			continue
		}
		of := func(kind Kind) int64 { return found[fields[kind]] }
		days = append(days, Day{
			Day:      time.Unix((first+int64(i))*int64(24*time.Hour/time.Second), 0).UTC().Format(time.DateOnly),
			Messages: of(Messages), Matched: of(Matched), Rejected: of(Rejected), Unmatched: of(Unmatched), Triggers: of(Triggers),
			ModelRequests: of(ModelRequests), PromptTokens: of(PromptTokens), CompletionTokens: of(CompletionTokens),
			Calls: of(Calls), CallFailures: of(CallFailures), Events: of(Events),
		})
	}
	return days, nil
}
