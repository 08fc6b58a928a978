// Package format is the version of what is kept in Redis: the names of its keys, the fields of
// its records, what its scripts take for granted. It is one number, in the hash keyspace.Format,
// and every change of it is a Step. A program that starts on data of an older format brings it
// to its own, on which all replicas agree; one that finds a newer format that it cannot work
// with says so and leaves it alone.
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
	// ErrNewer means that a later version has changed what is stored in a way that this program
	// does not know. Nothing that this program does would mend it.
	ErrNewer = errors.New("what it holds was changed by a later version")
	// ErrWait means that the data is not in the format of this program yet: another replica is
	// at it, or one of an older version still runs that would not find its way in it. It passes.
	ErrWait = errors.New("what it holds is not in the format of this version yet")
)

// first is the format of data that says nothing of it: of all versions before formats were
// counted.
const first = 1

// Step changes all data from one format to the next.
type Step struct {
	// Name says what it does, for the log.
	Name string
	// Live says that programs of the format before may run during the step and after it. What
	// they go on writing in their way must be good for this program as it is, since the step
	// does not come back to it. Before a step that is not live, all of them must have stopped.
	Live bool
	// Partition changes what one partition holds. It may be run again, wholly or from anywhere
	// within, also by another replica at the same time, and by one that was taken for dead after
	// all others have finished: its scripts leave alone what is in the new form already. It must
	// be able to do its work in a Redis that is full.
	Partition func(ctx context.Context, db *keyspace.DB, n int) error
}

// Steps are all changes since the first format, in their order.
func Steps() []Step {
	return []Step{
		{Name: "every session is in the list of its app", Live: true, Partition: listSessions},
		{Name: "entries of the first versions are in lanes", Live: true, Partition: BringEntries},
	}
}

// Known is the format of a program with these steps: what its data has, and what it writes.
func Known(steps []Step) int { return first + len(steps) }

// mark is what Redis says of its format.
type mark struct {
	version int    // that all data has at least
	oldest  int    // format that a program must know to work on it
	program string // that has brought it there
	done    int    // partitions in which the next step is done
}

func read(ctx context.Context, db *keyspace.DB) (mark, error) {
	fields, err := db.HGetAll(ctx, keyspace.Format).Result()
	if err != nil {
		return mark{}, keyspace.Unavailable(err)
	}
	m := mark{version: first, oldest: first, program: fields["program"]}
	for name, into := range map[string]*int{"version": &m.version, "oldest": &m.oldest, "done": &m.done} {
		text, there := fields[name]
		if !there {
			continue
		}
		if *into, err = strconv.Atoi(text); err != nil {
			return mark{}, fmt.Errorf("%w: %s says %s %q, which is no number", ErrNewer, keyspace.Format, name, text)
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

// Check is for a process that runs: its error wraps ErrNewer where the data was changed since
// it started, in a way that it does not know, and keyspace.ErrUnavailable without an answer.
func Check(ctx context.Context, db *keyspace.DB, known int) error {
	m, err := read(ctx, db)
	if err != nil {
		return err
	}
	return m.judge(known)
}
