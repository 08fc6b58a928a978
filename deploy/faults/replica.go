package main

import (
	"context"
	"fmt"
	"net/http"
	"syscall"
	"time"

	"earshot/deploy/faults/servers"
	"earshot/deploy/testbed"
	"earshot/repositories/failpoint"
)

// replica is a place for one earshot serve, which is started again as soon as it has
// died.
type replica struct {
	world   *world
	slot    int
	addr    string
	process *servers.Process
	plan    *schedule
	over    chan struct{} // closed when it is not to be started again
	ended   chan struct{} // closed when its last life is over

}

func newReplica(w *world, slot int, plan *schedule) (*replica, error) {
	port, err := testbed.Port()
	if err != nil {
		return nil, err
	}
	r := &replica{
		world: w, slot: slot, addr: servers.Address(port), plan: plan, over: make(chan struct{}), ended: make(chan struct{}),
		process: servers.New(w.dir, fmt.Sprintf("replica-%d", slot), w.programs.earshot, "serve"),
	}
	if err := r.process.Start(r.environment("")...); err != nil {
		return nil, err
	}
	go r.keep("")
	return r, nil
}

// environment puts the clock of the first replica five minutes ahead of the second's.
func (r *replica) environment(crash string) []string {
	env := r.world.environment(r.addr)
	if crash != "" {
		env = append(env, crash)
	}
	switch r.slot {
	case 1:
		env = append(env, "EARSHOT_CLOCK_SKEW=-150s")
	case 2:
		env = append(env, "EARSHOT_CLOCK_SKEW=150s")
	}
	return env
}

// keep starts the replica again whenever it has died, each time to die at another
// point, for as long as the schedule has some.
func (r *replica) keep(point failpoint.Point) {
	defer close(r.ended)
	for {
		r.watch(point)
		if point != "" {
			r.plan.over()
		}
		select {
		case <-r.over:
			return
		default:
		}
		var env string
		point, env = r.plan.next()
		if err := r.process.Start(r.environment(env)...); err != nil {
			r.world.trouble(fmt.Errorf("replica %d does not start: %w", r.slot, err))
			return
		}
	}
}

// watch waits until the present life is over, and ends one that does not come to its
// point. A replica without one is ended as soon as the schedule has one for it.
func (r *replica) watch(point failpoint.Point) {
	limit := time.After(patience(point))
	if point == failpoint.ShutdownBegun {
		_ = servers.Until(servers.ComeUp, r.ready)
		r.process.Signal(syscall.SIGTERM)
	}
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-r.process.Life():
			r.dead(point)
			return
		case <-look.C:
			if point == "" && r.plan.pending() {
				r.killAnywhere()
				return
			}
		case <-limit:
			if point != "" {
				r.plan.missed(point)
				r.killAnywhere()
				return
			}
		}
	}
}

// dead notes how a life has ended. None ends by itself, but for one that was told to.
func (r *replica) dead(point failpoint.Point) {
	switch how := r.process.End(); {
	case how.Killed && point != "":
		r.plan.died(point)
	case !how.Killed && (point != failpoint.ShutdownBegun || how.Code != 0):
		r.world.trouble(fmt.Errorf("replica %d has ended by itself with %d; see %s", r.slot, how.Code, r.process.Log))
		wait(context.Background(), time.Second) // it would end again at once
	}
}

func (r *replica) killAnywhere() {
	r.process.Kill()
	r.plan.died("")
}

// close ends the replica for good.
func (r *replica) close() {
	close(r.over)
	r.process.Thaw()
	r.process.Kill()
	<-r.ended
}

func (r *replica) url() string { return "http://" + r.addr }

func (r *replica) ready() bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url()+"/readyz", nil)
	if err != nil {
		return false
	}
	response, err := httpClient.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}
