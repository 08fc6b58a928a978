package main

import "fmt"

// sessionsAreInOrder holds the trigger events of each session against the order in
// which the API lists its triggers, and against the order in which a client that
// waited for every answer has asked.
func (e *evidence) sessionsAreInOrder() (found []string) {
	if e.restored {
		return nil // what was forgotten was asked for again in any order
	}
	place := map[string]int{} // of a trigger's decision
	for _, list := range e.records {
		turn, at := "", 0
		for _, one := range list {
			// Triggers of one message are decided at the same time and listed by id.
			if this := one.SessionID + "/" + one.MessageID; one.MessageID == "" || this != turn {
				turn, at = this, at+1
			}
			place[one.TriggerID] = at
		}
	}
	asked := e.askedOrder()
	last, lastAsked := map[string]stored{}, map[string]stored{}
	for _, one := range e.stored {
		if one.kind() != "tool.trigger" || one.SessionID == "" {
			continue
		}
		session := one.AppID + "/" + one.SessionID
		if before, any := last[session]; any && place[before.ID] > place[one.ID] && !e.deleted {
			found = append(found, fmt.Sprintf("session %s: trigger %s stands behind %s and was decided before it", session, one.ID, before.ID))
		}
		last[session] = one
		if _, known := asked[one.ID]; !known {
			continue
		}
		if before, any := lastAsked[session]; any && asked[before.ID] > asked[one.ID] && !e.deleted {
			found = append(found, fmt.Sprintf("session %s: trigger %s stands behind %s and was asked for before it", session, one.ID, before.ID))
		}
		lastAsked[session] = one
	}
	return found
}

// askedOrder numbers the triggers of clients that asked one after the other.
func (e *evidence) askedOrder() map[string]int {
	asked := map[string]int{}
	for i, o := range e.operations {
		if !o.Ordered {
			continue
		}
		for _, id := range o.triggers() {
			asked[id] = i
		}
	}
	return asked
}
