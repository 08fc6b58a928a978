package repositories

import (
	"slices"
	"strings"
	"time"

	"earshot/repositories/fault"
	"earshot/repositories/parameters"
)

// Limits of what holds a trigger back: how long it may settle, how long equal values may be
// remembered, and how long an answer may be waited for.
const (
	maxSettle = 60 * time.Second
	maxDedupe = 168 * time.Hour
	maxAnswer = 24 * time.Hour
)

// held checks and completes what holds a trigger of the tool back, and who answers it.
func (d *decoding) held(t *Tool, at string) {
	t.Settle = t.Settle.inMilliseconds()
	if t.CancelOnNext && t.Settle == 0 && !d.Faulty(at+fault.Point("settle")) {
		d.Add(at+fault.Point("cancelOnNext"), "needs settle, the time in which a next message can cancel, as \"800ms\"")
	}
	if t.Dedupe != nil {
		d.dedupe(t, at+fault.Point("dedupe"))
	}
	if t.Answer != nil {
		t.Answer.Within = t.Answer.Within.inMilliseconds()
		d.answered(t, at)
	}
}

// inMilliseconds rounds up to what the ledger counts in: a shorter time would be none.
func (d Duration) inMilliseconds() Duration {
	const most = Duration(time.Millisecond - 1)
	return (d + most) / Duration(time.Millisecond) * Duration(time.Millisecond)
}

func (d *decoding) dedupe(t *Tool, at string) {
	t.Dedupe.Within = t.Dedupe.Within.inMilliseconds()
	if t.Dedupe.Scope == "" {
		t.Dedupe.Scope = DedupeSession
	}
	if t.params == nil {
		return // its parameters are at fault
	}
	known := t.params.Names()
	for i, name := range t.Dedupe.By {
		if d.Full() {
			d.Skip(len(t.Dedupe.By) - i)
			return
		}
		if !slices.Contains(known, name) {
			d.Add(at+fault.Point("by", i), "%s is no parameter of the tool%s", fault.Show(name), fault.DidYouMean(name, known))
		}
	}
}

// answered refuses what says how to call beside an answer: nothing is called. Only how
// long a message waits is said by the request.
func (d *decoding) answered(t *Tool, at string) {
	r := t.Request
	if r == nil {
		r = &Request{}
	}
	var beside []string
	for _, field := range []struct {
		name  string
		given bool
	}{
		{"type", t.Type != ""},
		{"url", t.URL != ""},
		{"request.auth", r.Auth != "" && r.Auth != AuthNone},
		{"request.basic", r.Basic != nil},
		{"request.bearer", r.Bearer != nil},
		{"request.moduleId", r.ModuleID != ""},
		{"request.headers", len(r.Headers) > 0},
		{"request.method", r.Method != ""},
		{"request.retryFor", r.RetryFor != 0},
		{"request.body", parameters.Present(r.Body)},
		{"request.idempotent", r.Idempotent != nil},
	} {
		if field.given {
			beside = append(beside, field.name)
		}
	}
	if len(beside) > 0 {
		d.Add(at+fault.Point("answer"), "is given beside %s: whoever subscribes answers, and nothing is called; leave out either (request.timeout may stay: it is how long a message waits)", strings.Join(beside, ", "))
	}
}
