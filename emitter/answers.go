package emitter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/nats-io/nats.go/jetstream"

	"earshot/repositories"
	"earshot/repositories/panics"
	"earshot/trigger/effect"
)

// AnswerStream is the stream of answers to triggers. A denial for it does not block events.
const AnswerStream = "EARSHOT_IN"

// AnswerHandler stores an answer, and reports whether the trigger needs no other; after an error it gets the answer
// again.
type AnswerHandler func(ctx context.Context, appID, triggerID string, given effect.Answer) (settled bool, err error)

// Intake reads published answers to triggers from stream EARSHOT_IN. It is safe for concurrent use. The stream
// timestamps each answer, so that an answer from an outage of all replicas counts later. All replicas share one
// durable consumer, and acknowledge a message once it is in the ledger. No replica owns a trigger: the stream's
// order decides, since each message is processed after the earlier ones on its subject, and the stream is read
// again before a trigger expires.
type Intake struct {
	nats *Emitter
	log  *slog.Logger
}

var _ effect.Deliverer = (*Intake)(nil)

// Intake returns a reader of answers on the emitter's connection.
func (e *Emitter) Intake() *Intake { return &Intake{nats: e, log: e.options.Logger} }

const (
	consumerName = "earshot"
	// ackWait is how long a message may be in progress before another replica gets it.
	ackWait       = 10 * time.Second
	retryAfter    = time.Second
	maxConcurrent = 16
	checkInterval = 5 * time.Second
	deniedPause   = 30 * time.Second
)

// withStream makes requests about AnswerStream within the time limit. They end early if the connection is lost or NATS
// denies one.
func (i *Intake) withStream(ctx context.Context, do func(context.Context, jetstream.JetStream) error) error {
	return i.nats.withTimeout(ctx, AnswerStream, func(ctx context.Context) error { return do(ctx, i.nats.js) })
}

// Run creates the stream, and passes its messages to handle until ctx ends, through outages and denials.
func (i *Intake) Run(ctx context.Context, handle AnswerHandler) {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = 100*time.Millisecond, 2*time.Second
	logged := ""
	for ctx.Err() == nil {
		consumed, err := i.consume(ctx, handle)
		if ctx.Err() != nil {
			return
		}
		if consumed {
			pauses.Reset()
			logged = ""
		}
		if text := err.Error(); text != logged { // one line per outage
			logged = text
			i.log.Warn("answers.unheard", "stream", AnswerStream, "error", text)
		}
		pause := pauses.NextBackOff()
		if errors.Is(err, errAnswersDenied) {
			pause = deniedPause
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// consume consumes messages until ctx or the consumer ends. started reports whether there was a consumer.
func (i *Intake) consume(ctx context.Context, handle AnswerHandler) (started bool, err error) {
	r := &answerReader{Intake: i, handle: handle, slots: make(chan struct{}, maxConcurrent)}
	var consumer jetstream.Consumer
	err = i.withStream(ctx, func(ctx context.Context, js jetstream.JetStream) error {
		if r.stream, err = i.stream(ctx, js); err != nil {
			return err
		}
		consumer, err = r.stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
			Durable: consumerName, AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait, MaxDeliver: -1,
		})
		return err
	})
	if err != nil {
		return false, fmt.Errorf("subscribe to published answers: %w", err)
	}
	consuming, err := consumer.Consume(func(message jetstream.Msg) { r.receive(ctx, message) }, jetstream.PullMaxMessages(4*maxConcurrent))
	if err != nil {
		return false, err
	}
	ticks := time.NewTicker(checkInterval)
	defer ticks.Stop()
	for err = nil; err == nil; {
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-consuming.Closed():
			err = errors.New("the consumer was closed")
		case <-ticks.C:
			err = i.withStream(ctx, func(ctx context.Context, js jetstream.JetStream) error {
				_, err := js.Consumer(ctx, AnswerStream, consumerName)
				return err
			})
			if !errors.Is(err, jetstream.ErrConsumerNotFound) && !errors.Is(err, jetstream.ErrStreamNotFound) {
				err = nil // the client library reconnects by itself
			}
		}
	}
	consuming.Drain() // pending messages are returned to the server
	<-consuming.Closed()
	r.requests.Wait()
	return true, err
}

// answerStreamSizes are tried in order: an account may have less storage. A full stream drops its oldest message,
// which was processed long ago.
var answerStreamSizes = []int64{256 << 20, 16 << 20}

// stream creates the stream, or restores the required fields; the others belong to the operator.
func (i *Intake) stream(ctx context.Context, js jetstream.JetStream) (current jetstream.Stream, err error) {
	current, err = js.Stream(ctx, AnswerStream)
	if err == nil {
		config := current.CachedInfo().Config
		if required := answerStreamConfig(config); !reflect.DeepEqual(required, config) {
			return js.UpdateStream(ctx, required)
		}
		return current, nil
	}
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, err
	}
	for _, size := range answerStreamSizes {
		config := answerStreamConfig(jetstream.StreamConfig{MaxBytes: size, MaxMsgs: -1, MaxConsumers: -1, Replicas: max(i.nats.options.Replicas, 1)})
		if current, err = js.CreateStream(ctx, config); !slices.Contains(noSpaceCodes, code(err)) {
			break
		}
	}
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return js.Stream(ctx, AnswerStream) // another replica was faster
	}
	return current, err
}

// answerStreamConfig sets the required fields: messages are kept in order and read from the leader.
func answerStreamConfig(config jetstream.StreamConfig) jetstream.StreamConfig {
	config.Name = AnswerStream
	// answer.{appId}.{triggerId}: longer subjects belong to other programs, whose requests the stream would
	// acknowledge.
	config.Subjects = []string{"answer.*.*"}
	config.Retention, config.Storage, config.Discard = jetstream.LimitsPolicy, jetstream.FileStorage, jetstream.DiscardOld
	config.MaxAge = 25 * time.Hour // an answer may take 24 hours
	config.MaxMsgSize = 1 << 20    // the same as over REST
	config.MaxMsgsPerSubject = -1
	config.AllowDirect, config.NoAck = false, false
	return config
}

type answerReader struct {
	*Intake
	stream   jetstream.Stream
	handle   AnswerHandler
	slots    chan struct{}
	requests sync.WaitGroup
}

// receive processes a message in the background, or returns it if the process ends.
func (r *answerReader) receive(ctx context.Context, message jetstream.Msg) {
	select {
	case r.slots <- struct{}{}:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		_ = message.Nak() // without it, another replica gets the message some seconds later
		return
	}
	r.requests.Go(func() {
		defer func() { <-r.slots }()
		err := errors.New("the work on it failed inside Earshot")
		panics.Run(r.log, "answers", message.Subject(), func() { err = r.process(ctx, message) })
		if err != nil {
			r.log.Warn("answer.untaken", "subject", message.Subject(), "error", err.Error())
			_ = message.NakWithDelay(retryAfter)
			return
		}
		_ = message.Ack() // a lost ack only causes a harmless redelivery
	})
}

// process passes the earlier messages on the subject to the handler, and then this message.
func (r *answerReader) process(ctx context.Context, message jetstream.Msg) error {
	var app, triggerID string
	answer, err := effect.ReadAnswer(message.Data())
	if words := strings.Split(message.Subject(), "."); len(words) != 3 {
		err = errors.Join(errors.New("the subject must be answer.{appId}.{triggerId}"), err)
	} else { // only valid ids may become part of a key
		app, triggerID = words[1], words[2]
		err = errors.Join(repositories.CheckID("appId", app), repositories.CheckID("triggerId", triggerID), err)
	}
	if err != nil {
		r.log.Info("answer.ignored", "subject", message.Subject(), "error", effect.Clip(err.Error()))
		return nil
	}
	metadata, err := message.Metadata()
	if err != nil {
		return err
	}
	answer.At = metadata.Timestamp
	settled := false
	err = r.eachAnswer(ctx, r.stream, message.Subject(), metadata.Sequence.Stream-1, func(stored effect.Answer) (_ bool, err error) {
		settled, err = r.handle(ctx, app, triggerID, stored)
		return settled, err
	})
	if err == nil && !settled {
		_, err = r.handle(ctx, app, triggerID, answer)
	}
	return err
}

// maxAnswersRead bounds how many messages are read for one trigger: a flood must end.
const maxAnswersRead = 100

// eachAnswer passes the valid answers for a trigger, oldest first, up to a sequence, until one is enough.
func (i *Intake) eachAnswer(ctx context.Context, answers jetstream.Stream, subject string, last uint64, visit func(effect.Answer) (enough bool, err error)) error {
	next := uint64(1)
	for range maxAnswersRead {
		var message *jetstream.RawStreamMsg
		err := i.withStream(ctx, func(ctx context.Context, _ jetstream.JetStream) (err error) {
			message, err = answers.GetMsg(ctx, next, jetstream.WithGetMsgSubject(subject))
			return err
		})
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound), err == nil && message.Sequence > last:
			return nil
		case err != nil:
			return err
		}
		next = message.Sequence + 1
		answer, err := effect.ReadAnswer(message.Data)
		if err != nil {
			continue // logged on arrival
		}
		answer.At = message.Time
		if enough, err := visit(answer); enough || err != nil {
			return err
		}
	}
	i.log.Warn("answer.flooded", "subject", subject, "looked", maxAnswersRead)
	return nil
}

// Deliver looks for the first answer published in time. Without one, or without the stream, the trigger is
// unanswered. It asks for a Retry if NATS fails.
func (i *Intake) Deliver(ctx context.Context, delivery effect.Effect) effect.Outcome {
	awaited, outcome := delivery.Awaited, effect.Unanswered()
	if delivery.Kind != effect.KindAnswer || awaited == nil {
		return effect.OutcomeOf(effect.Permanent(effect.ReasonRequest, "effect %s of kind %q does not wait for an answer", delivery.ID, delivery.Kind))
	}
	var answers jetstream.Stream
	err := i.withStream(ctx, func(ctx context.Context, js jetstream.JetStream) (err error) {
		answers, err = js.Stream(ctx, AnswerStream)
		return err
	})
	if err == nil {
		err = i.eachAnswer(ctx, answers, awaited.Subject, math.MaxUint64, func(answer effect.Answer) (bool, error) {
			if answer.At.Before(awaited.Since) {
				return false, nil
			}
			if !answer.At.After(awaited.Until) {
				outcome = answer.Bounded().Outcome()
			}
			return true, nil
		})
	}
	if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) && !errors.Is(err, errAnswersDenied) {
		return effect.OutcomeOf(effect.Deferral(0, "it is not known whether an answer was published: %s", effect.Clip(fmt.Sprint(err))))
	}
	return outcome
}

// Forget deletes answers to triggers of an app from the stream, and has the server overwrite them on disk.
func (i *Intake) Forget(ctx context.Context, appID string, triggerIDs []string) error {
	if len(triggerIDs) == 0 {
		return nil
	}
	var answers jetstream.Stream
	var published map[string]uint64
	err := i.withStream(ctx, func(ctx context.Context, js jetstream.JetStream) (err error) {
		if answers, err = js.Stream(ctx, AnswerStream); err != nil {
			return err
		}
		info, err := answers.Info(ctx, jetstream.WithSubjectFilter("answer."+appID+".*"))
		if err == nil {
			published = info.State.Subjects
		}
		return err
	})
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	for _, id := range triggerIDs {
		subject := effect.AnswerSubject(appID, id)
		for remaining := published[subject] > 0; remaining && err == nil; {
			err = i.withStream(ctx, func(ctx context.Context, _ jetstream.JetStream) error {
				message, err := answers.GetMsg(ctx, 1, jetstream.WithGetMsgSubject(subject))
				if err != nil {
					return err
				}
				return answers.SecureDeleteMsg(ctx, message.Sequence)
			})
			switch {
			case errors.Is(err, jetstream.ErrMsgNotFound):
				remaining, err = false, nil
			case errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful): // already deleted
				err = ctx.Err()
			}
		}
	}
	if err != nil {
		return fmt.Errorf("remove answers from stream %s: %w", AnswerStream, err)
	}
	return nil
}
