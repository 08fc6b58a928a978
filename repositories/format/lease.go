package format

import (
	"context"
	"fmt"
	"strconv"

	"earshot/repositories/keyspace"
)

// The scripts of the mark write a few bytes, and run in a Redis that is full as well: a start
// there goes on to what frees memory.

// claim takes the lease of the step from a format to the next. From then on no program starts
// that the next format is not for.
//
//	ARGV from is the format before the step, live '1' for a live step
//	=>   ok with how many partitions are done; busy with the same; moved where the format is
//	     another one
//
// A second run with its token gives the same answer.
var claim = keyspace.NewFreeingScript(`
KEYS mark
ARGV from token lease program live
local had = redis.call('HMGET', @mark, 'version', 'holder', 'ends', 'done', 'oldest')
if (had[1] or '1') ~= $from then return {'moved'} end
local done = had[4] or '0'
if had[2] and had[2] ~= $token and tonumber(had[3]) > now() then return {'busy', done} end
redis.call('HSET', @mark, 'version', $from, 'holder', $token, 'ends', now() + tonumber($lease), 'done', done,
  'program', $program, 'oldest', $live == '1' and (had[5] or '1') or $from + 1)
return {'ok', done}
`)

func (u Upgrade) claim(ctx context.Context, s Step, from int, token string) (done int, err error) {
	live := "0"
	if s.Live {
		live = "1"
	}
	raw, err := claim.Run(ctx, u.DB, []string{keyspace.Format}, from, token, lease.Milliseconds(), u.Program, live)
	if err != nil {
		return 0, err
	}
	fields, _ := raw.([]any)
	reply := keyspace.Fields(fields)
	switch reply[0] {
	case "moved":
		return 0, fmt.Errorf("%w: another replica has changed it just now", ErrWait)
	case "busy":
		return 0, fmt.Errorf("%w: another replica changes it, and has done %s of %d partitions", ErrWait, reply[1], keyspace.Partitions)
	}
	return strconv.Atoi(reply[1])
}

// progress notes that the first partitions have the new format, and renews the lease.
//
//	KEYS 1 mark
//	ARGV 1 token, 2 how many partitions are done, 3 lease (ms)
//	=>   ok, or lost where another replica has the lease
var progress = keyspace.NewFreeingScript(`
local had = redis.call('HMGET', KEYS[1], 'holder', 'done')
if had[1] ~= ARGV[1] then return 'lost' end
redis.call('HSET', KEYS[1], 'done', math.max(tonumber(had[2]), tonumber(ARGV[2])), 'ends', now() + tonumber(ARGV[3]))
return 'ok'
`)

// finish notes that all data has the new format, and ends the lease.
//
//	KEYS 1 mark
//	ARGV 1 token, 2 the new format; the third is not used
//	=>   ok, also where it has it already; lost where another replica has the lease
var finish = keyspace.NewFreeingScript(`
local had = redis.call('HMGET', KEYS[1], 'holder', 'version')
if tonumber(had[2]) >= tonumber(ARGV[2]) then return 'ok' end
if had[1] ~= ARGV[1] then return 'lost' end
redis.call('HSET', KEYS[1], 'version', ARGV[2])
redis.call('HDEL', KEYS[1], 'holder', 'ends', 'done')
return 'ok'
`)

// hold runs a script that only who has the lease may run. Its error wraps ErrWait where
// another replica has it.
func (u Upgrade) hold(ctx context.Context, script *keyspace.Script, token string, n int) error {
	reply, err := script.Run(ctx, u.DB, []string{keyspace.Format}, token, n, lease.Milliseconds())
	if err == nil && reply != "ok" {
		err = fmt.Errorf("%w: another replica has taken over", ErrWait)
	}
	return err
}

// release ends the lease, so that another replica need not wait for its end.
//
//	KEYS 1 mark
//	ARGV 1 token
var release = keyspace.NewFreeingScript(`
if redis.call('HGET', KEYS[1], 'holder') == ARGV[1] then redis.call('HDEL', KEYS[1], 'holder', 'ends') end
return 'ok'
`)

func (u Upgrade) release(ctx context.Context, token string) error {
	_, err := release.Run(ctx, u.DB, []string{keyspace.Format}, token)
	return err
}
