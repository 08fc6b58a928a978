package keyspace

import (
	"context"
	"errors"
	"strconv"
	"strings"
)

// GroupScript is a script that does one thing for several items of an app in one run: what they share is read and
// written once. An item that fails does so alone.
type GroupScript struct {
	script *Script
	keys   int // that the items share, before those of the items
}

// Items are what a GroupScript has in parts: Shared runs first, and its lines KEYS and ARGV name what the items share.
// Each is the body of a function that runs for every item and returns its reply. Its lines ITEMKEYS and ITEMARGV
// name the first keys and arguments of the item; it has as many as keys and args say, behind KEYS[k] and ARGV[a].
// End runs after the last item.
type Items struct{ Shared, Each, End string }

// NewGroupScript prepares a GroupScript, behind parts as NewScript has them.
func NewGroupScript(items Items, parts ...string) *GroupScript {
	return newGroupScript(NewScript, items, parts)
}

// NewFreeingGroupScript is NewGroupScript for a script that a full Redis runs all the same.
func NewFreeingGroupScript(items Items, parts ...string) *GroupScript {
	return newGroupScript(NewFreeingScript, items, parts)
}

func newGroupScript(prepare func(...string) *Script, items Items, parts []string) *GroupScript {
	counts := map[string]int{}
	for _, line := range declared.FindAllStringSubmatch(items.Shared, -1) {
		counts[line[2]] += len(strings.Fields(line[3]))
	}
	return &GroupScript{keys: counts["KEYS"], script: prepare(append(parts, items.Shared, "local function each(k, a, keys, args)", items.Each, "end", `
local replies, k, a = {}, `+strconv.Itoa(counts["KEYS"])+`, `+strconv.Itoa(counts["ARGV"])+`
while a < #ARGV do
  local keys, args = tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2])
  local ran, reply = pcall(each, k, a + 2, keys, args)
  replies[#replies + 1] = ran and reply or {'failed', 'error', type(reply) == 'table' and reply.err or tostring(reply)}
  k, a = k + keys, a + 2 + args
end`, items.End, "return replies")...)}
}

// call is a run for items. The keys of shared begin with those that the items share; the others come last.
func (g *GroupScript) call(shared Call, items []Call) Call {
	keys, args := len(shared.Keys), len(shared.Args)
	for _, item := range items {
		keys, args = keys+len(item.Keys), args+len(item.Args)+2
	}
	all := Call{Keys: append(make([]string, 0, keys), shared.Keys[:g.keys]...), Args: append(make([]any, 0, args), shared.Args...)}
	for _, item := range items {
		all.Keys = append(all.Keys, item.Keys...)
		all.Args = append(append(all.Args, len(item.Keys), len(item.Args)), item.Args...)
	}
	all.Keys = append(all.Keys, shared.Keys[g.keys:]...)
	return all
}

// Run runs the script for items, and returns a reply for each. With safely it waits for replicas as RunSafely does:
// its error may be ErrReplicas, and the replies are there all the same.
func (g *GroupScript) Run(ctx context.Context, db *DB, safely bool, shared Call, items []Call) ([]any, error) {
	all, run := g.call(shared, items), g.script.Run
	if safely {
		run = g.script.RunSafely
	}
	raw, err := run(ctx, db, all.Keys, all.Args...)
	if err != nil && !errors.Is(err, ErrReplicas) {
		return nil, err
	}
	replies, _ := raw.([]any)
	return replies, err
}

// RunAll runs the script for the items of several apps in one round trip, and returns the replies for each app. of
// returns what the items of an app share, and the items.
func (g *GroupScript) RunAll(ctx context.Context, db *DB, apps int, of func(app int) (Call, []Call)) ([][]any, error) {
	calls := make([]Call, apps)
	for i := range calls {
		calls[i] = g.call(of(i))
	}
	raw, err := g.script.RunAll(ctx, db, calls)
	replies := make([][]any, apps)
	for i := range raw {
		replies[i], _ = raw[i].([]any)
	}
	return replies, err
}
