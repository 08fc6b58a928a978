package emitter

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"earshot/trigger/effect"
)

var (
	errDown     = errors.New("NATS is not connected")
	errTooLarge = errors.New("the event is too large")
)

// outcomeOf is the one place that decides what an error means for the event. Whatever
// it does not know may heal, as events are not given up for the time that it takes: Retry.
// An attempt is deferred if the connection was down before anything was written.
func outcomeOf(err error) effect.Outcome {
	text, down := "", func(one error) bool { return errors.Is(err, one) }
	switch {
	case err == nil:
		return effect.Outcome{Verdict: effect.Done}
	case errors.Is(err, errTooLarge):
		return effect.Outcome{Verdict: effect.Dead, Error: err.Error()}
	case errors.Is(err, errDenied):
		return effect.Outcome{Verdict: effect.Retry, Forbidden: true, Error: err.Error()}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		text = "NATS did not acknowledge the event in time: "
	case errors.Is(err, jetstream.ErrNoStreamResponse):
		text = "stream " + Stream + " does not answer: "
	case code(err) == codeOtherStream:
		text = "another stream than " + Stream + " holds the subject, take it from that one: "
	case slices.Contains(fullCodes, code(err)):
		text = "stream " + Stream + " takes no more, raise its limits or shorten its max age: "
	}
	return effect.Outcome{Verdict: effect.Retry, Deferred: slices.ContainsFunc(downs, down), Error: text + err.Error()}
}

// downs are the errors of a connection on which nothing was written.
var downs = []error{errDown, nats.ErrReconnectBufExceeded, nats.ErrConnectionClosed, nats.ErrConnectionReconnecting, nats.ErrConnectionDraining}

func code(err error) jetstream.ErrorCode {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.ErrorCode
	}
	return 0
}

// refusals are the answers of a server that takes no connection of ours.
var refusals = []error{nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked, nats.ErrAccountAuthExpired}

// inItsWords adds to an error what NATS itself says in it, for everybody to read.
func inItsWords(err error) error {
	var known *public
	if err == nil || errors.As(err, &known) {
		return err
	}
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return &refused{err, "refuses what its stream needs", fmt.Sprintf("%s (%d)", api.Description, api.ErrorCode)}
	}
	if errors.Is(err, nats.ErrNoResponders) {
		return &refused{err, "answers without JetStream", nats.ErrNoResponders.Error()}
	}
	if at := slices.IndexFunc(refusals, func(one error) bool { return errors.Is(err, one) }); at >= 0 {
		return &refused{err, "refuses the connection", refusals[at].Error()}
	}
	return err
}

// refused is an error with NATS's own words.
type refused struct {
	error
	shown, words string
}

// Unwrap returns the error.
func (r *refused) Unwrap() error { return r.error }

// Public returns what everybody may read, to go on after the word NATS.
func (r *refused) Public() string { return r.shown }

// Words returns what NATS says.
func (r *refused) Words() string { return r.words }

// public is an error of which everybody may read the text of Public: it says nothing of
// hosts, apps or subjects.
type public struct{ text, shown string }

// Error returns what operators read.
func (p *public) Error() string { return p.text }

// Public returns what everybody may read, to go on after the word NATS.
func (p *public) Public() string { return p.shown }
