// Package query reads what messages and triggers have left: their answers, their records, and why
// a message was decided as it was. It changes nothing.
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
	MessageID string     `json:"messageId"`
	Matches   []Match    `json:"matches"`
	Rejected  []Rejected `json:"rejected"`
	// Retracted are the triggers that settled and that the message took back.
	Retracted []Retracted     `json:"retracted,omitempty"`
	Reply     json.RawMessage `json:"reply"`
	// ReplyType is json if the reply is a result other than a text, else empty.
	ReplyType string `json:"replyType,omitempty"`
	// SkipResponse tells a front-end that it should not answer by itself.
	SkipResponse bool `json:"skipResponse"`
	// Auth is why ID tokens of the message were not accepted, by their services: a word of the
	// verifier, or claim if a parameter of a tool in scope lacks its own.
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
	StatePublished = "published" // an event that JetStream has acknowledged
	StateDelivered = "delivered" // a call that was answered with 2xx
	StatePending   = "pending"   // owed: it is stored and will be tried again
	StateFailed    = "failed"    // given up; listed among the dead letters
	StateDraft     = "draft"     // of a draft: it would be owed
	StateDry       = "dry"       // of a dry run: it would be owed
)

// States of a trigger whose effects are deferred, or that has none. They are those of package
// state.
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
	// State of one that has fired follows from its effects: pending while one is owed, failed if one
	// was given up, else delivered. Other states are draft, dry, confirming, pending with DueAt while
	// it can be taken back, cancelled, and duplicate (of the trigger Of, which had equal values
	// before). Inside the engine it is empty for one that fires.
	State string     `json:"state,omitempty"`
	DueAt *time.Time `json:"dueAt,omitempty"`
	Of    string     `json:"of,omitempty"`
	// Digest stands for app, session, tool and values: a confirmation names it. Question is what the
	// user is to be asked.
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
	// Until is when attempts end, of a call that waits for its next one.
	Until *time.Time `json:"until,omitempty"`
}

// Rejected is a tool that a message called for and that did not fire, because values were missing
// or invalid.
type Rejected struct {
	RepositoryID string                  `json:"repositoryId"`
	Name         string                  `json:"name"`
	Values       map[string]any          `json:"values"`
	Missing      []string                `json:"missing"`
	Errors       []parameters.ValueFault `json:"errors"`
	// Ask is what to ask the user next; empty if no parameter that lacks a value has a question.
	Ask string `json:"ask,omitempty"`
}

// Retracted is a trigger that a message took back.
type Retracted struct {
	TriggerID string `json:"triggerId"`
	Name      string `json:"name"`
}

// Due reports whether the effects of a match are not deferred, and it has some of its own.
func (m Match) Due() bool {
	switch m.State {
	case "", StateDelivered, StateFailed, StateDry:
		return true
	case StatePending:
		return m.DueAt == nil
	}
	return false
}

// Shown returns the match with the state that follows from its effects, if it is due.
func (m Match) Shown() Match {
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
	for _, worse := range []string{StatePending, StateFailed, StateDry} {
		if slices.Contains(states, worse) {
			m.State = worse
		}
	}
	return m
}

// Shown returns the answer as its clients see it.
func (a Answer) Shown() Answer {
	a.Matches = slices.Clone(a.Matches)
	for i, match := range a.Matches {
		a.Matches[i] = match.Shown()
	}
	return a
}

// Published returns the match as it was decided, after all of its events that are due were
// published.
func (m Match) Published() Match {
	if m.Due() {
		for _, event := range []*EventState{m.Event, m.Emitter} {
			if event != nil {
				event.State = StatePublished
			}
		}
	}
	return m.Shown()
}

// SetStates gives all effects of the match a state.
func (m *Match) SetStates(to string) {
	for _, event := range []*EventState{m.Event, m.Emitter} {
		if event != nil {
			event.State = to
		}
	}
	if m.Call != nil {
		m.Call.State = to
	}
}

// Kept is the state of an event of a trigger as the ledger keeps it: its subject stands in the record.
func (s *EventState) Kept() (string, error) {
	if s == nil {
		return "", nil
	}
	return exactjson.Text(keptState{s.State, s.Error})
}

type keptState struct {
	State string `json:"state"`
	Error string `json:"error,omitempty"`
}

// readEvent reads the state of an event whose record has its subject.
func readEvent(event **EventState, text string) error {
	if text == "" {
		return nil
	}
	read := EventState{}
	if *event != nil {
		read.Subject = (*event).Subject
	}
	*event = &read
	return exactjson.Unmarshal([]byte(text), &read)
}

// States returns the states of the match's effects as the ledger keeps them.
func (m Match) States() (states ledger.States, err error) {
	event, err1 := m.Event.Kept()
	emitter, err2 := m.Emitter.Kept()
	call, err3 := encodePart(m.Call)
	return ledger.States{Event: event, Emitter: emitter, Call: call}, errors.Join(err1, err2, err3)
}

func encodePart[T any](part *T) (string, error) {
	if part == nil {
		return "", nil
	}
	return exactjson.Text(part)
}

func decodePart[T any](part **T, text string) error {
	if text == "" {
		return nil
	}
	*part = new(T)
	return exactjson.Unmarshal([]byte(text), *part)
}

// ShownState is how a match shows the state of its trigger.
func ShownState(s state.State) string {
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
	// Metadata is that of the message or direct trigger, laid over that of the session.
	Metadata repositories.Metadata `json:"metadata,omitempty"`
	// Repaired says that a model's arguments were not well-formed JSON, Coerced which values were
	// changed in form, and Evidence where each inferred value was said: null for nowhere.
	Repaired bool                         `json:"repaired,omitempty"`
	Coerced  []string                     `json:"coerced,omitempty"`
	Evidence map[string]*matcher.Evidence `json:"evidence,omitempty"`
	// State is that of the Match. It follows from the effects that the record shows.
	State string `json:"state"`
	// ResultEvent is the event tool.result if it was given up: the trigger has failed then, although
	// its other effects were delivered.
	ResultEvent *EventState `json:"resultEvent,omitempty"`
	Attempts    []Attempt   `json:"attempts"`
	Retries     []Retried   `json:"retries,omitempty"` // by hand
	// Next is the attempt at its call that is under way, or comes next. Lists leave it out.
	Next  *NextAttempt `json:"next,omitempty"`
	Moves []Moved      `json:"moves,omitempty"` // of one that was held
	// Repeated says that it was confirmed, denied or cancelled before in the way that was asked for.
	Repeated bool `json:"-"`
}

// Attempt is one attempt to deliver an effect of a trigger.
type Attempt struct {
	Effect       string        `json:"effect"` // event, emitter, call or result
	Number       int           `json:"attempt"`
	Time         time.Time     `json:"ts"`
	Milliseconds int64         `json:"ms,omitempty"` // how long it took
	Status       int           `json:"status,omitempty"`
	Reason       effect.Reason `json:"reason,omitempty"`
	Error        string        `json:"error,omitempty"`
	// Unended says that it began, and that its replica died before it wrote down the outcome.
	Unended bool `json:"unended,omitempty"`
	// Request is what a call has sent, and Response how the answer begins if the call was not
	// delivered; the result of one that was is in CallState.
	Request  *effect.Sent `json:"request,omitempty"`
	Response string       `json:"response,omitempty"`
}

// NextAttempt is the attempt at a call that is under way, or comes next.
type NextAttempt struct {
	Number   int        `json:"attempt"` // from 1
	UnderWay bool       `json:"underWay,omitempty"`
	Due      *time.Time `json:"at,omitempty"` // of one that is not under way
}

// Moved says that a held trigger was confirmed, denied or cancelled, or that its time was over.
type Moved struct {
	Time   time.Time    `json:"ts"`
	Action state.Action `json:"action"`
	By     string       `json:"by,omitempty"` // id of a key, admin, session, or the message that said it
}

// Retried says that what has failed of a trigger, or its next attempt, was made due at once.
type Retried struct {
	Time time.Time `json:"ts"`
	By   string    `json:"by,omitempty"` // id of a key, or admin
}

// Stored is a trigger as it stands in the ledger.
type Stored struct {
	Record Record
	// Decided is its match as it was decided, whatever has become of it since.
	Decided Match
	Firing  string // its effects are named after it
	Answer  string
	// Answering says that the replica that fired it may still be about to answer.
	Answering bool
}

// ReadStored reads a trigger of the ledger.
func ReadStored(found *ledger.StoredTrigger) (*Stored, error) {
	s := &Stored{Firing: found.Name, Answer: found.Answer, Answering: found.Answering}
	record := &s.Record
	if err := record.readKept(found.ID, found.Record); err != nil {
		return nil, err
	}
	s.Decided, s.Decided.State = record.Match, record.State
	record.Attempts = append([]Attempt{}, readLines[Attempt](found.Attempts)...)
	record.Moves, record.Retries = readLines[Moved](found.Moves), readLines[Retried](found.Retries)

	match, at := &record.Match, state.State(found.State)
	match.State, match.DueAt = ShownState(at), nil
	if at == state.Settling {
		due := time.UnixMilli(found.Due).UTC()
		match.DueAt = &due
	}
	err := errors.Join(
		readEvent(&match.Event, found.Event), readEvent(&match.Emitter, found.Emitter), decodePart(&match.Call, found.Call),
		decodePart(&record.ResultEvent, found.Result),
	)
	*match = match.Shown()
	if of := record.ResultEvent; of != nil && of.State != StateFailed {
		record.ResultEvent = nil // it is on its way, or there
	} else if of != nil && at == state.Due {
		match.State = StateFailed
	}
	record.State = match.State
	return s, err
}

func readLines[T any](lines string) (list []T) {
	for line := range strings.Lines(lines) {
		var read T
		if exactjson.Unmarshal([]byte(line), &read) == nil {
			list = append(list, read)
		}
	}
	return list
}
