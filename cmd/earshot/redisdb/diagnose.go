package redisdb

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/finding"
	"earshot/repositories/keyspace"
)

// Limits of normal values.
const (
	leastBusy    = 1000        // least ms of a script until others get BUSY
	longestNode  = 5000        // most ms until a cluster node counts as failed
	leastIdle    = 60          // least s until an idle connection is closed
	mostDrift    = time.Second // between two machines' clocks
	clusterSlots = 16384       // in every cluster
	nearlyFull   = 80          // percent
)

// Diagnose checks whether Redis meets Earshot's needs, and changes nothing. wait is how many replicas must
// acknowledge writes, and now is this machine's clock.
func Diagnose(ctx context.Context, db *keyspace.DB, wait int, now func() time.Time) []finding.Finding {
	if err := Look(ctx, db); err != nil {
		reach := finding.Finding{Check: "reach", Grade: finding.Unusable, Advice: "it does not answer: " + err.Error() + "; see REDIS_URL (--redis-url)"}
		switch {
		case errors.Is(err, ErrRefused):
			reach.Advice = err.Error()
		case denied(err):
			reach.Advice = "its user may not read " + partitionsKey + "; give it what deploy/package/redis-acl.conf has: " + err.Error()
			rights, _ := findings(ctx, db, permissions)
			return append([]finding.Finding{reach}, rights...)
		}
		return []finding.Finding{reach}
	}
	found, err := examine(ctx, db, wait)
	more, errMore := findings(ctx, db, func(ctx context.Context, server redis.Cmdable) ([]finding.Finding, error) {
		rights, err := permissions(ctx, server)
		if err != nil {
			return nil, err
		}
		r := &reader{server: server}
		return append(append(rights, r.limits(ctx)...), clock(ctx, server, now)), r.err
	})
	found = append(found, more...)
	if err = errors.Join(err, errMore); err != nil {
		found = append(found, finding.Finding{Check: "reach", Grade: finding.Unusable, Advice: "it stopped answering: " + err.Error()})
	}
	if _, several := db.UniversalClient.(*redis.ClusterClient); several {
		slots := finding.Finding{Check: "slots"}
		if list, err := db.ClusterSlots(ctx).Result(); err != nil {
			slots.Grade, slots.Value, slots.Advice = finding.Doubtful, "not asked", "it does not say which slots are covered: "+err.Error()
		} else {
			n := 0
			for _, one := range list {
				n += one.End - one.Start + 1
			}
			slots.Value = fmt.Sprintf("%d of %d covered", n, clusterSlots)
			if n < clusterSlots {
				slots.Grade, slots.Advice = finding.Unusable, fmt.Sprintf("%d slots have no master, and their apps are answered 503; start the nodes that hold them, or redis-cli --cluster fix", clusterSlots-n)
			}
		}
		found = append(found, slots)
	}
	return append(found, capacity(ctx, db))
}

func (r *reader) limits(ctx context.Context) (list []finding.Finding) {
	settings := []struct {
		name   string
		bad    func(value string, n int) bool // n is 0 if value is no number
		advice string
	}{
		{"appendfsync", func(value string, _ int) bool { return value != "always" },
			"messages of the last second are lost in a power cut; set appendfsync always"},
		{"timeout", func(_ string, n int) bool { return n != 0 && n < leastIdle },
			"it closes connections that were idle for VALUE s, so that requests begin with a new one; set timeout 0"},
		{"busy-reply-threshold", func(_ string, n int) bool { return n != 0 && n < leastBusy },
			"it answers BUSY while a script takes longer than VALUE ms; set busy-reply-threshold 5000"},
		{"cluster-node-timeout", func(_ string, n int) bool { return n > longestNode },
			"a master that died is replaced after VALUE ms at the earliest, and its apps are answered 503 until then; set cluster-node-timeout 5000"},
		{"cluster-require-full-coverage", func(value string, _ int) bool { return value == "yes" },
			"while one shard is down, the others refuse all requests too; set cluster-require-full-coverage no"},
	}
	if field(r.info(ctx, "cluster"), "cluster_enabled") != "1" {
		settings = settings[:3]
	}
	for _, one := range settings {
		found := finding.Finding{Check: one.name, Value: r.setting(ctx, one.name)}
		n, _ := strconv.Atoi(found.Value)
		switch {
		case found.Value == "":
			found.Grade, found.Value, found.Advice = finding.Notable, "not read", "its user may not read it, so nothing is known of it; allow CONFIG GET (+config|get)"
		case one.bad(found.Value, n):
			found.Grade, found.Advice = finding.Notable, strings.ReplaceAll(one.advice, "VALUE", found.Value)
		}
		list = append(list, found)
	}
	return list
}

func clock(ctx context.Context, server redis.Cmdable, now func() time.Time) finding.Finding {
	found := finding.Finding{Check: "clock"}
	began := now()
	theirs, err := server.Time(ctx).Result()
	if err != nil {
		found.Grade, found.Value, found.Advice = finding.Doubtful, "not asked", "it does not tell the time: "+err.Error()
		return found
	}
	took := now().Sub(began)
	apart := theirs.Sub(began.Add(took / 2)).Round(time.Millisecond)
	found.Value = apart.String() + " apart"
	if apart.Abs() > mostDrift+took {
		found.Grade, found.Advice = finding.Notable, fmt.Sprintf("its clock and that of this machine are %s apart; have both follow NTP", apart)
	}
	return found
}

func capacity(ctx context.Context, db *keyspace.DB) finding.Finding {
	found := finding.Finding{Check: "maxmemory"}
	used, limit, err := Memory(ctx, db)
	switch {
	case err != nil:
		found.Grade, found.Value, found.Advice = finding.Doubtful, "not asked", "its INFO does not say how much memory it uses; allow +info"
	case limit == 0:
		found.Grade, found.Value, found.Advice = finding.Notable, "none", "Redis may use all memory, until the machine kills it; set maxmemory"
	default:
		percent := used * 100 / limit
		found.Value = fmt.Sprintf("%d of %d bytes (%d %%)", used, limit, percent)
		const remedy = "set a larger maxmemory, or keep less (EARSHOT_RETENTION)"
		switch {
		case used > limit:
			found.Grade, found.Advice = finding.Unusable, "it is full, and refuses messages; "+remedy
		case percent >= nearlyFull:
			found.Grade, found.Advice = finding.Notable, "it is nearly full, and refuses messages when it is; "+remedy
		}
	}
	return found
}
