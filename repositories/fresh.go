package repositories

import (
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"
)

// fresh keeps what was read for a moment, so that what is asked for with every request
// is read a few times a second. Nothing that it returns was read longer ago than its
// span, counted from before the read: whoever changes something and waits for the span
// knows that no replica uses the old state any more.
type fresh[V any] struct {
	span   time.Duration
	now    func() time.Time
	values *lru.Cache[string, aged[V]]
	reads  singleflight.Group
}

type aged[V any] struct {
	value V
	began time.Time
}

func newFresh[V any](size int, span time.Duration, now func() time.Time) *fresh[V] {
	values, _ := lru.New[string, aged[V]](size) // fails for a size of 0 only
	return &fresh[V]{span: span, now: now, values: values}
}

// freshTries bounds how often a read that took too long is made again.
const freshTries = 3

func (f *fresh[V]) get(key string, read func() (V, error)) (V, error) {
	if held, hit := f.values.Get(key); hit && f.now().Sub(held.began) < f.span {
		return held.value, nil
	}
	var none V
	for range freshTries {
		held, err := f.read(key, read)
		if err != nil {
			return none, err
		}
		if f.now().Sub(held.began) < f.span {
			return held.value, nil
		}
	}
	return none, fmt.Errorf("%w: its answers take longer than %s", ErrUnavailable, f.span)
}

// read reads once for all who ask at the same time. Errors are not kept: a thing that
// is not there yet is found as soon as it is.
func (f *fresh[V]) read(key string, read func() (V, error)) (aged[V], error) {
	held, err, _ := f.reads.Do(key, func() (any, error) {
		began := f.now()
		value, err := read()
		if err == nil {
			f.values.Add(key, aged[V]{value, began})
		}
		return aged[V]{value, began}, err
	})
	return held.(aged[V]), err
}

// forget makes the next get read again.
func (f *fresh[V]) forget(key string) {
	f.values.Remove(key)
	f.reads.Forget(key)
}
