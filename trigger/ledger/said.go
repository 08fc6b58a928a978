package ledger

import (
	"cmp"
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/keyspace"
)

// namesAtOnce is how many sessions are looked at in one round trip.
const namesAtOnce = 1000

// LastUsed is a session with the time (ms) when its last message came.
type LastUsed struct {
	Session string
	At      int64
}

// LastUsedSessions lists the sessions of an app in which messages came last, the latest first, that many at most.
func (l *Reader) LastUsedSessions(ctx context.Context, appID string, most int) (last []LastUsed, err error) {
	k, from := keyspace.KeysOf(appID), "-"
	for {
		names, err := l.db.ZRangeByLex(ctx, k.Sessions(), &redis.ZRangeBy{Min: from, Max: "+", Count: namesAtOnce}).Result()
		if err != nil {
			return nil, keyspace.Unavailable(err)
		}
		if len(names) == 0 {
			return last, nil
		}
		hashes := make([]string, len(names))
		for i, name := range names {
			hashes[i] = k.Turns(name)
		}
		used, err := l.db.HashFields(ctx, hashes, "used")
		if err != nil {
			return nil, err
		}
		for i, name := range names {
			if at := number(used[i][0]); at > 0 {
				last = append(last, LastUsed{name, int64(at)})
			}
		}
		slices.SortFunc(last, func(a, b LastUsed) int {
			return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.Session, b.Session))
		})
		last, from = last[:min(most, len(last))], "("+names[len(names)-1]
	}
}

const (
	// messagesAtOnce is how many messages are read in one round trip, and mostSaid how many bytes of one session.
	messagesAtOnce = 50
	mostSaid       = 8 << 20
)

// LastMessages reads the last messages of a session, oldest first: that many at most, and fewer where they are very
// long. The profile is what was put of the session.
func (l *Reader) LastMessages(ctx context.Context, appID, sessionID string, most int) (messages []Past, profile string, err error) {
	k := keyspace.KeysOf(appID)
	pipe := l.db.Pipeline()
	ids, record := pipe.LRange(ctx, k.Order(sessionID), -int64(most), -1), pipe.HMGet(ctx, k.Turns(sessionID), "session")
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, "", keyspace.Unavailable(err)
	}
	size := 0
	for left := ids.Val(); len(left) > 0 && size < mostSaid; {
		some := left[max(0, len(left)-messagesAtOnce):]
		left = left[:len(left)-len(some)]
		var names []string
		for _, id := range some {
			names = append(names, turnFieldsOf(id, "message", "decision", "results", "reply")...)
		}
		found, err := l.fields(ctx, k.Turns(sessionID), names)
		if err != nil {
			return nil, "", err
		}
		read := make([]Past, len(some))
		for i, id := range some {
			row := found[4*i:]
			read[i] = Past{ID: id, Message: row[0], Decision: row[1], Results: row[2], Reply: row[3]}
			size += read[i].Size()
		}
		messages = append(read, messages...)
	}
	return messages, keyspace.Fields(record.Val())[0], nil
}
