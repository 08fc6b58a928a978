package ledger

import (
	"context"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/keyspace"
)

// LastUsed is a session with the time (ms) of its last use: no message is later.
type LastUsed struct {
	Session string
	At      int64
}

// LastUsedSessions lists at most so many sessions of an app, the last used first.
func (l *Reader) LastUsedSessions(ctx context.Context, appID string, most int) ([]LastUsed, error) {
	found, err := l.db.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{Key: keyspace.Recent(keyspace.KeysOf(appID)), Start: 0, Stop: most - 1, Rev: true}).Result()
	if err != nil {
		return nil, keyspace.Unavailable(err)
	}
	last := make([]LastUsed, len(found))
	for i, one := range found {
		session, _ := one.Member.(string)
		last[i] = LastUsed{session, int64(one.Score)}
	}
	return last, nil
}

const (
	// mostMessagesPerRead bounds the messages read in one round trip, mostRecentBytes the bytes read of one session.
	mostMessagesPerRead = 50
	mostRecentBytes     = 8 << 20
)

// LastMessages reads at most so many last messages of a session, oldest first, and fewer if they are very long.
// The profile is the session's record.
func (l *Reader) LastMessages(ctx context.Context, appID, sessionID string, most int) (messages []PastMessage, profile string, err error) {
	k := keyspace.KeysOf(appID)
	pipe := l.db.Pipeline()
	ids, record := pipe.LRange(ctx, k.Order(sessionID), -int64(most), -1), pipe.HMGet(ctx, k.Turns(sessionID), "session")
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, "", keyspace.Unavailable(err)
	}
	size := 0
	for left := ids.Val(); len(left) > 0 && size < mostRecentBytes; {
		some := left[max(0, len(left)-mostMessagesPerRead):]
		left = left[:len(left)-len(some)]
		var names []string
		for _, id := range some {
			names = append(names, turnFieldsOf(id, "message", "decision", "results", "reply")...)
		}
		found, err := l.fields(ctx, k.Turns(sessionID), names)
		if err != nil {
			return nil, "", err
		}
		read := make([]PastMessage, len(some))
		for i, id := range some {
			row := found[4*i:]
			read[i] = PastMessage{ID: id, Message: row[0], Decision: row[1], Results: row[2], Reply: row[3]}
			size += read[i].Size()
		}
		messages = append(read, messages...)
	}
	return messages, keyspace.Fields(record.Val())[0], nil
}
