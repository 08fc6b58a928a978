// Package format is the version of the data in Redis: the names of keys, the fields of records, the assumptions of
// scripts. It is one number, in the hash keyspace.Format, and every change of it is a Step. A program that starts
// on data of an older format migrates it to its own, on which all replicas agree. A program that finds an
// incompatible newer format reports it and changes nothing.
package format

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"earshot/repositories/keyspace"
)

// Errors of a start on data of another format.
var (
	// ErrNewer means that a later version has changed the data in a way that this program does not know. This
	// program cannot repair it.
	ErrNewer = errors.New("what it holds was changed by a later version")
	// ErrWait means that the data is not in this program's format yet: another replica is migrating it, or an older
	// replica still runs that could not read the new format. It is temporary.
	ErrWait error = &unchanged{"what it holds is not in the format of this version yet", "holds data that is not in the format of this version yet"}
	// ErrStep means that a step does not understand the data. It is tried again, and needs a person.
	ErrStep error = &unchanged{"what it holds cannot be changed to the format of this version", "holds data that cannot be changed to the format of this version"}
)

// unchanged is an error with a public text, which follows the word redis.
type unchanged struct{ text, public string }

func (u *unchanged) Error() string { return u.text }

// Public returns the public text.
func (u *unchanged) Public() string { return u.public }

// first is the format of data without a format number: of all versions before formats were numbered.
const first = 1

// Step migrates all data from one format to the next.
type Step struct {
	// Name describes it for the log.
	Name string
	// Live means that programs of the previous format may run during and after the step. Data that they still write
	// in the old form must be valid for this program, because the step does not run again. Before a step that is
	// not live, all of them must have stopped.
	Live bool
	// Partition migrates one partition. It may run again, wholly or from any point within, also concurrently on
	// another replica, and even after all others have finished: its scripts skip data in the new form. It must work
	// in a full Redis.
	Partition func(ctx context.Context, db *keyspace.DB, n int) error
}

// Steps are all migrations since the first format, in order.
func Steps() []Step {
	return []Step{
		{Name: "every session is in the list of its app", Live: true, Partition: listSessions},
		{Name: "entries of the first versions are in lanes", Live: true, Partition: BringEntries},
		{Name: "keys that expire are listed by their ends", Live: true, Partition: listKeyEnds},
	}
}

// Known returns the format that a program with these steps reads and writes.
func Known(steps []Step) int { return first + len(steps) }

// mark is the format record in Redis.
type mark struct {
	version int    // minimum format of all data
	oldest  int    // minimum format that a program must know
	program string // version that migrated to it
	done    int    // partitions migrated by the next step
}

func read(ctx context.Context, db *keyspace.DB) (mark, error) {
	fields, err := db.HGetAll(ctx, keyspace.Format).Result()
	if err != nil {
		return mark{}, keyspace.Unavailable(err)
	}
	m := mark{version: first, oldest: first, program: fields["program"]}
	for name, into := range map[string]*int{"version": &m.version, "oldest": &m.oldest, "done": &m.done} {
		text, ok := fields[name]
		if !ok {
			continue
		}
		if *into, err = strconv.Atoi(text); err != nil {
			return mark{}, fmt.Errorf("%w: %s has %s %q, which is not a number", ErrNewer, keyspace.Format, name, text)
		}
	}
	return m, nil
}

func (m mark) judge(known int) error {
	if m.oldest <= known {
		return nil
	}
	return fmt.Errorf("%w: its format is %d, by earshot %s, and this version knows formats up to %d; start that version or a later one, or restore the backup of before the upgrade", ErrNewer, max(m.version, m.oldest), m.program, known)
}

// Check checks a running process. Its error wraps ErrNewer if the data was changed since the start in an
// incompatible way, and keyspace.ErrUnavailable if Redis did not answer.
func Check(ctx context.Context, db *keyspace.DB, known int) error {
	m, err := read(ctx, db)
	if err != nil {
		return err
	}
	return m.judge(known)
}
