package keyspace

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// ErrUnavailable means that Redis did not answer, or cannot serve now. The request may have taken effect; scripts
// are safe to repeat.
var ErrUnavailable = errors.New("the store is not available")

// ErrMemory means that Redis is out of memory and wrote nothing. Scripts that free memory or revoke something still
// work. It always comes with ErrUnavailable.
var ErrMemory error = memoryError{}

type memoryError struct{}

func (memoryError) Error() string { return "redis is full: it is at its maxmemory" }

// Public returns the text for clients, which follows the word redis.
func (memoryError) Public() string { return "is full" }

// DB is the connection to the Redis that all replicas share.
type DB struct {
	redis.UniversalClient
	// Embedded marks miniredis, the store of earshot dev, whose Lua cannot read the #! line of a script.
	Embedded bool
	Replicas Replicas // the replicas that RunSafely waits for; the embedded store has none
}

// Script is a Lua script, which lives beside the Go function that calls it. A Redis server runs it with the line
// #!lua, so that even a single node checks keys like a cluster. The embedded store cannot read that line.
type Script struct{ server, embedded *scriptText }

type scriptText struct{ lua, hash string }

func newScriptText(lua string) *scriptText { return &scriptText{lua, redis.NewScript(lua).Hash()} }

// NewScript prepares a script from its parts. The only clock is the TIME of Redis, as now() in milliseconds and
// micros() in microseconds; it stands still during a script. A part may begin with lines that name its keys and
// arguments, as "KEYS app turns" and "ARGV id token": then @turns is KEYS[2], and $id is ARGV[1].
//
// A full Redis refuses the script before it runs.
func NewScript(parts ...string) *Script { return newScript("#!lua\n", parts) }

// NewFreeingScript prepares a script that even a full Redis runs: it removes or revokes something, or completes
// pending work, and writes little.
func NewFreeingScript(parts ...string) *Script { return newScript("#!lua flags=allow-oom\n", parts) }

// NewReadingScript prepares a script that writes nothing. A full Redis and a replica also run it.
func NewReadingScript(parts ...string) *Script {
	return newScript("#!lua flags=no-writes,allow-oom\n", parts)
}

func newScript(shebang string, parts []string) *Script {
	lua := nowLua + resolveNames(strings.Join(parts, "\n"))
	return &Script{server: newScriptText(shebang + lua), embedded: newScriptText(lua)}
}

var (
	declarationLine = regexp.MustCompile(`(?m)^(ITEM)?(KEYS|ARGV) (.*)\n`)
	nameUse         = regexp.MustCompile(`[@$][a-z]\w*`)
)

// resolveNames replaces the names of keys (@name) and arguments ($name) of a script by their places, in the order of its
// KEYS and ARGV lines. ITEMKEYS and ITEMARGV name those of a group's item, which are after KEYS[k] and ARGV[a].
func resolveNames(lua string) string {
	places, counts := map[string]string{}, map[string]int{}
	for _, line := range declarationLine.FindAllStringSubmatch(lua, -1) {
		offset := map[string]string{"ITEMKEYS": "k + ", "ITEMARGV": "a + "}[line[1]+line[2]]
		for name := range strings.FieldsSeq(line[3]) {
			counts[line[1]+line[2]]++
			places[map[string]string{"KEYS": "@", "ARGV": "$"}[line[2]]+name] = line[2] + "[" + offset + strconv.Itoa(counts[line[1]+line[2]]) + "]"
		}
	}
	if len(places) == 0 {
		return lua
	}
	return nameUse.ReplaceAllStringFunc(declarationLine.ReplaceAllString(lua, ""), func(name string) string {
		place, ok := places[name]
		if !ok {
			panic("keyspace: a script names " + name + ", which is none of its keys and arguments")
		}
		return place
	})
}

// nowLua defines micros() and now(), the time in microseconds and in milliseconds, the same for all of a script, and
// whole(n), the text of a whole number: Redis writes a number of Lua as a fraction, which takes ten times as long.
const nowLua = `
local function whole(n) return string.format('%d', n) end
local clock
local function micros()
  if not clock then
    local t = redis.call('TIME')
    clock = t[1] * 1000000 + t[2]
  end
  return clock
end
local function now() return math.floor(micros() / 1000) end
`

// Run runs the script by its hash, or by its text if the server does not know the hash. The error wraps
// ErrUnavailable if the server failed and not the script.
func (s *Script) Run(ctx context.Context, db *DB, keys []string, args ...any) (any, error) {
	return s.run(ctx, db, s.command(db, keys, args))
}

// command is EVALSHA with keys and arguments. It points to the keys, which saves an allocation for each.
func (s *Script) command(db *DB, keys []string, args []any) []any {
	command := s.head(db, len(keys), len(args))
	for i := range keys {
		command = append(command, &keys[i])
	}
	return append(command, args...)
}

// head begins a command with so many keys and arguments.
func (s *Script) head(db *DB, keys, args int) []any {
	return append(make([]any, 0, firstKey+keys+args), "evalsha", &s.variant(db).hash, keys)
}

// firstKey is the place of a script's first key in its command.
const firstKey = 3

func (s *Script) run(ctx context.Context, db *DB, command []any) (any, error) {
	run := newCommand(ctx, command)
	_ = db.Process(ctx, run) // the command holds its own error
	reply, err := run.Result()
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		run = newCommand(ctx, s.byText(db, command))
		_ = db.Process(ctx, run)
		reply, err = run.Result()
	}
	return reply, Unavailable(err)
}

func newCommand(ctx context.Context, command []any) *redis.Cmd {
	run := redis.NewCmd(ctx, command...)
	if command[firstKey-1] != 0 {
		run.SetFirstKeyPos(firstKey)
	}
	return run
}

// byText returns a command as EVAL with the script's text.
func (s *Script) byText(db *DB, command []any) []any {
	command = slices.Clone(command)
	command[0], command[1] = "eval", &s.variant(db).lua
	return command
}

func (s *Script) variant(db *DB) *scriptText {
	if db.Embedded {
		return s.embedded
	}
	return s.server
}

// Call is the keys and arguments of one run of a script.
type Call struct {
	Keys []string
	Args []any
}

// RunAll runs the script for several calls in one round trip, and returns the replies in order. All calls run even
// if some fail; the error is the first one.
func (s *Script) RunAll(ctx context.Context, db *DB, calls []Call) ([]any, error) {
	return s.runAll(ctx, db, len(calls), func(i int) []any { return s.command(db, calls[i].Keys, calls[i].Args) })
}

func (s *Script) runAll(ctx context.Context, db *DB, count int, command func(i int) []any) ([]any, error) {
	if count == 1 {
		reply, err := s.run(ctx, db, command(0))
		return []any{reply}, err
	}
	pipe, runs := db.Pipeline(), make([]*redis.Cmd, count)
	for i := range runs {
		runs[i] = newCommand(ctx, command(i))
		_ = pipe.Process(ctx, runs[i]) // queues
	}
	_, _ = pipe.Exec(ctx) // each command holds its own error
	replies := make([]any, count)
	var first error
	for i, run := range runs {
		reply, err := run.Result()
		if err = Unavailable(err); redis.HasErrorPrefix(err, "NOSCRIPT") {
			reply, err = s.run(ctx, db, run.Args())
		}
		if replies[i] = reply; first == nil {
			first = err
		}
	}
	return replies, first
}

// HashFields reads fields of several hashes in one round trip; missing ones are empty.
func (db *DB) HashFields(ctx context.Context, keys []string, fields ...string) ([][]string, error) {
	pipe, read := db.Pipeline(), make([][]string, len(keys))
	for _, key := range keys {
		pipe.HMGet(ctx, key, fields...)
	}
	replies, err := pipe.Exec(ctx)
	if err != nil {
		return nil, Unavailable(err)
	}
	for i, reply := range replies {
		read[i] = Fields(reply.(*redis.SliceCmd).Val())
	}
	return read, nil
}

// Sizes returns the total size in bytes of fields of a hash, for several hashes in one round trip.
func (db *DB) Sizes(ctx context.Context, count int, fieldsOf func(i int) (key string, fields []string)) ([]int64, error) {
	pipe, sizes := db.Pipeline(), make([]int64, count)
	var owners []int
	for i := range count {
		key, fields := fieldsOf(i)
		for _, field := range fields {
			owners = append(owners, i)
			pipe.HStrLen(ctx, key, field)
		}
	}
	replies, err := pipe.Exec(ctx)
	if err != nil {
		return nil, Unavailable(err)
	}
	for i, reply := range replies {
		sizes[owners[i]] += reply.(*redis.IntCmd).Val()
	}
	return sizes, nil
}

// Fields returns the values of a reply as texts; missing ones are empty.
func Fields(reply []any) []string {
	fields := make([]string, len(reply))
	for i, item := range reply {
		fields[i], _ = item.(string)
	}
	return fields
}

// unavailableCodes lists the error replies of a server that cannot serve temporarily. Passwords are included because
// servers and clients change them at different times.
var unavailableCodes = []string{
	"LOADING", "READONLY", "CLUSTERDOWN", "MASTERDOWN", "TRYAGAIN", "MOVED", "ASK", "OOM", "NOREPLICAS", "MISCONF", "BUSY", "UNKILLABLE",
	"WRONGPASS", "NOAUTH", "NOPERM", "ERR max number of clients",
}

// scriptDenied is in the reply to a script with a command that its user may not run. It has no code of its own.
const scriptDenied = "The user executing the script can't run"

// Unavailable wraps an error of go-redis with ErrUnavailable if the server or the network failed, and with
// ErrMemory if the server is full. It keeps redis.Nil and the errors of a faulty command. A server's own reason is
// in a Refusal.
func Unavailable(err error) error {
	if err == nil || errors.Is(err, redis.Nil) {
		return err
	}
	reply := redis.Error(nil)
	if !errors.As(err, &reply) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	text := reply.Error()
	if strings.Contains(text, scriptDenied) {
		text = "NOPERM " + text
	}
	code := slices.IndexFunc(unavailableCodes, func(word string) bool { return strings.HasPrefix(text, word) })
	if code < 0 {
		return err
	}
	refused := &Refusal{code: unavailableCodes[code], text: text, reply: err}
	if refused.code == "OOM" {
		return fmt.Errorf("%w: %w: %w", ErrUnavailable, ErrMemory, refused)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, refused)
}

// Refusal is the error reply of a server that cannot serve now.
type Refusal struct {
	code, text string
	reply      error
}

// Error returns the text of go-redis.
func (r *Refusal) Error() string { return r.reply.Error() }

// Unwrap returns the error of go-redis.
func (r *Refusal) Unwrap() error { return r.reply }

// Public returns the text for clients, which follows the word redis: the error's code.
func (r *Refusal) Public() string { return "answers " + r.code }

// addressCodes are the codes of replies that name hosts or users.
var addressCodes = []string{"MOVED", "ASK", "NOPERM", "WRONGPASS", "NOAUTH"}

// Detail returns the server's text, or only its code if the text names hosts or users.
func (r *Refusal) Detail() string {
	if slices.Contains(addressCodes, r.code) {
		return r.code
	}
	return r.text
}
