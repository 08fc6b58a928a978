package payload

import "time"

// Kinds of event about a trigger that takes no effect, or not yet.
const (
	KindConfirm   = "confirm"
	KindCancelled = "cancelled"
	KindDuplicate = "duplicate"
)

// Confirm is the payload of tool.confirm: the trigger waits for somebody's yes. The digest
// stands for app, session, tool and values; who confirms names it.
type Confirm struct {
	Trigger
	TriggerID string    `json:"triggerId"`
	Digest    string    `json:"digest"`
	ExpiresAt time.Time `json:"expiresAt"`
	Question  string    `json:"question"`
}

func (c Confirm) forms() []any {
	return c.Trigger.each(func(t Trigger) any {
		c.Trigger = t
		return c
	})
}

// Cancelled is the payload of tool.cancelled: the trigger ended before it had an effect.
type Cancelled struct {
	Trigger
	TriggerID string `json:"triggerId"`
	// Reason is what moved it: deny, expire, cancel or retract.
	Reason string `json:"reason"`
}

func (c Cancelled) forms() []any {
	return c.Trigger.each(func(t Trigger) any {
		c.Trigger = t
		return c
	})
}

// Duplicate is the payload of tool.duplicate: the trigger Of had equal values before.
type Duplicate struct {
	Trigger
	TriggerID string `json:"triggerId"`
	Of        string `json:"of"`
}

func (d Duplicate) forms() []any {
	return d.Trigger.each(func(t Trigger) any {
		d.Trigger = t
		return d
	})
}
