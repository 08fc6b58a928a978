package redisdb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/finding"
	"earshot/repositories/keyspace"
)

// permitted lists all Redis commands of the service and the commands, as in an ACL, with the form in which they
// are probed: queued but never executed, on a missing key. deploy/package/redis-acl.conf allows exactly these.
var permitted = []struct {
	name string
	args []any
}{
	// Connection setup.
	{"client|setname", []any{"CLIENT", "SETNAME", "earshot"}}, {"select", []any{"SELECT", 0}},
	// Cluster.
	{"asking", []any{"ASKING"}}, {"cluster|slots", []any{"CLUSTER", "SLOTS"}}, {"command", []any{"COMMAND"}},
	// Server state.
	{"client|list", []any{"CLIENT", "LIST"}}, {"config|get", []any{"CONFIG", "GET", "maxmemory"}}, {"info", []any{"INFO"}},
	{"scan", []any{"SCAN", 0}}, {"time", []any{"TIME"}}, {"type", []any{"TYPE", probeKey}}, {"wait", []any{"WAIT", 0, 1}},
	// Scripts.
	{"eval", []any{"EVAL", "return 1", 1, probeKey}}, {"evalsha", []any{"EVALSHA", strings.Repeat("0", 40), 1, probeKey}},
	// All keys.
	{"del", []any{"DEL", probeKey}}, {"exists", []any{"EXISTS", probeKey}}, {"persist", []any{"PERSIST", probeKey}}, {"pexpire", []any{"PEXPIRE", probeKey, 1}}, {"pttl", []any{"PTTL", probeKey}},
	// Strings and numbers.
	{"decrby", []any{"DECRBY", probeKey, 1}}, {"get", []any{"GET", probeKey}}, {"getex", []any{"GETEX", probeKey}},
	{"incrby", []any{"INCRBY", probeKey, 1}}, {"set", []any{"SET", probeKey, 1, "PX", 1}},
	// Hashes.
	{"hdel", []any{"HDEL", probeKey, "f"}}, {"hexists", []any{"HEXISTS", probeKey, "f"}}, {"hget", []any{"HGET", probeKey, "f"}}, {"hgetall", []any{"HGETALL", probeKey}},
	{"hincrby", []any{"HINCRBY", probeKey, "f", 1}}, {"hkeys", []any{"HKEYS", probeKey}}, {"hlen", []any{"HLEN", probeKey}}, {"hmget", []any{"HMGET", probeKey, "f"}},
	{"hscan", []any{"HSCAN", probeKey, 0}}, {"hset", []any{"HSET", probeKey, "f", 1}}, {"hsetnx", []any{"HSETNX", probeKey, "f", 1}},
	{"hstrlen", []any{"HSTRLEN", probeKey, "f"}}, {"hvals", []any{"HVALS", probeKey}},
	// Lists.
	{"lindex", []any{"LINDEX", probeKey, 0}}, {"llen", []any{"LLEN", probeKey}}, {"lpop", []any{"LPOP", probeKey}}, {"lpos", []any{"LPOS", probeKey, "e"}},
	{"lpush", []any{"LPUSH", probeKey, "e"}}, {"lrange", []any{"LRANGE", probeKey, 0, 0}}, {"lrem", []any{"LREM", probeKey, 0, "e"}},
	{"ltrim", []any{"LTRIM", probeKey, 0, 0}}, {"rpush", []any{"RPUSH", probeKey, "e"}},
	// Sorted sets.
	{"zadd", []any{"ZADD", probeKey, 0, "e"}}, {"zcard", []any{"ZCARD", probeKey}}, {"zrange", []any{"ZRANGE", probeKey, 0, 0}},
	{"zrangebylex", []any{"ZRANGEBYLEX", probeKey, "-", "+"}}, {"zrangebyscore", []any{"ZRANGEBYSCORE", probeKey, 0, 1}}, {"zrem", []any{"ZREM", probeKey, "e"}},
	{"zremrangebyscore", []any{"ZREMRANGEBYSCORE", probeKey, 0, 1}}, {"zscan", []any{"ZSCAN", probeKey, 0}}, {"zscore", []any{"ZSCORE", probeKey, "e"}},
	// Streams.
	{"xadd", []any{"XADD", probeKey, "*", "f", 1}}, {"xdel", []any{"XDEL", probeKey, "0-1"}}, {"xrevrange", []any{"XREVRANGE", probeKey, "+", "-"}},
	{"xtrim", []any{"XTRIM", probeKey, "MAXLEN", 1}},
	// The probe of earshot doctor, never with EXEC.
	{"multi", nil}, {"discard", nil},
}

// probeKey is never written.
const probeKey = "earshot:{p00}:doctor"

// keyPattern matches all keys of Earshot.
const keyPattern = "earshot:*"

// permissions probes the user's rights: the server checks queued commands, and DISCARD drops them.
func permissions(ctx context.Context, server redis.Cmdable) (finding.Finding, error) {
	found := finding.Finding{Check: "permissions", Value: fmt.Sprintf("all %d commands, on %s", len(permitted), keyPattern)}
	if db, is := server.(*keyspace.DB); is {
		server = db.UniversalClient
	}
	client, is := server.(*redis.Client)
	if !is {
		found.Grade, found.Value, found.Advice = finding.Doubtful, "not asked", "its connection cannot be asked for permissions"
		return found, nil
	}
	on := client.Conn()
	defer on.Close()
	if err := on.Do(ctx, "MULTI").Err(); err != nil {
		if !denied(err) {
			return found, keyspace.Unavailable(err)
		}
		found.Grade, found.Value = finding.Doubtful, "not asked: its user may not MULTI"
		found.Advice = "it does not let its user ask: allow +multi and +discard, as deploy/package/redis-acl.conf does"
		return found, nil
	}
	missing, err := queue(ctx, on)
	if err != nil {
		return found, keyspace.Unavailable(err)
	}
	if len(missing) > 0 {
		found.Grade, found.Value = finding.Unusable, "its user may not "+strings.Join(missing, ", ")
		found.Advice = "give its user what deploy/package/redis-acl.conf has: ACL SETUSER … " + strings.Join(missing, " ")
	}
	return found, nil
}

// queue queues all required commands and discards them. missing lists denied ones in ACL syntax.
func queue(ctx context.Context, on *redis.Conn) (missing []string, err error) {
	keys := []string{"earshot:partitions", keyspace.SecretKeyMarks, keyspace.Format}
	for n := range keyspace.Partitions {
		keys = append(keys, keyspace.PartitionKeys(n).Due())
	}
	pipe := on.Pipeline()
	var asked []*redis.Cmd
	var names []string
	for _, one := range permitted {
		if one.args != nil {
			asked, names = append(asked, pipe.Do(ctx, one.args...)), append(names, "+"+one.name)
		}
	}
	for _, key := range keys {
		asked, names = append(asked, pipe.Do(ctx, "GET", key)), append(names, "+get")
	}
	asked, names = append(asked, pipe.Do(ctx, "DISCARD")), append(names, "+discard")
	_, _ = pipe.Exec(ctx) // each command has its own error
	for i, one := range asked {
		err := one.Err()
		if err == nil {
			continue
		}
		if _, replied := errors.AsType[redis.Error](err); !replied {
			return nil, err
		}
		// The ACL is checked before other errors, such as a key on another node.
		if !redis.HasErrorPrefix(err, "NOPERM") && !redis.HasErrorPrefix(err, "ERR unknown") {
			continue
		}
		lacks := names[i]
		if strings.Contains(err.Error(), "one of the keys") || strings.Contains(err.Error(), "access a key") {
			lacks = "~" + keyPattern
		}
		if !slices.Contains(missing, lacks) {
			missing = append(missing, lacks)
		}
	}
	return missing, nil
}
