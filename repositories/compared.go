package repositories

import (
	"context"
	"fmt"
	"time"

	"earshot/repositories/secret"
)

const (
	// mostCompares is how many previews that compare credentials a key may ask for in
	// compareSpan: whoever guesses is told of each guess whether it was right.
	mostCompares = 120
	compareSpan  = time.Minute
)

// CompareError means that a key has compared as many credentials as it may in a minute.
// Nothing was compared.
type CompareError struct{ RetryAfter time.Duration }

// Error names the limit and the pause.
func (e *CompareError) Error() string {
	return fmt.Sprintf("a key may compare credentials by dry run %d times a minute; try again in %s, or leave them out as %q",
		mostCompares, e.RetryAfter.Round(time.Second), secret.Masked)
}

// countCompare counts a comparison unless there were as many as there may be in any
// span that ends now. One that is sent twice, as its reply was lost, counts twice.
//
//	KEYS compared
//	ARGV most, span (ms)
//	=>   0, or the time (ms) until there is room
var countCompare = NewScript(`
local most, span, at = tonumber(ARGV[1]), tonumber(ARGV[2]), now()
local first = tonumber(redis.call('LINDEX', KEYS[1], most - 1) or '')
if first and at - first < span then return span - (at - first) end
redis.call('LPUSH', KEYS[1], at)
redis.call('LTRIM', KEYS[1], 0, most - 1)
redis.call('PEXPIRE', KEYS[1], span)
return 0
`)

// mayCompare counts a preview of a definition that holds credentials. Keys count with
// the one that their line begins with, so that a key gains nothing by making others.
func (s *Store) mayCompare(ctx context.Context, appID, by string, given []credential) error {
	for _, c := range given {
		if c.shown || c.kept || c.get().Empty() || c.get().IsMasked() {
			continue
		}
		pause, err := countCompare.Run(ctx, s.db, []string{KeysOf(appID).Compared(by)}, mostCompares, compareSpan.Milliseconds())
		if ms, _ := pause.(int64); err == nil && ms > 0 {
			return &CompareError{RetryAfter: time.Duration(ms) * time.Millisecond}
		}
		return err
	}
	return nil
}
