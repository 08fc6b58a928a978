package main

import "fmt"

// unsafe are the tools whose calls are not idempotent.
var unsafe = map[string]bool{"charge": true, "pledge": true}

// outcomeUnknown is why such a call fails of which nobody knows whether it arrived.
const outcomeUnknown = "outcome_unknown"

// sentOnce counts the arrivals of calls that are not idempotent: one, and another for
// each retry by hand. Where one has failed, it is because nobody knows.
func (e *evidence) sentOnce() (found []string) {
	arrivals := map[string]int{}
	for _, one := range e.calls {
		arrivals[one.id]++
	}
	for id, one := range e.byID() {
		if unsafe[one.Name] && arrivals[id] > 1+e.retried[id] {
			found = append(found, fmt.Sprintf("the call of trigger %s (%s) arrived %d times, and was retried by hand %d times",
				id, one.Name, arrivals[id], e.retried[id]))
		}
	}
	for _, one := range e.failed {
		if unsafe[one.Name] && one.Call != nil && one.Call.State == "failed" && one.Call.Reason != outcomeUnknown {
			found = append(found, fmt.Sprintf("the call of trigger %s (%s) failed for %q, not as %s", one.TriggerID, one.Name, one.Call.Reason, outcomeUnknown))
		}
	}
	return found
}
