package keyspace

import (
	"context"
	"errors"
	"strconv"
	"strings"
)

// GroupScript is a script that processes several items of an app in one run. Their shared data is read and written
// once. An item may fail without the others.
type GroupScript struct {
	script *Script
	keys   int  // number of shared keys, before those of the items
	common bool // the script returns texts that its replies share
}

// Part has the keys and arguments of one item, or those that all items share.
type Part struct{ Keys, Args []string }

// Items are the parts of a GroupScript. Shared runs first; its lines KEYS and ARGV name the shared keys and
// arguments. Each is the body of a function that runs for every item; its lines ITEMKEYS and ITEMARGV name the
// item's first keys and arguments, and keys and args are their numbers, after KEYS[k] and ARGV[a]. It returns a list:
// a status, then names and values by turns, which are texts or lists of texts (see flatLua). End runs last.
//
// Common is a table of texts that the replies refer to by their places, counted from 1, so that a text that many
// items need is returned once; empty for none.
type Items struct{ Shared, Each, End, Common string }

// NewGroupScript prepares a GroupScript, after parts as in NewScript.
func NewGroupScript(items Items, parts ...string) *GroupScript {
	return newGroupScript(NewScript, items, parts)
}

// NewFreeingGroupScript is NewGroupScript for a script that even a full Redis runs.
func NewFreeingGroupScript(items Items, parts ...string) *GroupScript {
	return newGroupScript(NewFreeingScript, items, parts)
}

func newGroupScript(prepare func(...string) *Script, items Items, parts []string) *GroupScript {
	counts := map[string]int{}
	for _, line := range declarationLine.FindAllStringSubmatch(items.Shared, -1) {
		counts[line[2]] += len(strings.Fields(line[3]))
	}
	common := ""
	if items.Common != "" {
		common = "replies[#replies + 1] = flat({'', '', " + items.Common + "})"
	}
	return &GroupScript{keys: counts["KEYS"], common: common != "", script: prepare(append(parts, flatLua, items.Shared, "local function each(k, a, keys, args)", items.Each, "end", `
local replies, k, a = {}, `+strconv.Itoa(counts["KEYS"])+`, `+strconv.Itoa(counts["ARGV"])+`
while a < #ARGV do
  local keys, args = tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2])
  local ran, reply = pcall(each, k, a + 2, keys, args)
  replies[#replies + 1] = flat(ran and reply or {'failed', 'error', type(reply) == 'table' and reply.err or tostring(reply)})
  k, a = k + keys, a + 2 + args
end`, items.End, common, "return replies")...)}
}

// flatLua defines flat(reply), which writes an item's reply as one text: the status, then before each value a line
// with its name and size. Empty values are left out; a list repeats its name. go-redis makes two objects of every
// element of a list, and one of this text.
const flatLua = `
local function flat(reply)
  local parts = {reply[1]}
  local function add(name, text)
    parts[#parts + 1] = '\n' .. name .. ' ' .. whole(#text) .. '\n' .. text
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

// ReadItem reads an item's reply as flatLua writes it. It returns the status, and calls value for each name and value.
func ReadItem(reply any, value func(name, text string)) (status string) {
	text, _ := reply.(string)
	status, rest, _ := strings.Cut(text, "\n")
	for rest != "" {
		head, values, _ := strings.Cut(rest, "\n")
		name, size, _ := strings.Cut(head, " ")
		length, _ := strconv.Atoi(size) // written by flat
		length = min(length, len(values))
		value(name, values[:length])
		rest = strings.TrimPrefix(values[length:], "\n")
	}
	return status
}

// command makes one command for items. Of the shared keys, the first g.keys come before the items' keys, the others
// after.
func (g *GroupScript) command(db *DB, shared Part, items []Part) []any {
	keys, args := len(shared.Keys), len(shared.Args)
	for _, item := range items {
		keys, args = keys+len(item.Keys), args+len(item.Args)+2
	}
	command := g.script.head(db, keys, args)
	add := func(texts []string) { // as pointers: as values, each is an object of its own
		for i := range texts {
			command = append(command, &texts[i])
		}
	}
	add(shared.Keys[:g.keys])
	for _, item := range items {
		add(item.Keys)
	}
	add(shared.Keys[g.keys:])
	add(shared.Args)
	for _, item := range items {
		command = append(command, len(item.Keys), len(item.Args))
		add(item.Args)
	}
	return command
}

// Run runs the script for items, and returns a reply for each and their common texts. With safely it waits for
// replicas like RunSafely: even with ErrReplicas the replies are returned.
func (g *GroupScript) Run(ctx context.Context, db *DB, safely bool, shared Part, items []Part) (replies []any, common []string, err error) {
	run := g.script.run
	if safely {
		run = g.script.runSafely
	}
	raw, err := run(ctx, db, g.command(db, shared, items))
	if err != nil && !errors.Is(err, ErrReplicas) {
		return nil, nil, err
	}
	replies, _ = raw.([]any)
	if last := len(replies) - 1; g.common && last >= 0 {
		ReadItem(replies[last], func(_, text string) { common = append(common, text) })
		replies = replies[:last]
	}
	return replies, common, err
}

// RunAll runs the script, which has no common texts, for items of several apps in one round trip, and returns the
// replies for each app. of returns an app's shared keys and arguments, and its items.
func (g *GroupScript) RunAll(ctx context.Context, db *DB, apps int, of func(app int) (Part, []Part)) ([][]any, error) {
	raw, err := g.script.runAll(ctx, db, apps, func(i int) []any {
		shared, items := of(i)
		return g.command(db, shared, items)
	})
	replies := make([][]any, apps)
	for i := range raw {
		replies[i], _ = raw[i].([]any)
	}
	return replies, err
}
