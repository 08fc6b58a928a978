// Package pendingcalls stores programs' calls that lack values until the values are given. The trigger that
// such a call becomes has its id before it fires, so that a client can ask for it on any replica, and after any
// crash. The package fires nothing.
package pendingcalls

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/failpoint"
	"earshot/repositories/keyspace"
)

// TTL is how long a call waits for its values, and how long its end is remembered.
const TTL = 15 * time.Minute

// mostWaiting bounds the waiting calls of a session, or of an app without one.
const mostWaiting = 1000

// maxCallBytes bounds a stored call, in bytes of its JSON (section 19 of the contract).
const maxCallBytes = 64 << 10

// Call is a call that lacks values.
type Call struct {
	Name         string                `json:"name"`
	RepositoryID string                `json:"repositoryId,omitempty"`
	Values       map[string]any        `json:"values,omitempty"`
	Metadata     repositories.Metadata `json:"metadata,omitempty"`
	// Missing are the requested parameters without a value; if empty, all are given, and the call must be
	// fired.
	Missing []string  `json:"missing"`
	Began   time.Time `json:"began"`
	Changed time.Time `json:"changed"`
	// Cancelled reports that it ended without its values; Failed is why it could not be fired with them.
	Cancelled bool   `json:"cancelled,omitempty"`
	Failed    string `json:"failed,omitempty"`
}

func (c Call) encode() (string, error) {
	text, err := exactjson.Encode(c)
	if err == nil && len(text) > maxCallBytes {
		err = ErrTooLong
	}
	return string(text), err
}

// Size returns its stored size in bytes.
func (c Call) Size() int { return len(exactjson.EncodeOrNull(c)) }

// Ended reports whether the call will never be fired.
func (c Call) Ended() bool { return c.Cancelled || c.Failed != "" }

// Errors of Calls.
var (
	// ErrNotFound means that no call waits under the id: it was fired, or has expired.
	ErrNotFound = errors.New("no call with this id waits for values")
	// ErrTooLong means that a call is too long to be stored.
	ErrTooLong = fmt.Errorf("a call that lacks values keeps at most %d bytes of them: give all values at once", maxCallBytes)
	// ErrTooMany means that a thousand calls of the scope already wait.
	ErrTooMany = fmt.Errorf("%d calls wait for values: answer or cancel some of them, or give all values at once", mostWaiting)
)

// Calls stores the waiting calls in Redis. It is safe for concurrent use, on any replica.
type Calls struct {
	db         *keyspace.DB
	sessionTTL time.Duration
	now        func() time.Time
}

// New returns Calls. A session that has only such calls lives for sessionTTL.
func New(db *keyspace.DB, sessionTTL time.Duration, now func() time.Time) *Calls {
	return &Calls{db, sessionTTL, now}
}

// begin stores a call unless it exists. The call uses its session, so that closing the session and deleting the app
// remove it.
//
//	=>   ok, many, noapp, or erasing if the session is being erased
//
// A call is stored after its expiry (ms). A repetition writes too, so that it waits for replicas as the first
// did (see keyspace.Script.RunSafely).
var begin = keyspace.NewScript(keyspace.ErasingLua, keyspace.SessionLua, `
KEYS calls closed app turns idle sessions recent
ARGV id call ttl most app session sessionTTL
local calls, at = @calls, now()
if redis.call('EXISTS', @app) == 0 then return 'noapp' end
if erasing(@closed) then return 'erasing' end
if redis.call('HEXISTS', calls, $id) == 1 then
  redis.call('PEXPIRE', calls, $ttl)
  return 'ok'
end
if redis.call('HLEN', calls) >= tonumber($most) then
  local all = redis.call('HGETALL', calls)
  for i = 2, #all, 2 do
    if tonumber(string.match(all[i], '^%d+')) <= at then redis.call('HDEL', calls, all[i - 1]) end
  end
  if redis.call('HLEN', calls) >= tonumber($most) then return 'many' end
end
redis.call('HSET', calls, $id, string.format('%.0f %s', at + tonumber($ttl), $call))
redis.call('PEXPIRE', calls, $ttl)
if $session ~= '' then useSession(@turns, @idle, @sessions, @recent, $app, $session, tonumber($sessionTTL)) end
return 'ok'
`)

// Begin stores a call under the id of its future trigger. It returns once enough Redis replicas have it, as for
// accepted requests.
//
// Errors: ErrTooMany, ErrTooLong, repositories.ErrErasing, repositories.ErrNotFound for the app, keyspace.ErrUnavailable.
func (c *Calls) Begin(ctx context.Context, scope repositories.Scope, id string, call Call) error {
	call.Began = c.now().UTC()
	call.Changed = call.Began
	text, err := call.encode()
	if err != nil {
		return err
	}
	k := keyspace.KeysOf(scope.AppID)
	failpoint.At(failpoint.AskedBefore)
	keys := []string{k.Asked(scope.SessionID), k.Closed(scope.SessionID), k.App(), k.Turns(scope.SessionID), k.Idle(), k.Sessions(), keyspace.Recent(k)}
	reply, err := begin.RunSafely(ctx, c.db, keys, id, text, TTL.Milliseconds(), mostWaiting, scope.AppID, scope.SessionID, c.sessionTTL.Milliseconds())
	failpoint.At(failpoint.AskedReply)
	switch {
	case err != nil:
		return err
	case reply == "many":
		return ErrTooMany
	case reply == "noapp":
		return &repositories.NotFoundError{Kind: "app", ID: scope.AppID}
	case reply == "erasing":
		return fmt.Errorf("session %q: %w", scope.SessionID, repositories.ErrErasing)
	}
	return nil
}

// Get returns a call that waits or has ended. Its error is ErrNotFound or keyspace.ErrUnavailable.
func (c *Calls) Get(ctx context.Context, scope repositories.Scope, id string) (Call, error) {
	call, _, err := c.read(ctx, scope, id)
	return call, err
}

func (c *Calls) read(ctx context.Context, scope repositories.Scope, id string) (call Call, stored string, err error) {
	stored, err = c.db.HGet(ctx, keyspace.KeysOf(scope.AppID).Asked(scope.SessionID), id).Result()
	if errors.Is(err, redis.Nil) {
		return Call{}, "", ErrNotFound
	}
	if err != nil {
		return Call{}, "", keyspace.Unavailable(err)
	}
	call, _, err = c.decode(stored)
	return call, stored, err
}

// decode reads a stored call and its expiry. It returns ErrNotFound for an expired call.
func (c *Calls) decode(stored string) (call Call, ends time.Time, err error) {
	at, text, _ := strings.Cut(stored, " ")
	ms, err := strconv.ParseInt(at, 10, 64)
	if ends = time.UnixMilli(ms).UTC(); err != nil || !c.now().Before(ends) {
		return Call{}, ends, ErrNotFound
	}
	return call, ends, exactjson.Unmarshal([]byte(text), &call)
}

// Waiting is a call that waits for values.
type Waiting struct {
	ID   string // of its future trigger
	Ends time.Time
	Call
}

// Waiting lists the calls of a scope that wait for values, the oldest first.
func (c *Calls) Waiting(ctx context.Context, scope repositories.Scope) ([]Waiting, error) {
	all, err := c.db.HGetAll(ctx, keyspace.KeysOf(scope.AppID).Asked(scope.SessionID)).Result()
	if err != nil {
		return nil, keyspace.Unavailable(err)
	}
	var list []Waiting
	for id, stored := range all {
		call, ends, err := c.decode(stored)
		switch {
		case errors.Is(err, ErrNotFound) || call.Ended() || err == nil && len(call.Missing) == 0: // a complete one is about to be fired
			continue
		case err != nil:
			return nil, fmt.Errorf("call %q: %w", id, err)
		}
		list = append(list, Waiting{id, ends, call})
	}
	slices.SortFunc(list, func(a, b Waiting) int { return cmp.Or(a.Began.Compare(b.Began), strings.Compare(a.ID, b.ID)) })
	return list, nil
}

// replace replaces a call if it is unchanged.
//
//	KEYS calls
//	ARGV id, stored call, new call, its life (ms)
//	=>   ok, or changed if another was stored meanwhile
var replace = keyspace.NewFreeingScript(failpoint.Script(failpoint.ChangeWithoutCAS, `
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 'changed' end
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f %s', now() + tonumber(ARGV[4]), ARGV[3]))
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 'ok'
`))

// Change changes a waiting call, also under concurrent changes, and returns the new call once replicas have it,
// as with Begin. An ended call stays unchanged, and one with all its values cannot be cancelled: it is about to
// be fired. Its error is ErrNotFound, ErrTooLong or keyspace.ErrUnavailable.
func (c *Calls) Change(ctx context.Context, scope repositories.Scope, id string, change func(*Call)) (Call, error) {
	for {
		call, stored, err := c.read(ctx, scope, id)
		if err != nil {
			return call, err
		}
		if call.Ended() {
			return call, c.db.Confirm(ctx, scope.AppID)
		}
		complete := len(call.Missing) == 0
		change(&call)
		call.Cancelled = call.Cancelled && !complete
		call.Changed = c.now().UTC()
		text, err := call.encode()
		if err != nil {
			return Call{}, err
		}
		reply, err := replace.RunSafely(ctx, c.db, []string{keyspace.KeysOf(scope.AppID).Asked(scope.SessionID)}, id, stored, text, TTL.Milliseconds())
		failpoint.At(failpoint.AskedChanged)
		if err != nil || reply == "ok" {
			return call, err
		}
	}
}

// AddValues adds values to the call; values that are not missing are ignored.
func (call *Call) AddValues(values map[string]any) {
	all := maps.Clone(call.Values)
	if all == nil {
		all = map[string]any{}
	}
	call.Missing = slices.DeleteFunc(slices.Clone(call.Missing), func(name string) bool {
		value, given := values[name]
		if given {
			all[name] = value
		}
		return given
	})
	call.Values = all
}

// End removes a fired call.
func (c *Calls) End(ctx context.Context, scope repositories.Scope, id string) error {
	failpoint.At(failpoint.AskedFired)
	return keyspace.Unavailable(c.db.HDel(ctx, keyspace.KeysOf(scope.AppID).Asked(scope.SessionID), id).Err())
}
