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

// Part are the keys and arguments of one item, or those that all items share. An argument that is no text is sent as
// one, and a bool as Flag has it.
type Part struct{ Keys, Args []string }

// Flag is a bool as an argument: 1 or 0.
func Flag(is bool) string {
	if is {
		return "1"
	}
	return "0"
}

// Number is an integer as an argument.
func Number[N int | int64](n N) string { return strconv.FormatInt(int64(n), 10) }

// Items are what a GroupScript has in parts: Shared runs first, and its lines KEYS and ARGV name what the items share.
// Each is the body of a function that runs for every item and returns its reply: a status, then names and values by turns,
// which are texts or lists of texts (see flatLua). Its lines ITEMKEYS and ITEMARGV
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
	return &GroupScript{keys: counts["KEYS"], script: prepare(append(parts, flatLua, items.Shared, "local function each(k, a, keys, args)", items.Each, "end", `
local replies, k, a = {}, `+strconv.Itoa(counts["KEYS"])+`, `+strconv.Itoa(counts["ARGV"])+`
while a < #ARGV do
  local keys, args = tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2])
  local ran, reply = pcall(each, k, a + 2, keys, args)
  replies[#replies + 1] = flat(ran and reply or {'failed', 'error', type(reply) == 'table' and reply.err or tostring(reply)})
  k, a = k + keys, a + 2 + args
end`, items.End, "return replies")...)}
}

// flatLua defines flat(reply), the reply of an item as one text: of a list of texts Go makes two objects for each. Status and
// values stand behind lines with names and sizes; an empty value is left out.
const flatLua = `
local function flat(reply)
  local parts = {reply[1]}
  local function add(name, text)
    parts[#parts + 1] = '\n' .. name .. ' ' .. #text .. '\n' .. text
  end
  for i = 2, #reply, 2 do
    local value = reply[i + 1]
    if type(value) == 'table' then
      for _, text in ipairs(value) do add(reply[i], text) end
    elseif value and value ~= '' then
      add(reply[i], tostring(value))
    end
  end
  return table.concat(parts)
end
`

// call is a run for items. The keys of shared begin with those that the items share; the others come last.
func (g *GroupScript) call(shared Part, items []Part) Call {
	keys, args := len(shared.Keys), len(shared.Args)
	for _, item := range items {
		keys, args = keys+len(item.Keys), args+len(item.Args)+2
	}
	all := Call{Keys: append(make([]string, 0, keys), shared.Keys[:g.keys]...), Args: make([]any, 0, args)}
	send := func(args []string) { // with pointers: as values, each is an object of its own
		for i := range args {
			all.Args = append(all.Args, &args[i])
		}
	}
	send(shared.Args)
	for _, item := range items {
		all.Keys, all.Args = append(all.Keys, item.Keys...), append(all.Args, len(item.Keys), len(item.Args))
		send(item.Args)
	}
	all.Keys = append(all.Keys, shared.Keys[g.keys:]...)
	return all
}

// Run runs the script for items, and returns a reply for each. With safely it waits for replicas as RunSafely does:
// its error may be ErrReplicas, and the replies are there all the same.
func (g *GroupScript) Run(ctx context.Context, db *DB, safely bool, shared Part, items []Part) ([]any, error) {
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
func (g *GroupScript) RunAll(ctx context.Context, db *DB, apps int, of func(app int) (Part, []Part)) ([][]any, error) {
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
