// Package intake hears what others publish for Earshot on NATS: answers to triggers.
//
// Stream EARSHOT_IN keeps each answer with the time at which it came, so that one that was
// published while every replica was down counts when one is up. All replicas share one durable
// consumer: whichever gets a message hands it to the ledger, and acknowledges it when the
// ledger has it. No replica owns a trigger: of several answers to one, the stream's own order
// decides, whoever is asked, since each message is handed in with those before it on its
// subject, and since the stream is read again before a trigger is given up for want of an
// answer. An owner of each partition would have to be elected, and missed while it is away.
package intake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/cenkalti/backoff/v5"
	"github.com/nats-io/nats.go/jetstream"

	"earshot/emitter"
	"earshot/repositories"
	"earshot/repositories/panics"
	"earshot/trigger/effect"
)

// Taker keeps answers. It reports whether the trigger needs no other; after an error the
// answer is handed in again.
type Taker func(ctx context.Context, appID, triggerID string, given effect.Answer) (settled bool, err error)

// Intake reads the stream. It is safe for concurrent use.
type Intake struct {
	nats     *emitter.Emitter
	log      *slog.Logger
	replicas int
}

// New returns an intake over the connection of an emitter. So many servers of a cluster hold
// the stream when it is made; 0 is one.
func New(nats *emitter.Emitter, replicas int, log *slog.Logger) *Intake {
	return &Intake{nats: nats, log: log, replicas: replicas}
}

const (
	consumerName = "earshot"
	// ackWait is how long a message may be under work; one of a replica that died comes to
	// another after that.
	ackWait = 10 * time.Second
	// again is the pause before a message that could not be taken comes again.
	again = time.Second
	// atOnce is how many messages a replica works on at the same time.
	atOnce = 16
	// watchEvery is how often it is looked whether the consumer is still there.
	watchEvery = 5 * time.Second
	// deniedPause is the pause after NATS has denied us what we need.
	deniedPause = 30 * time.Second
)

// Run makes the stream, and hands what it holds to take until ctx ends, through all outages.
// Where NATS denies it, that is logged, and tried again from time to time.
func (i *Intake) Run(ctx context.Context, take Taker) {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = 100*time.Millisecond, 2*time.Second
	said := ""
	for ctx.Err() == nil {
		heard, err := i.read(ctx, take)
		if ctx.Err() != nil {
			return
		}
		if heard {
			pauses.Reset()
			said = ""
		}
		if text := err.Error(); text != said { // an outage is told once
			said = text
			i.log.Warn("answers.unheard", "stream", emitter.StreamIn, "error", text)
		}
		pause := pauses.NextBackOff()
		if errors.Is(err, emitter.ErrInDenied) {
			pause = deniedPause
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// read reads the stream until ctx ends, or the consumer does; heard says that there was one.
func (i *Intake) read(ctx context.Context, take Taker) (heard bool, err error) {
	held, consumer, err := i.open(ctx)
	if err != nil {
		return false, err
	}
	r := &reading{Intake: i, held: held, take: take, slots: make(chan struct{}, atOnce)}
	consuming, err := consumer.Consume(func(message jetstream.Msg) { r.receive(ctx, message) }, jetstream.PullMaxMessages(4*atOnce))
	if err != nil {
		return false, err
	}
	select {
	case err = <-i.gone(ctx):
	case <-consuming.Closed():
		err = errors.New("the consumer was closed")
	}
	consuming.Drain() // what is here already is handed back
	<-consuming.Closed()
	r.working.Wait()
	return true, err
}

// open makes the stream and the consumer, or finds them.
func (i *Intake) open(ctx context.Context) (held jetstream.Stream, consumer jetstream.Consumer, err error) {
	err = i.nats.In(ctx, func(ctx context.Context, js jetstream.JetStream) error {
		if held, err = i.stream(ctx, js); err != nil {
			return err
		}
		consumer, err = held.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
			Durable: consumerName, AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait, MaxDeliver: -1,
		})
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("hear answers that are published: %w", err)
	}
	return held, consumer, nil
}

// gone looks from time to time whether the consumer is there, and tells when it is not, or
// when ctx has ended. Outages alone are the client library's to mend.
func (i *Intake) gone(ctx context.Context) <-chan error {
	end := make(chan error, 1)
	go func() {
		ticks := time.NewTicker(watchEvery)
		defer ticks.Stop()
		for {
			select {
			case <-ctx.Done():
				end <- ctx.Err()
				return
			case <-ticks.C:
			}
			err := i.nats.In(ctx, func(ctx context.Context, js jetstream.JetStream) error {
				_, err := js.Consumer(ctx, emitter.StreamIn, consumerName)
				return err
			})
			if errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
				end <- err
				return
			}
		}
	}()
	return end
}

// reading is what hears the messages of one consumer.
type reading struct {
	*Intake
	held    jetstream.Stream
	take    Taker
	slots   chan struct{}
	working sync.WaitGroup
}

// receive works on a message beside others, or gives it back when the process ends.
func (r *reading) receive(ctx context.Context, message jetstream.Msg) {
	select {
	case r.slots <- struct{}{}:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		_ = message.Nak() // without it, it comes to another replica some seconds later
		return
	}
	r.working.Go(func() {
		defer func() { <-r.slots }()
		err := errors.New("the work on it failed inside Earshot")
		panics.Run(r.log, "answers", message.Subject(), func() { err = r.handIn(ctx, message) })
		if err != nil {
			r.log.Warn("answer.untaken", "subject", message.Subject(), "error", err.Error())
			_ = message.NakWithDelay(again)
			return
		}
		_ = message.Ack() // one that is lost has the message come again, which does no harm
	})
}

// handIn hands in what is published on the subject of a message before it, and where that does
// not settle it, the message. What is no answer is left.
func (r *reading) handIn(ctx context.Context, message jetstream.Msg) error {
	app, triggerID, err := addressed(message.Subject())
	own, fault := readAnswer(message.Data())
	if err = errors.Join(err, fault); err != nil {
		r.log.Info("answer.ignored", "subject", message.Subject(), "error", effect.Clip(err.Error()))
		return nil
	}
	at, err := message.Metadata()
	if err != nil {
		return err
	}
	own.At = at.Timestamp
	settled := false
	err = r.each(ctx, r.held, message.Subject(), at.Sequence.Stream-1, func(given effect.Answer) (_ bool, err error) {
		settled, err = r.take(ctx, app, triggerID, given)
		return settled, err
	})
	if err == nil && !settled {
		_, err = r.take(ctx, app, triggerID, own)
	}
	return err
}

// addressed reads whose answer is published on a subject. What is no id is a name of nothing,
// and must not become one of a key.
func addressed(subject string) (appID, triggerID string, err error) {
	words := strings.Split(subject, ".")
	if len(words) != 3 {
		return "", "", errors.New("the subject is not answer.{appId}.{triggerId}")
	}
	return words[1], words[2], errors.Join(repositories.CheckID("appId", words[1]), repositories.CheckID("triggerId", words[2]))
}

// readAnswer reads an answer that anybody may have published: fields that are not known are
// left, and those that are must be of their types.
func readAnswer(body []byte) (effect.Answer, error) {
	var given struct {
		OK     *bool           `json:"ok"`
		Result json.RawMessage `json:"result"`
		Error  string          `json:"error"`
	}
	if !utf8.Valid(body) {
		return effect.Answer{}, errors.New("it is not UTF-8")
	}
	if err := json.Unmarshal(body, &given); err != nil {
		return effect.Answer{}, fmt.Errorf("it is not the JSON of an answer: %w", err)
	}
	switch {
	case given.OK == nil:
		return effect.Answer{}, errors.New("it has no ok, true or false")
	case *given.OK:
		return effect.Answer{OK: true, Result: given.Result}, nil
	case given.Error == "":
		return effect.Answer{}, errors.New("its ok is false, and no error says why")
	}
	return effect.Answer{Error: given.Error}, nil
}
