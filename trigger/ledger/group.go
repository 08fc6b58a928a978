package ledger

import (
	"context"
	"errors"
	"slices"
	"sync"

	"earshot/repositories/keyspace"
)

// mostGrouped is how many items one run of a script does at most: Redis serves nobody else for about two milliseconds.
const mostGrouped = 32

// noneLua defines noneOf(keys, args, places) for what the items of a group script share, which is behind so many keys and
// arguments: whether none of the keys is there that are at those places of each item.
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

// group runs a script for many requests: what arrives for an app while the script runs for it waits, and is done by
// the next run, all of it together. A request that finds nothing under way runs the script by itself, at once.
type group struct {
	script *keyspace.GroupScript
	mu     sync.Mutex
	// waiting are the requests of an app that wait; an app has an entry while the script runs for it.
	waiting map[string][]*grouped
}

func newGroup(script *keyspace.GroupScript) *group {
	return &group{script: script, waiting: map[string][]*grouped{}}
}

// grouped is a request for one item.
type grouped struct {
	item  keyspace.Part
	done  chan groupReply // gets the reply, from who has run the script
	leads chan struct{}   // closed when it is this request's turn to run the script, for itself and those behind it
}

type groupReply struct {
	raw any
	err error
}

// run has the script run for an item, safely as keyspace.Script.RunSafely. If ctx ends while another request runs it,
// it is not known whether the item was done.
//
// Only the request that runs the script needs what the items share.
func (g *group) run(ctx context.Context, db *keyspace.DB, appID string, shared func() keyspace.Part, item keyspace.Part) (raw any, err error) {
	own := &grouped{item: item, done: make(chan groupReply, 1), leads: make(chan struct{})}
	g.mu.Lock()
	waiting, busy := g.waiting[appID]
	if busy {
		waiting = append(waiting, own)
	}
	g.waiting[appID] = waiting
	g.mu.Unlock()
	if !busy {
		return g.lead(ctx, db, appID, shared, []*grouped{own})
	}
	select {
	case r := <-own.done:
		return r.raw, r.err
	case <-own.leads:
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
	} else if at == 0 { // it may lead already: then the next one does
		g.waiting[appID] = g.waiting[appID][1:]
		select {
		case <-own.leads:
			g.pass(appID)
		default:
		}
	}
	return nil, ctx.Err()
}

// lead runs the script for requests, the first of which is the caller's, and has the next one run it for those that
// have arrived meanwhile.
func (g *group) lead(ctx context.Context, db *keyspace.DB, appID string, shared func() keyspace.Part, list []*grouped) (any, error) {
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.pass(appID)
	}()
	items := make([]keyspace.Part, len(list))
	for i, one := range list {
		items[i] = one.item
	}
	replies, err := g.script.Run(ctx, db, true, shared(), items)
	if len(replies) != len(list) && (err == nil || errors.Is(err, keyspace.ErrReplicas)) {
		err = errors.New("the script has not answered for each item")
	}
	answer := func(i int) groupReply {
		if len(replies) != len(list) {
			return groupReply{err: err}
		}
		return groupReply{replies[i], err}
	}
	for i, one := range list[1:] {
		one.done <- answer(i + 1)
	}
	return answer(0).raw, answer(0).err
}

// pass has the first request that waits lead. The caller has the lock.
func (g *group) pass(appID string) {
	if waiting := g.waiting[appID]; len(waiting) > 0 {
		close(waiting[0].leads)
	} else {
		delete(g.waiting, appID)
	}
}
