package main

import (
	"fmt"
	"slices"
	"time"
)

// account is what became of one era.
type account struct {
	era, dir string
	// owed is how much was owed when nobody said anything any more, and rested how long
	// it took until nothing was.
	owed   int64
	rested time.Duration
	// troubles are why the era did not come to rest or was not carried through. Books
	// that balance prove nothing then: what is missing in them may still come.
	troubles   []string
	closed     bool // its books are
	violations []string
}

// trouble notes why the era proves nothing.
func (a *account) trouble(errs ...error) {
	for _, err := range errs {
		if text := err.Error(); !slices.Contains(a.troubles, text) {
			a.troubles = append(a.troubles, text)
		}
	}
}

// rest waits until nothing is owed. Where that was in vain before, it gives up soon.
func (a *account) rest(w *world) {
	limit := w.options.rest
	if len(a.troubles) > 0 {
		limit = time.Second
	}
	owed, begun := w.due(), time.Now()
	if err := w.rest(limit); err != nil {
		a.trouble(err)
	}
	if spent := time.Since(begun); spent > a.rested {
		a.owed, a.rested = owed, spent
	}
}

// sound reports whether the era came to rest and has its books closed.
func (a *account) sound() bool { return a.closed && len(a.troubles) == 0 }

// restless lists in words what keeps the eras from proving anything.
func restless(accounts []*account) (list []string) {
	for _, a := range accounts {
		for _, text := range a.troubles {
			list = append(list, fmt.Sprintf("era %s did not come to rest: %s; its logs are in %s", a.era, text, a.dir))
		}
		if !a.closed {
			list = append(list, fmt.Sprintf("era %s: its books were never closed", a.era))
		}
	}
	return list
}

// summary says of the eras of one name what became of them.
func summary(accounts []*account) string {
	var rested time.Duration
	owed, sound, violations := int64(0), 0, 0
	for _, a := range accounts {
		rested, owed, violations = max(rested, a.rested), max(owed, a.owed), violations+len(a.violations)
		if a.sound() {
			sound++
		}
	}
	switch {
	case sound < len(accounts):
		return fmt.Sprintf("**%d of %d DID NOT COME TO REST**; violations so far: %d", len(accounts)-sound, len(accounts), violations)
	case violations > 0:
		return fmt.Sprintf("%s, at rest, **%d VIOLATIONS**", times(len(accounts)), violations)
	default:
		return fmt.Sprintf("%s, at rest, books balance; %d owed at the end at most, nothing after %s at most",
			times(len(accounts)), owed, rested.Round(10*time.Millisecond))
	}
}
