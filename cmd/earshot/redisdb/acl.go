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

type probe struct {
	name string // in an ACL
	args []any
}

// permitted lists all Redis commands of the service and the commands, as in an ACL, with the arguments with which they
// are probed: queued but never executed, on KEY, which is missing. deploy/package/redis-acl.conf allows exactly these.
var permitted = probes(`
client|setname earshot, select 0
asking, cluster|slots, command
client|list, config|get maxmemory, info, scan 0, time, type KEY, wait 0 1
eval return 1 KEY, evalsha 0000000000000000000000000000000000000000 1 KEY
del KEY, exists KEY, persist KEY, pexpire KEY 1, pttl KEY
decrby KEY 1, get KEY, getex KEY, incrby KEY 1, set KEY 1 PX 1
hdel KEY f, hexists KEY f, hget KEY f, hgetall KEY, hincrby KEY f 1, hkeys KEY, hlen KEY, hmget KEY f
hscan KEY 0, hset KEY f 1, hsetnx KEY f 1, hstrlen KEY f, hvals KEY
lindex KEY 0, llen KEY, lpop KEY, lpos KEY e, lpush KEY e, lrange KEY 0 0, lrem KEY 0 e, ltrim KEY 0 0, rpush KEY e
zadd KEY 0 e, zcard KEY, zrange KEY 0 0, zrangebylex KEY - +, zrangebyscore KEY 0 1, zrem KEY e
zremrangebyscore KEY 0 1, zscan KEY 0, zscore KEY e
xadd KEY * f 1, xdel KEY 0-1, xrevrange KEY + -, xtrim KEY MAXLEN 1
multi, discard`)

func probes(list string) (all []probe) {
	for one := range strings.SplitSeq(strings.ReplaceAll(strings.TrimSpace(list), "\n", ", "), ", ") {
		name, args, _ := strings.Cut(one, " ")
		p := probe{name: name}
		for _, word := range strings.Fields(strings.ReplaceAll(name, "|", " ") + " " + strings.ReplaceAll(args, "KEY", probeKey)) {
			p.args = append(p.args, word)
		}
		all = append(all, p)
	}
	return all
}

// probeKey is never written.
const probeKey = "earshot:{p00}:doctor"

const keyPattern = "earshot:*"

// permissions probes the user's rights: the server checks queued commands, and DISCARD drops them.
func permissions(ctx context.Context, server redis.Cmdable) ([]finding.Finding, error) {
	found := finding.Finding{Check: "permissions", Value: fmt.Sprintf("all %d commands, on %s", len(permitted), keyPattern)}
	if db, is := server.(*keyspace.DB); is {
		server = db.UniversalClient
	}
	client, is := server.(*redis.Client)
	if !is {
		found.Grade, found.Value, found.Advice = finding.Doubtful, "not asked", "its connection cannot be asked for permissions"
		return []finding.Finding{found}, nil
	}
	on := client.Conn()
	defer on.Close()
	if err := on.Do(ctx, "MULTI").Err(); err != nil {
		if !denied(err) {
			return nil, keyspace.Unavailable(err)
		}
		found.Grade, found.Value = finding.Doubtful, "not asked: its user may not MULTI"
		found.Advice = "it does not let its user ask: allow +multi and +discard, as deploy/package/redis-acl.conf does"
		return []finding.Finding{found}, nil
	}
	missing, err := queue(ctx, on)
	if err != nil {
		return nil, keyspace.Unavailable(err)
	}
	if len(missing) > 0 {
		found.Grade, found.Value = finding.Unusable, "its user may not "+strings.Join(missing, ", ")
		found.Advice = "give its user what deploy/package/redis-acl.conf has: ACL SETUSER … " + strings.Join(missing, " ")
	}
	return []finding.Finding{found}, nil
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
		if one.name != "multi" && one.name != "discard" { // these are around the others
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
