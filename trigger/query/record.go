// Package query reads the results of messages and triggers: their answers, their records, and the explanations
// of decisions. It changes nothing.
package query

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/parameters"
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
	"earshot/trigger/state"
)

// Answer is the outcome of a message. Its JSON is the response of the REST call.
type Answer struct {
	MessageID string          `json:"messageId"`
	Matches   []Match         `json:"matches"`
	Rejected  []Rejected      `json:"rejected"`
	Retracted []Retracted     `json:"retracted,omitempty"` // the settling triggers that the message took back
	Reply     json.RawMessage `json:"reply"`
	ReplyType string          `json:"replyType,omitempty"` // json if the reply is a result other than a text, else empty
	// SkipResponse asks a front-end not to answer by itself.
	SkipResponse bool `json:"skipResponse"`
	// Auth is why ID tokens of the message were refused, by service: a reason code of the verifier, or claim if
	// a parameter of a tool in scope lacks its claim.
	Auth map[string]string `json:"auth,omitempty"`
}

// Sources of a trigger.
const (
	SourceMessage = "message"
	SourceUI      = "ui"
	SourceTask    = "task"
	SourceAgent   = "agent"
)

// States of an effect.
const (
	StatePublished = "published" // an event that JetStream acknowledged
	StateDelivered = "delivered" // a call answered with 2xx
	StatePending   = "pending"   // stored, to be tried again
	StateFailed    = "failed"    // given up; listed among the dead letters
	StateDraft     = "draft"     // of a draft: it would be pending
	StateDry       = "dry"       // of a dry run: it would be pending
)

// States, from package state, of a trigger with deferred effects or none.
const (
	StateConfirming = string(state.Confirming)
	StateCancelled  = string(state.Cancelled)
	StateDuplicate  = string(state.Duplicate)
)

// Match is one trigger as answers and lists show it.
type Match struct {
	TriggerID    string            `json:"triggerId"`
	RepositoryID string            `json:"repositoryId"`
	Name         string            `json:"name"`
	Source       string            `json:"source"`
	Values       exactjson.Members `json:"values"`
	Event        *EventState       `json:"event,omitempty"`
	Emitter      *EventState       `json:"emitter,omitempty"`
	Call         *CallState        `json:"call,omitempty"`
	ReturnDirect bool              `json:"returnDirect"`
	SkipResponse bool              `json:"skipResponse"`
	// State follows from the effects of a fired trigger: pending while one is pending, failed if one was given
	// up, else delivered. Other states are draft, dry, confirming, pending with DueAt while it can be taken
	// back, cancelled, and duplicate (of the trigger Of, which had equal values before). Inside the engine it
	// is empty for one that fires.
	State string     `json:"state,omitempty"`
	DueAt *time.Time `json:"dueAt,omitempty"`
	Of    string     `json:"of,omitempty"`
	// Digest identifies app, session, tool and values: a confirmation names it. Question is the question for
	// the user.
	Digest    string     `json:"digest,omitempty"`
	Question  string     `json:"question,omitempty"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
}

// EventState is the delivery state of an event of a trigger.
type EventState struct {
	Subject string `json:"subject"`
	State   string `json:"state"`
	Error   string `json:"error,omitempty"`
}

// CallState is the delivery state of a trigger's call.
type CallState struct {
	State     string          `json:"state"`
	Status    int             `json:"status,omitempty"`
	Attempts  int             `json:"attempts"`
	Result    json.RawMessage `json:"result,omitempty"`
	Truncated bool            `json:"truncated,omitempty"`
	Reason    effect.Reason   `json:"reason,omitempty"`
	Error     string          `json:"error,omitempty"`
	Until     *time.Time      `json:"until,omitempty"` // when attempts end, for a call that waits for its next one
}

// Rejected is a tool that a message called for but that did not fire, because values were missing or invalid.
type Rejected struct {
	RepositoryID string                  `json:"repositoryId"`
	Name         string                  `json:"name"`
	Values       map[string]any          `json:"values"`
	Missing      []string                `json:"missing"`
	Errors       []parameters.ValueFault `json:"errors"`
	// Ask is the next question for the user; empty if no parameter that lacks a value has a question.
	Ask string `json:"ask,omitempty"`
}

// Retracted is a trigger that a message took back.
type Retracted struct {
	TriggerID string `json:"triggerId"`
	Name      string `json:"name"`
}

// Due reports whether the match has effects of its own that are not deferred.
func (m Match) Due() bool {
	switch m.State {
	case "", StateDelivered, StateFailed, StateDry:
		return true
	case StatePending:
		return m.DueAt == nil
	}
	return false
}

// WithState returns the match with the state that follows from its effects, if it is due.
func (m Match) WithState() Match {
	if !m.Due() {
		return m
	}
	m.State = StateDelivered
	var states []string
	for _, event := range []*EventState{m.Event, m.Emitter} {
		if event != nil {
			states = append(states, event.State)
		}
	}
	if m.Call != nil {
		states = append(states, m.Call.State)
	}
	for _, state := range []string{StatePending, StateFailed, StateDry} {
		if slices.Contains(states, state) {
			m.State = state
		}
	}
	return m
}

// WithStates returns the answer as its clients see it.
func (a Answer) WithStates() Answer {
	a.Matches = slices.Clone(a.Matches)
	for i, match := range a.Matches {
		a.Matches[i] = match.WithState()
	}
	return a
}

// WithPublishedEvents returns the match as decided, with all its due events published.
func (m Match) WithPublishedEvents() Match {
	if m.Due() {
		for _, event := range []*EventState{m.Event, m.Emitter} {
			if event != nil {
				event.State = StatePublished
			}
		}
	}
	return m.WithState()
}

// SetStates sets the state of all effects of the match.
func (m *Match) SetStates(next string) {
	for _, event := range []*EventState{m.Event, m.Emitter} {
		if event != nil {
			event.State = next
		}
	}
	if m.Call != nil {
		m.Call.State = next
	}
}

// Encode returns the state of a trigger's event as the ledger stores it; its subject is in the record.
func (s *EventState) Encode() (string, error) {
	if s == nil {
		return "", nil
	}
	if s.Error == "" && s.State == StatePublished { // of nearly all events
		return `{"state":"` + StatePublished + `"}`, nil
	}
	return exactjson.Text(storedState{s.State, s.Error})
}

type storedState struct {
	State string `json:"state"`
	Error string `json:"error,omitempty"`
}

func readEvent(event **EventState, text string) error {
	if text == "" {
		return nil
	}
	decoded := EventState{}
	if *event != nil {
		decoded.Subject = (*event).Subject
	}
	*event = &decoded
	return exactjson.Unmarshal([]byte(text), &decoded)
}

// States returns the states of the match's effects as the ledger stores them.
func (m Match) States() (states ledger.States, err error) {
	event, err1 := m.Event.Encode()
	emitter, err2 := m.Emitter.Encode()
	states.Event, states.Emitter = event, emitter
	if m.Call == nil {
		return states, errors.Join(err1, err2)
	}
	states.Call, err = exactjson.Text(m.Call)
	return states, errors.Join(err1, err2, err)
}

func decodePart[T any](part **T, text string) error {
	if text == "" {
		return nil
	}
	*part = new(T)
	return exactjson.Unmarshal([]byte(text), *part)
}

// MatchState returns the state of a trigger as a match shows it.
func MatchState(s state.State) string {
	if s == state.Settling {
		return StatePending
	}
	return string(s)
}

// Record is the stored record of a trigger, with its delivery state and all attempts.
type Record struct {
	Match
	AppID     string          `json:"appId"`
	SessionID string          `json:"sessionId,omitempty"`
	MessageID string          `json:"messageId,omitempty"`
	Text      string          `json:"text,omitempty"`
	Time      time.Time       `json:"ts"`
	Schema    json.RawMessage `json:"schema"`
	// Metadata is that of the message or direct trigger, laid over the session's.
	Metadata repositories.Metadata `json:"metadata,omitempty"`
	// Repaired reports that a model's arguments were malformed JSON, Coerced lists the values changed in form,
	// and Evidence has the words for each inferred value: null for none.
	Repaired bool                             `json:"repaired,omitempty"`
	Coerced  []string                         `json:"coerced,omitempty"`
	Evidence exactjson.Map[*matcher.Evidence] `json:"evidence,omitempty"`
	// State is the Match's. It follows from the effects in the record.
	State string `json:"state"`
	// ResultEvent is the event tool.result if it was given up: the trigger has then failed, although its other
	// effects were delivered.
	ResultEvent *EventState `json:"resultEvent,omitempty"`
	Attempts    []Attempt   `json:"attempts"`
	Retries     []Retry     `json:"retries,omitempty"` // manual
	// Next is the current or next attempt at its call. Lists omit it.
	Next  *NextAttempt `json:"next,omitempty"`
	Moves []Move       `json:"moves,omitempty"` // of a held trigger
	// Repeated reports that it was already confirmed, denied or cancelled as requested.
	Repeated bool `json:"-"`
}

// Attempt is one attempt to deliver an effect of a trigger.
type Attempt struct {
	Effect       string        `json:"effect"` // event, emitter, call or result
	Number       int           `json:"attempt"`
	Time         time.Time     `json:"ts"`
	Milliseconds int64         `json:"ms,omitempty"` // duration
	Status       int           `json:"status,omitempty"`
	Reason       effect.Reason `json:"reason,omitempty"`
	Error        string        `json:"error,omitempty"`
	// Unended reports that the attempt began and its replica died before it recorded the outcome.
	Unended bool `json:"unended,omitempty"`
	// Request is the call's request, and Response the beginning of the answer to an undelivered call; CallState
	// has the result of a delivered one.
	Request  *effect.Sent `json:"request,omitempty"`
	Response string       `json:"response,omitempty"`
}

// NextAttempt is the current or next attempt at a call.
type NextAttempt struct {
	Number   int        `json:"attempt"` // from 1
	UnderWay bool       `json:"underWay,omitempty"`
	Due      *time.Time `json:"at,omitempty"` // of an attempt that has not begun
}

// Move records a move of a held trigger: confirmed, denied, cancelled, or its time over.
type Move struct {
	Time   time.Time    `json:"ts"`
	Action state.Action `json:"action"`
	By     string       `json:"by,omitempty"` // id of a key, admin, session, or message
}

// Retry records a manual retry of failed effects, or of the next attempt.
type Retry struct {
	Time time.Time `json:"ts"`
	By   string    `json:"by,omitempty"` // id of a key, or admin
}

// StoredTrigger is a trigger as the ledger stores it.
type StoredTrigger struct {
	Record  Record
	Decided Match  // its match as decided, without later changes
	Firing  string // prefix of its effects' ids
	Answer  string
	// Answering reports that the replica that fired it may still answer.
	Answering bool
}

// ReadStoredTrigger reads a trigger of the ledger.
func ReadStoredTrigger(raw *ledger.StoredTrigger) (*StoredTrigger, error) {
	stored := &StoredTrigger{Firing: raw.Name, Answer: raw.Answer, Answering: raw.Answering}
	record := &stored.Record
	if err := record.decode(raw.ID, raw.Record); err != nil {
		return nil, err
	}
	stored.Decided, stored.Decided.State = record.Match, record.State
	record.Attempts = append([]Attempt{}, readLines[Attempt](raw.Attempts)...)
	record.Moves, record.Retries = readLines[Move](raw.Moves), readLines[Retry](raw.Retries)

	match, current := &record.Match, state.State(raw.State)
	match.State, match.DueAt = MatchState(current), nil
	if current == state.Settling {
		match.DueAt = new(time.UnixMilli(raw.Due).UTC())
	}
	err := errors.Join(
		readEvent(&match.Event, raw.Event), readEvent(&match.Emitter, raw.Emitter), decodePart(&match.Call, raw.Call),
		decodePart(&record.ResultEvent, raw.Result),
	)
	*match = match.WithState()
	if result := record.ResultEvent; result != nil && result.State != StateFailed {
		record.ResultEvent = nil // it is pending or published
	} else if result != nil && current == state.Due {
		match.State = StateFailed
	}
	record.State = match.State
	return stored, err
}

func readLines[T any](lines string) (list []T) {
	for line := range strings.Lines(lines) {
		var value T
		if exactjson.Unmarshal([]byte(line), &value) == nil {
			list = append(list, value)
		}
	}
	return list
}
