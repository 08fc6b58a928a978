package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/deploy/faults/servers"
	"earshot/repositories/keyspace"
)

// A Redis Cluster that loses a master has another node take its place, and everybody has to find
// that one. What was answered must be there then: where replicas of Redis are waited for, whatever
// happens; where they are not, for whoever sends it again.

// layout is how a world with a Redis Cluster is set up.
type layout struct {
	wait int // replicas that have what is answered (EARSHOT_REDIS_WAIT)
	// alone has masters write that no replica follows, as one does for some time that has just
	// taken the place of another.
	alone bool
}

// settings are the further arguments of every node.
func (l *layout) settings() []string {
	if l.alone {
		return []string{"--min-replicas-to-write", "0"}
	}
	return nil
}

// loss is the death of a master, in times since it died.
type loss struct {
	app                       string
	promoted, whole, answered time.Duration
}

// found is how long after Redis was itself again somebody who asked all the time was answered.
func (l loss) found() time.Duration { return l.answered - max(l.promoted, l.whole) }

// foundLimit is how long that may take: several looks at the cluster, and one lease of 15 s, since
// replicas die as well, and one may have had the message under work.
const foundLimit = 20 * time.Second

// losing kills masters of the cluster, that of one app after that of the other.
func losing(o options, victims ...string) fault {
	return fault{"a master of the Redis Cluster is killed", func(w *world, ctx context.Context) error {
		for _, app := range victims {
			if err := w.loseMaster(ctx, app, false); err != nil {
				return err
			}
			wait(ctx, o.pick(time.Second, 5*time.Second))
		}
		return nil
	}}
}

// lagging kills a master when its replica has not heard of the last of what it took.
func lagging(unguarded bool) fault {
	return fault{"a master of the Redis Cluster is killed whose replica lags", func(w *world, ctx context.Context) error {
		if unguarded {
			for _, node := range w.cluster.Nodes {
				if err := node.Client.ConfigSet(ctx, "min-replicas-to-write", "0").Err(); err != nil {
					return err
				}
			}
		}
		return w.loseMaster(ctx, apps[0], true)
	}}
}

// lag is how long a replica hears of nothing; less than after which a node is given up.
const lag = 1500 * time.Millisecond

// loseMaster kills the master of an app's partition and lets its replica take its place. Where
// no master writes alone, the dead one comes back then, as the replica.
func (w *world) loseMaster(ctx context.Context, app string, lags bool) error {
	var master, heir *servers.Node
	if servers.Until(servers.ComeUp, func() (is bool) {
		var err error
		master, heir, err = w.cluster.Shard(ctx, keyspace.KeysOf(app).Due())
		return err == nil && master.Leads(ctx) || ctx.Err() != nil
	}) != nil || ctx.Err() != nil {
		return fmt.Errorf("the partition of %s has no master and replica: %w", app, ctx.Err())
	}
	if lags {
		heir.Freeze()
		if err := master.Client.Do(ctx, "CLIENT", "KILL", "TYPE", "replica").Err(); err != nil {
			return err
		}
		wait(ctx, lag)
	}
	master.Kill()
	died, answered := time.Now(), make(chan time.Duration, 1)
	heir.Thaw()
	go func() {
		w.probe(ctx, app)
		answered <- time.Since(died)
	}()
	l := loss{app: app}
	if err := servers.Until(servers.ComeUp, func() bool { return heir.Leads(ctx) || ctx.Err() != nil }); err != nil {
		return fmt.Errorf("no replica took the place of the master of %s: %w", app, err)
	}
	l.promoted = time.Since(died)
	if w.layout.alone {
		l.answered = <-answered
	}
	if err := master.Up(); err != nil {
		return err
	}
	if err := w.cluster.Whole(); err != nil {
		return fmt.Errorf("the cluster is not whole again: %w", err)
	}
	if !w.layout.alone {
		l.whole = time.Since(died)
		l.answered = <-answered
	}
	w.losses = append(w.losses, l)
	return ctx.Err()
}

// probe says something in an app until it is answered.
func (w *world) probe(ctx context.Context, app string) {
	s := &speaker{w.clients, app, w.clients.id("probe"), rand.New(rand.NewPCG(uint64(w.plan.seed), 2))}
	s.say(ctx, "note", `call note {"day":"monday"}`)
}

// mastersAreFound looks for losses after which the service did not answer soon.
func (e *evidence) mastersAreFound() (found []string) {
	for _, l := range e.losses {
		if l.found() > foundLimit {
			found = append(found, fmt.Sprintf("the master of %s died, and the service answered %s after Redis did", l.app, l.found().Round(time.Millisecond)))
		}
	}
	return found
}

// whatWasAnsweredIsKept looks for triggers that clients were told of and that were not listed
// before anybody asked again.
func (e *evidence) whatWasAnsweredIsKept() (found []string) {
	if e.kept == nil {
		return nil
	}
	for _, o := range e.operations {
		for _, id := range o.triggers() {
			if !e.kept[id] {
				found = append(found, fmt.Sprintf("trigger %s of %s %s is not there any more", id, o.Kind, o.ID))
			}
		}
	}
	return found
}

// listed are the ids of all triggers that the service knows.
func (c *clients) listed(ctx context.Context) (map[string]bool, error) {
	known := map[string]bool{}
	for _, app := range apps {
		records, err := read[record](ctx, c, sessionPath(app, "")+"/triggers")
		if err != nil {
			return nil, err
		}
		for _, one := range records {
			known[one.TriggerID] = true
		}
	}
	return known, nil
}

// eachMaster does something with the one Redis, or with every master of the cluster.
func (w *world) eachMaster(ctx context.Context, do func(context.Context, *redis.Client) error) error {
	if single, is := w.client.(*redis.Client); is {
		return do(ctx, single)
	}
	return w.cluster.Client.ForEachMaster(ctx, do)
}

// clustered are deeds of which Redis's replicas are known to have what was answered.
var clustered = slices.Concat(plain, agents, []deed{
	{2, func(s *speaker, ctx context.Context) { s.say(ctx, "charge", `call charge {"day":"monday"}`) }},
	{2, (*speaker).ask},
})

// summaryOf are the losses in words: when a replica was promoted, and when the service answered.
func summaryOf(losses []loss) string {
	var promoted, answered []time.Duration
	for _, l := range losses {
		promoted, answered = append(promoted, l.promoted), append(answered, l.answered)
	}
	return fmt.Sprintf("%d; %s / %s; %s / %s", len(losses), quantile(promoted, 0.5), quantile(promoted, 1), quantile(answered, 0.5), quantile(answered, 1))
}
