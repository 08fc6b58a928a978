package redisdb

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/finding"
	"earshot/repositories/keyspace"
)

// Diagnose looks whether a Redis is as Earshot needs it, and changes nothing. wait is how many
// replicas must have what was written, and now the clock of this machine.
func Diagnose(ctx context.Context, db *keyspace.DB, wait int, now func() time.Time) []finding.Finding {
	if err := Look(ctx, db); err != nil {
		reach := finding.Finding{Check: "reach", Grade: finding.Unusable, Advice: "it is not reached, or does not answer: " + err.Error()}
		switch {
		case errors.Is(err, ErrRefused):
			reach.Advice = err.Error()
		case denied(err):
			reach.Advice = "its user may not read " + partitionsKey + "; give it what deploy/package/redis-acl.conf has: " + err.Error()
			return append([]finding.Finding{reach}, permissionsOf(ctx, db)...)
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
		limits := append([]finding.Finding{rights}, r.limits(ctx)...)
		return append(limits, clock(ctx, server, now)), r.err
	})
	found = append(found, more...)
	if err = errors.Join(err, errMore); err != nil {
		found = append(found, finding.Finding{Check: "reach", Grade: finding.Unusable, Advice: "it stopped answering: " + err.Error()})
	}
	if _, several := db.UniversalClient.(*redis.ClusterClient); several {
		found = append(found, covered(ctx, db))
	}
	return append(found, room(ctx, db)...)
}

// permissionsOf are the permissions of a user who may not even read.
func permissionsOf(ctx context.Context, db *keyspace.DB) []finding.Finding {
	found, _ := findings(ctx, db, func(ctx context.Context, server redis.Cmdable) ([]finding.Finding, error) {
		rights, err := permissions(ctx, server)
		return []finding.Finding{rights}, err
	})
	return found
}

// Limits of time that are too short, or too long.
const (
	leastBusy    = 1000             // ms that a script may take before others are told that Redis is busy
	longestNode  = 5000             // ms until a node of a cluster is taken for dead
	mostDrift    = time.Second      // between the clocks of two machines
	clusterSlots = 16384            // of every cluster
	nearlyFull   = 80               // percent
	leastIdle    = 60 * time.Second // until a connection that nobody uses is closed
)

// limit judges a number that is a setting; bad returns what is wrong with it, empty for nothing.
func (r *reader) limit(ctx context.Context, name string, bad func(n int) string) finding.Finding {
	found := finding.Finding{Check: name, Value: r.setting(ctx, name)}
	if found.Value == "" {
		found.Value = "cannot be read"
		return found
	}
	if n, err := strconv.Atoi(found.Value); err == nil {
		found.Advice = bad(n)
	}
	if found.Advice != "" {
		found.Grade = finding.Told
	}
	return found
}

// limits looks at what a start does not judge: how soon what was written is on the disk, and
// limits of time.
func (r *reader) limits(ctx context.Context) []finding.Finding {
	synced := finding.Finding{Check: "appendfsync", Value: r.setting(ctx, "appendfsync")}
	switch synced.Value {
	case "":
		synced.Value = "cannot be read"
	case "always":
	default:
		synced.Grade, synced.Advice = finding.Told, "what was accepted in the last moments is lost with the power; set appendfsync always"
	}
	list := []finding.Finding{
		synced,
		r.limit(ctx, "timeout", func(n int) string {
			if n == 0 || time.Duration(n)*time.Second >= leastIdle {
				return ""
			}
			return fmt.Sprintf("it closes connections that were idle for %d s, so that requests begin with a new one; set timeout 0", n)
		}),
		r.limit(ctx, "busy-reply-threshold", func(n int) string {
			if n == 0 || n >= leastBusy {
				return ""
			}
			return fmt.Sprintf("it answers BUSY while a script takes longer than %d ms; set busy-reply-threshold 5000", n)
		}),
	}
	if line(r.info(ctx, "cluster"), "cluster_enabled") != "1" {
		return list
	}
	return append(list, r.limit(ctx, "cluster-node-timeout", func(n int) string {
		if n <= longestNode {
			return ""
		}
		return fmt.Sprintf("a master that died is replaced after %d ms at the earliest, and its apps are answered 503 until then; set cluster-node-timeout %d", n, longestNode)
	}), r.fullCoverage(ctx))
}

// fullCoverage looks whether one shard that is away takes the others with it.
func (r *reader) fullCoverage(ctx context.Context) finding.Finding {
	found := finding.Finding{Check: "cluster-require-full-coverage", Value: r.setting(ctx, "cluster-require-full-coverage")}
	switch found.Value {
	case "":
		found.Value = "cannot be read"
	case "yes":
		found.Grade, found.Advice = finding.Told, "while one shard is away the others serve nobody either; set cluster-require-full-coverage no"
	}
	return found
}

// clock compares the clock of a server with that of this machine.
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
		found.Grade, found.Advice = finding.Told, fmt.Sprintf("its clock and that of this machine are %s apart; have both follow NTP", apart)
	}
	return found
}

// covered looks whether each slot of a cluster has a master.
func covered(ctx context.Context, cluster redis.Cmdable) finding.Finding {
	found := finding.Finding{Check: "slots"}
	slots, err := cluster.ClusterSlots(ctx).Result()
	if err != nil {
		found.Grade, found.Value, found.Advice = finding.Doubtful, "not asked", "it does not say which slots are covered: "+err.Error()
		return found
	}
	n := 0
	for _, one := range slots {
		n += one.End - one.Start + 1
	}
	found.Value = fmt.Sprintf("%d of %d covered", n, clusterSlots)
	if n < clusterSlots {
		found.Grade, found.Advice = finding.Unusable, fmt.Sprintf("%d slots have no master, and their apps are answered 503; start the nodes that hold them, or redis-cli --cluster fix", clusterSlots-n)
	}
	return found
}

// room looks how much room is left.
func room(ctx context.Context, db *keyspace.DB) []finding.Finding {
	found := finding.Finding{Check: "maxmemory"}
	used, limit, err := Memory(ctx, db)
	switch {
	case err != nil:
		found.Grade, found.Value, found.Advice = finding.Doubtful, "not asked", "it does not say how much memory it uses; allow +info"
	case limit == 0:
		found.Grade, found.Value, found.Advice = finding.Told, "none", "nothing bounds its memory but the machine, which kills it; set maxmemory"
	default:
		percent := used * 100 / limit
		found.Value = fmt.Sprintf("%d of %d bytes (%d %%)", used, limit, percent)
		if percent >= nearlyFull {
			found.Grade, found.Advice = finding.Told, "it is nearly full, and refuses messages when it is; set a larger maxmemory, or keep less (EARSHOT_RETENTION)"
		}
	}
	return []finding.Finding{found}
}
