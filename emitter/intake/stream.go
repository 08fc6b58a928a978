package intake

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"earshot/emitter"
	"earshot/trigger/effect"
)

// subjects returns those of the stream, answer.{appId}.{triggerId}: longer ones are
// left to other programs, whose requests the stream would acknowledge.
func subjects() []string { return []string{"answer.*.*"} }

const (
	// maxAge outlives the longest time for an answer, which is 24 hours.
	maxAge = 25 * time.Hour
	// maxMessage is the longest answer: one over REST has as many bytes at most.
	maxMessage = 1 << 20
	// mostOfOne is how many messages on the subject of one trigger are looked at: whoever
	// publishes more than that on it cannot make us read for ever.
	mostOfOne = 100
)

// sizes are those that the stream may have, tried one after the other: an account may have
// less room than we would like. A full stream pushes its oldest message out, which has been
// taken long before unless all replicas were away.
var sizes = []int64{256 << 20, 16 << 20}

// noRoom are the codes of errors of a server that cannot reserve so many bytes.
var noRoom = []jetstream.ErrorCode{10002, 10023, 10047}

// stream makes the stream, or brings what the promise rests on into order. The rest is the
// operator's.
func (i *Intake) stream(ctx context.Context, js jetstream.JetStream) (held jetstream.Stream, err error) {
	held, err = js.Stream(ctx, emitter.StreamIn)
	if err == nil {
		was := held.CachedInfo().Config
		if wanted := promised(was); !reflect.DeepEqual(wanted, was) {
			return js.UpdateStream(ctx, wanted)
		}
		return held, nil
	}
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, err
	}
	for _, size := range sizes {
		made := promised(jetstream.StreamConfig{MaxBytes: size, MaxMsgs: -1, MaxConsumers: -1, Replicas: max(i.replicas, 1)})
		if held, err = js.CreateStream(ctx, made); !slices.Contains(noRoom, code(err)) {
			break
		}
	}
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return js.Stream(ctx, emitter.StreamIn) // another replica was faster
	}
	return held, err
}

// promised returns a configuration with the fields set that the promise rests on: what was
// published is kept, in its order, whether it was taken or not, and is read from the leader,
// which knows all of it.
func promised(held jetstream.StreamConfig) jetstream.StreamConfig {
	held.Name, held.Subjects = emitter.StreamIn, subjects()
	held.Retention, held.Storage, held.Discard = jetstream.LimitsPolicy, jetstream.FileStorage, jetstream.DiscardOld
	held.MaxAge, held.MaxMsgSize, held.MaxMsgsPerSubject = maxAge, maxMessage, -1
	held.AllowDirect, held.NoAck = false, false
	return held
}

func code(err error) jetstream.ErrorCode {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.ErrorCode
	}
	return 0
}

// each hands out the valid answers that the stream holds for a trigger, oldest first, up to a
// sequence, until one is enough.
func (i *Intake) each(ctx context.Context, held jetstream.Stream, subject string, last uint64, found func(effect.Answer) (enough bool, err error)) error {
	next := uint64(1)
	for range mostOfOne {
		var message *jetstream.RawStreamMsg
		err := i.nats.In(ctx, func(ctx context.Context, _ jetstream.JetStream) (err error) {
			message, err = held.GetMsg(ctx, next, jetstream.WithGetMsgSubject(subject))
			return err
		})
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound), err == nil && message.Sequence > last:
			return nil
		case err != nil:
			return err
		}
		next = message.Sequence + 1
		given, err := readAnswer(message.Data)
		if err != nil {
			continue // it was said when it came
		}
		given.At = message.Time
		if enough, err := found(given); enough || err != nil {
			return err
		}
	}
	i.log.Warn("answer.flooded", "subject", subject, "looked", mostOfOne)
	return nil
}

var _ effect.Deliverer = (*Intake)(nil)

// Deliver looks for the first answer that was published in time, for an effect that waits for
// one. Without one its verdict is that nobody has answered, also where the stream is not
// there, or is denied to us, so that it holds none. Where NATS does not say, it asks for a
// Retry.
func (i *Intake) Deliver(ctx context.Context, delivery effect.Effect) effect.Outcome {
	of, outcome := delivery.Awaited, effect.Unanswered()
	if delivery.Kind != effect.KindAnswer || of == nil {
		return effect.OutcomeOf(effect.Permanent(effect.ReasonRequest, "effect %s of kind %q waits for no answer", delivery.ID, delivery.Kind))
	}
	var held jetstream.Stream
	err := i.nats.In(ctx, func(ctx context.Context, js jetstream.JetStream) (err error) {
		held, err = js.Stream(ctx, emitter.StreamIn)
		return err
	})
	if err == nil {
		err = i.each(ctx, held, of.Subject, math.MaxUint64, func(given effect.Answer) (bool, error) {
			if given.At.Before(of.Since) {
				return false, nil
			}
			if !given.At.After(of.Until) {
				outcome = given.Bounded().Outcome()
			}
			return true, nil
		})
	}
	if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) && !errors.Is(err, emitter.ErrInDenied) {
		return effect.OutcomeOf(effect.Deferral(0, "it is not known whether an answer was published: %s", effect.Clip(fmt.Sprint(err))))
	}
	return outcome
}
