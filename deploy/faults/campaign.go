package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"earshot/repositories/failpoint"
)

const (
	replicas = 3
	speakers = 24
)

// campaign runs eras until there were enough kills and enough time has passed. Every
// era has a world of its own and is closed with its books balanced. An era that does
// not come to rest ends the campaign with its round.
func campaign(ctx context.Context, o options) (*outcome, error) {
	dir, err := workspace(o.dir)
	if err != nil {
		return nil, err
	}
	if o.programs == (programs{}) {
		if o.programs, err = build(ctx, dir, o.race); err != nil {
			return nil, err
		}
	}
	found := &outcome{seed: o.seed, asked: o.kills, kills: map[failpoint.Point]int{}, faults: map[string]int{}}
	plan, begun := newSchedule(o.seed, o.points), time.Now()
	defer func() { found.kills, found.random, found.took = plan.kills, plan.random, time.Since(begun) }()
	for n := 0; n == 0 || o.goesOn(ctx, n, time.Since(begun), plan.total()) && found.unsound() == 0; n++ {
		for _, run := range o.eras {
			if found.cut = ctx.Err() != nil; found.cut {
				return found, nil
			}
			run.dir = filepath.Join(dir, fmt.Sprintf("%d-%s", n, run.name))
			run.run(ctx, o, plan, found)
		}
		o.seed++
	}
	if o.dir == "" && len(found.violations()) == 0 && found.unsound() == 0 {
		return found, os.RemoveAll(dir)
	}
	o.logf("logs and data are in %s", dir)
	return found, nil
}

// goesOn reports whether there is another round after so many: more kills or time are
// asked for, and it fits into what the campaign may take.
func (o options) goesOn(ctx context.Context, rounds int, spent time.Duration, kills int) bool {
	if o.within > 0 && spent+spent/time.Duration(rounds) > o.within {
		return false
	}
	return ctx.Err() == nil && (kills < o.kills || spent < o.duration)
}

func workspace(dir string) (string, error) {
	if dir == "" {
		return os.MkdirTemp("", "earshot-faults-")
	}
	return filepath.Abs(dir)
}

// prepare registers the apps with their tools.
func (c *clients) prepare(ctx context.Context) error {
	for _, app := range apps {
		path := "/v1/apps/" + app
		for _, step := range [][2]string{{path, c.world.app(app)}, {path + "/repositories/desk", c.world.desk()}, {path + "/repositories/remote", remote}} {
			status, answer, err := c.ask(ctx, c.world.replicas[0].url()+step[0], http.MethodPut, step[1])
			if err != nil || status >= 300 {
				return fmt.Errorf("PUT %s: %d %s %v", step[0], status, answer, err)
			}
		}
	}
	return nil
}

// retryFailed retries what has failed, as an operator does, and notes how it had
// failed. Not all was retried by the client that was told of it: a call may fail after
// its message is answered. It returns how many that were.
func (c *clients) retryFailed(ctx context.Context) (retried int, err error) {
	for _, app := range apps {
		records, err := read[record](ctx, c, sessionPath(app, "")+"/triggers")
		if err != nil {
			return retried, err
		}
		for _, one := range records {
			if one.State != "failed" || one.Name == "mute" { // nobody answers that
				continue
			}
			c.failed = append(c.failed, one)
			c.retried[one.TriggerID]++
			path := sessionPath(app, "") + "/triggers/" + one.TriggerID + "/retry"
			if status, answer, err := c.ask(ctx, c.world.replicas[0].url()+path, http.MethodPost, ""); err != nil || status != http.StatusAccepted {
				return retried, fmt.Errorf("POST %s: %d %s %v", path, status, answer, err)
			}
			retried++
		}
	}
	return retried, nil
}

// begin lets the speakers speak until the returned function is called, which waits for
// the answers to what they have said.
func (c *clients) begin(ctx context.Context, seed int64, mix []deed) (stop func()) {
	speaking, silence := context.WithCancel(ctx)
	var group sync.WaitGroup
	for i := range speakers {
		s := &speaker{c, apps[i%len(apps)], fmt.Sprintf("s%d", i), rand.New(rand.NewPCG(uint64(seed), uint64(i)))}
		group.Go(func() { s.speak(speaking, ctx, mix) })
	}
	return func() {
		silence()
		group.Wait()
	}
}
