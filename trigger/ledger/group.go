package ledger

import (
	"context"
	"errors"
	"slices"
	"sync"

	"earshot/repositories/keyspace"
)

// mostGrouped bounds the items of one script run, which blocks Redis for about two milliseconds.
const mostGrouped = 32

// noneLua defines noneOf(keys, args, places) for the shared part of a group script, which precedes the items
// with so many keys and arguments. It reports whether no key at these places of any item exists.
const noneLua = `
local function noneOf(key, argument, places)
  local names = {}
  while argument < #ARGV do
    for _, place in ipairs(places) do names[#names + 1] = KEYS[key + place] end
    key, argument = key + tonumber(ARGV[argument + 1]), argument + 2 + tonumber(ARGV[argument + 2])
  end
  return redis.call('EXISTS', unpack(names)) == 0
end
`

// group runs a script for many requests. Requests of an app that arrive during a run wait, and the next run
// does them together. A request that finds no run in progress runs the script at once.
type group struct {
	script *keyspace.GroupScript
	safe   bool // waits for replicas, as keyspace.Script.RunSafely
	mu     sync.Mutex
	// waiting lists the waiting requests by app; an app has an entry during a run.
	waiting map[string][]*grouped
}

func newGroup(script *keyspace.GroupScript, safe bool) *group {
	return &group{script: script, safe: safe, waiting: map[string][]*grouped{}}
}

// grouped is a request for one item.
type grouped struct {
	item keyspace.Part
	done chan groupReply // of a waiting request, from the one before it
}

var requests = sync.Pool{New: func() any { return &grouped{done: make(chan groupReply, 1)} }}

// release returns a request that nothing refers to any more, and to which nothing will be sent.
func (r *grouped) release() {
	r.item = keyspace.Part{}
	requests.Put(r)
}

// groupReply is the reply for an item, or tells the request that it leads: it must run the script for itself and
// those behind it.
type groupReply struct {
	raw    any
	common []string // of all items of the run
	err    error
	leads  bool
}

// run runs the script for an item. If ctx ends while another request runs it, the item's outcome is unknown.
//
// Only the request that runs the script calls shared.
func (g *group) run(ctx context.Context, db *keyspace.DB, appID string, shared func() keyspace.Part, item keyspace.Part) groupReply {
	own := requests.Get().(*grouped)
	own.item = item
	g.mu.Lock()
	waiting, busy := g.waiting[appID]
	if busy {
		waiting = append(waiting, own)
	}
	g.waiting[appID] = waiting
	g.mu.Unlock()
	if !busy {
		defer own.release()
		return g.lead(ctx, db, appID, shared, []*grouped{own})
	}
	select {
	case r := <-own.done:
		defer own.release()
		if !r.leads {
			return r
		}
		g.mu.Lock()
		next := g.waiting[appID]
		n := min(mostGrouped, len(next))
		g.waiting[appID] = slices.Clone(next[n:])
		g.mu.Unlock()
		return g.lead(context.WithoutCancel(ctx), db, appID, shared, next[:n])
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if at := slices.Index(g.waiting[appID], own); at > 0 {
		g.waiting[appID] = slices.Delete(g.waiting[appID], at, at+1)
	} else if at == 0 { // it may already lead: then the next one must
		g.waiting[appID] = g.waiting[appID][1:]
		select {
		case <-own.done:
			g.pass(appID)
		default:
		}
	}
	return groupReply{err: ctx.Err()}
}

// lead runs the script for requests, of which the first is the caller's. Then the next waiting request leads.
func (g *group) lead(ctx context.Context, db *keyspace.DB, appID string, shared func() keyspace.Part, list []*grouped) groupReply {
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.pass(appID)
	}()
	items := make([]keyspace.Part, len(list))
	for i, one := range list {
		items[i] = one.item
	}
	replies, common, err := g.script.Run(ctx, db, g.safe, shared(), items)
	if len(replies) != len(list) && (err == nil || errors.Is(err, keyspace.ErrReplicas)) {
		err = errors.New("the script has not answered for each item")
	}
	answer := func(i int) groupReply {
		if len(replies) != len(list) {
			return groupReply{err: err}
		}
		return groupReply{raw: replies[i], common: common, err: err}
	}
	for i, one := range list[1:] {
		one.done <- answer(i + 1)
	}
	return answer(0)
}

// pass makes the first waiting request lead. The caller holds the lock.
func (g *group) pass(appID string) {
	if waiting := g.waiting[appID]; len(waiting) > 0 {
		waiting[0].done <- groupReply{leads: true}
	} else {
		delete(g.waiting, appID)
	}
}

// appItem is an item of runTogether, with what all items of its app share. weight is what it counts towards the most
// that a run may do.
type appItem struct {
	app    string
	shared func() keyspace.Part
	item   keyspace.Part
	weight int
}

// runTogether runs a script for items of several apps in one round trip: once for each app, or more often if its items
// weigh more than most. It returns the reply of each item; nil if its run failed. The error is that of the first
// failed run.
func runTogether(ctx context.Context, db *keyspace.DB, script *keyspace.GroupScript, most int, list []appItem) ([]any, error) {
	type appRun struct {
		shared keyspace.Part
		items  []keyspace.Part
		places []int // in the list
		weight int
	}
	var runs []*appRun
	last := map[string]*appRun{}
	for i, one := range list {
		run := last[one.app]
		if run == nil || run.weight+one.weight > most {
			run = &appRun{shared: one.shared()}
			last[one.app], runs = run, append(runs, run)
		}
		run.items, run.places, run.weight = append(run.items, one.item), append(run.places, i), run.weight+one.weight
	}
	raw, err := script.RunAll(ctx, db, len(runs), func(i int) (keyspace.Part, []keyspace.Part) { return runs[i].shared, runs[i].items })
	replies := make([]any, len(list))
	for i, run := range runs {
		for j, one := range raw[i] {
			replies[run.places[j]] = one
		}
	}
	return replies, err
}
