package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"earshot/repositories/crash"
)

const (
	replicas = 3
	speakers = 24
)

// restLimit is how long what is owed may take when all is quiet again: several leases,
// as a call may have died several times.
const restLimit = 90 * time.Second

// campaign runs eras until there were enough kills and enough time has passed. Every
// era has a world of its own and is closed with its books balanced.
func campaign(ctx context.Context, o options) (*outcome, error) {
	dir, err := workspace(o.dir)
	if err != nil {
		return nil, err
	}
	made, err := build(ctx, dir, o.race)
	if err != nil {
		return nil, err
	}
	found := &outcome{seed: o.seed, kills: map[crash.Point]int{}, faults: map[string]int{}}
	plan, begun := newSchedule(o.seed), time.Now()
	defer func() { found.kills, found.random, found.took = plan.kills, plan.random, time.Since(begun) }()
	for n := 0; n == 0 || ctx.Err() == nil && (plan.total() < o.kills || time.Since(begun) < o.duration); n++ {
		for _, run := range eras(o) {
			run.dir = filepath.Join(dir, fmt.Sprintf("%d-%s", n, run.name))
			if err := run.run(ctx, o, made, plan, found); err != nil {
				return found, fmt.Errorf("era %s: %w; its logs are in %s", run.name, err, run.dir)
			}
		}
		o.seed++
	}
	if o.dir == "" && len(found.violations) == 0 {
		return found, os.RemoveAll(dir)
	}
	o.logf("logs and data are in %s", dir)
	return found, nil
}

// eras are what a campaign consists of. Where many kills are asked for, most of the
// time is theirs.
func eras(o options) []era {
	kills := len(crash.Points())
	if o.kills > kills {
		kills *= 5
	}
	return []era{
		{name: "kills", kills: kills},
		{name: "recovery", faults: []fault{death}, calm: true},
		{name: "faults", faults: faults},
		{name: "deletion", faults: []fault{deletion}, kills: 5, deleted: true},
	}
}

func workspace(dir string) (string, error) {
	if dir == "" {
		return os.MkdirTemp("", "earshot-faults-")
	}
	return filepath.Abs(dir)
}

// era is a time in which certain things go wrong.
type era struct {
	name    string
	dir     string
	kills   int
	faults  []fault
	deleted bool // the stream is
	calm    bool // recovery is measured all through it
}

func (r era) run(ctx context.Context, o options, made programs, plan *schedule, found *outcome) error {
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return err
	}
	w, err := newWorld(ctx, made, r.dir, replicas, plan, o.logf)
	if err != nil {
		return err
	}
	defer w.close()
	var storm atomic.Bool
	storm.Store(!r.calm)
	c := &clients{world: w, calm: func() bool { return !storm.Load() }}
	if err := c.prepare(ctx); err != nil {
		return err
	}
	begun := time.Now()
	stop := c.begin(ctx, o.seed)
	plan.arm(r.kills)
	_ = until(10*time.Minute, func() bool { return ctx.Err() != nil || !plan.pending() })
	for _, one := range r.faults {
		o.logf("era %s: %s", r.name, one.name)
		if err := one.do(w, ctx); err != nil {
			stop()
			return fmt.Errorf("%s: %w", one.name, err)
		}
		found.faults[one.name]++
	}
	wait(ctx, 3*time.Second)
	stop()
	o.logf("era %s: quiet after %s, %d operations", r.name, time.Since(begun).Round(time.Second), len(c.done))
	if err := w.rest(restLimit); err != nil {
		o.logf("era %s: %d are still owed", r.name, w.due())
	}
	return r.balance(ctx, w, c, found)
}

// balance closes the books of the era.
func (r era) balance(ctx context.Context, w *world, c *clients, found *outcome) error {
	if err := w.await(ctx); err != nil {
		return err
	}
	if err := c.retryFailed(ctx); err != nil {
		return err
	}
	e, err := gather(ctx, w, c, r.deleted)
	if err != nil {
		return err
	}
	for _, violation := range e.violations() {
		found.violations = append(found.violations, r.name+": "+violation)
	}
	for _, o := range e.operations {
		if o.ID != "" {
			found.messages++
		}
		if o.Recovery > 0 && !o.Disturbed {
			found.recoveries = append(found.recoveries, o.Recovery)
		}
	}
	found.repeats += len(e.again)
	found.triggers += len(e.byID())
	found.effects += len(e.stored) + len(e.calls)
	found.lost += w.proxy.lost.Load()
	return nil
}

// prepare registers the apps with their tools.
func (c *clients) prepare(ctx context.Context) error {
	for _, app := range apps {
		path := "/v1/apps/" + app
		for _, step := range [][2]string{{path, c.world.app()}, {path + "/repositories/desk", c.world.desk()}} {
			status, answer, err := c.ask(ctx, c.world.replicas[0].url()+step[0], http.MethodPut, step[1])
			if err != nil || status >= 300 {
				return fmt.Errorf("PUT %s: %d %s %w", step[0], status, answer, err)
			}
		}
	}
	return nil
}

// retryFailed retries what has failed, as an operator does. Not all was retried by the
// client that was told of it: a call may fail after its message is answered.
func (c *clients) retryFailed(ctx context.Context) error {
	for _, app := range apps {
		records, err := read[record](ctx, c, sessionPath(app, "")+"/triggers")
		if err != nil {
			return err
		}
		for _, one := range records {
			if one.State != "failed" {
				continue
			}
			path := sessionPath(app, "") + "/triggers/" + one.TriggerID + "/retry"
			if status, answer, err := c.ask(ctx, c.world.replicas[0].url()+path, http.MethodPost, ""); err != nil || status != http.StatusAccepted {
				return fmt.Errorf("POST %s: %d %s %w", path, status, answer, err)
			}
		}
	}
	return c.world.rest(restLimit)
}

// begin lets the speakers speak until the returned function is called, which waits for
// the answers to what they have said.
func (c *clients) begin(ctx context.Context, seed int64) (stop func()) {
	speaking, silence := context.WithCancel(ctx)
	var group sync.WaitGroup
	for i := range speakers {
		s := &speaker{c, apps[i%len(apps)], fmt.Sprintf("s%d", i), rand.New(rand.NewPCG(uint64(seed), uint64(i)))}
		group.Go(func() { s.speak(speaking, ctx) })
	}
	return func() {
		silence()
		group.Wait()
	}
}
