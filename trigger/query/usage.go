package query

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/keyspace"
)

// Counter counts how often each tool of an app fired, and how often a message called for it without firing it,
// by hour. Each replica counts in memory and adds its counts to the ledger every few seconds, so that it costs
// a message nothing; a killed replica loses its unwritten counts. It is safe for concurrent use.
type Counter struct {
	db  *keyspace.DB
	now func() time.Time

	mu     sync.Mutex
	counts map[hour]map[use]int
}

// hour is an hour of an app.
type hour struct {
	app    string
	number int64 // since 1970
}

// NewCounter returns a Counter without counts.
func NewCounter(db *keyspace.DB, now func() time.Time) *Counter {
	return &Counter{db: db, now: now, counts: map[hour]map[use]int{}}
}

// use is what is counted of a tool.
type use struct{ kind, tool string }

// Kinds of use, the first letter of fields.
const (
	usedFired    = "f"
	usedRejected = "r"
)

// CountFired counts a firing of a tool.
func (c *Counter) CountFired(appID, tool string) {
	c.add(hour{appID, c.hour()}, use{usedFired, tool}, 1)
}

// CountRejected counts a message that called for a tool and did not fire it.
func (c *Counter) CountRejected(appID, tool string) {
	c.add(hour{appID, c.hour()}, use{usedRejected, tool}, 1)
}

func (c *Counter) add(period hour, of use, count int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts[period] == nil {
		c.counts[period] = map[use]int{}
	}
	c.counts[period][of] += count
}

func (c *Counter) hour() int64 { return c.now().Unix() / 3600 }

// Bounds of the counts: the hours kept, and the tools of one hour. Further tools are not counted.
const (
	usageHours = 25
	usageTools = 500
)

// addUses adds to the counts of an hour.
//
//	KEYS counts
//	ARGV 1 most fields, 2 their life (ms), then each field and its count
//	=>   ok
//
// A client that lost the reply counts twice.
var addUses = keyspace.NewScript(`
local room = tonumber(ARGV[1]) - redis.call('HLEN', KEYS[1])
for i = 3, #ARGV, 2 do
  local known = redis.call('HEXISTS', KEYS[1], ARGV[i]) == 1
  if not known then room = room - 1 end
  if known or room >= 0 then redis.call('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1]) end
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 'ok'
`)

// Flush adds the counts to the ledger. It keeps unwritten counts for the next time.
func (c *Counter) Flush(ctx context.Context) (err error) {
	c.mu.Lock()
	counts := c.counts
	c.counts = map[hour]map[use]int{}
	c.mu.Unlock()
	for period, uses := range counts {
		args := []any{2 * usageTools, (usageHours * time.Hour).Milliseconds()}
		for of, count := range uses {
			args = append(args, of.kind+of.tool, count)
		}
		if _, writeErr := addUses.Run(ctx, c.db, []string{keyspace.KeysOf(period.app).Uses(period.number)}, args...); writeErr != nil {
			for of, count := range uses {
				c.add(period, of, count)
			}
			err = writeErr
		}
	}
	return err
}

// ToolUse is the use of a tool in the last 24 hours, over all repositories with a tool of that name.
type ToolUse struct {
	Name     string    `json:"name"`
	Fired    int       `json:"fired"`
	Rejected int       `json:"rejected"`
	Hours    []HourUse `json:"hours"` // the hours with uses, oldest first
}

// HourUse is the use of a tool in one hour.
type HourUse struct {
	Begins   time.Time `json:"ts"`
	Fired    int       `json:"fired"`
	Rejected int       `json:"rejected"`
}

// Read returns the use of all tools of an app in the current hour and the 23 before it, by name. Counts of
// other replicas arrive some seconds later.
func (c *Counter) Read(ctx context.Context, appID string) ([]ToolUse, error) {
	if err := c.Flush(ctx); err != nil {
		return nil, err
	}
	pipe, last := c.db.Pipeline(), c.hour()
	replies := make([]*redis.MapStringStringCmd, 24)
	for i := range replies {
		replies[i] = pipe.HGetAll(ctx, keyspace.KeysOf(appID).Uses(last-23+int64(i)))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, keyspace.Unavailable(err)
	}
	tools := map[string]*ToolUse{}
	for i, reply := range replies {
		begins := time.Unix((last-23+int64(i))*3600, 0).UTC()
		for field, text := range reply.Val() {
			count, _ := strconv.Atoi(text)
			name := field[1:]
			if tools[name] == nil {
				tools[name] = &ToolUse{Name: name}
			}
			tool := tools[name]
			if len(tool.Hours) == 0 || !tool.Hours[len(tool.Hours)-1].Begins.Equal(begins) {
				tool.Hours = append(tool.Hours, HourUse{Begins: begins})
			}
			inHour := &tool.Hours[len(tool.Hours)-1]
			if field[:1] == usedFired {
				tool.Fired, inHour.Fired = tool.Fired+count, inHour.Fired+count
			} else {
				tool.Rejected, inHour.Rejected = tool.Rejected+count, inHour.Rejected+count
			}
		}
	}
	list := make([]ToolUse, 0, len(tools))
	for _, tool := range tools {
		list = append(list, *tool)
	}
	slices.SortFunc(list, func(a, b ToolUse) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Usage returns how often each tool of an app fired or was rejected in the last 24 hours, by name.
func (r *Records) Usage(ctx context.Context, appID string) ([]ToolUse, error) {
	if err := r.Ledger.CheckApp(ctx, appID); err != nil {
		return nil, err
	}
	return r.Counter.Read(ctx, appID)
}
