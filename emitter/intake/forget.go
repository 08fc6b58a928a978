package intake

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"earshot/emitter"
	"earshot/trigger/effect"
)

// Forget removes what was published for triggers of an app from the stream, and has the server
// write over what it has on disk of it.
func (i *Intake) Forget(ctx context.Context, appID string, triggerIDs []string) error {
	if len(triggerIDs) == 0 {
		return nil
	}
	var held jetstream.Stream
	var published map[string]uint64
	err := i.nats.In(ctx, func(ctx context.Context, js jetstream.JetStream) (err error) {
		if held, err = js.Stream(ctx, emitter.StreamIn); err != nil {
			return err
		}
		info, err := held.Info(ctx, jetstream.WithSubjectFilter("answer."+appID+".*"))
		if err == nil {
			published = info.State.Subjects
		}
		return err
	})
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	for _, id := range triggerIDs {
		if subject := effect.AnswerSubject(appID, id); err == nil && published[subject] > 0 {
			err = i.wipe(ctx, held, subject)
		}
	}
	if err != nil {
		return fmt.Errorf("remove answers from stream %s: %w", emitter.StreamIn, err)
	}
	return nil
}

// wipe removes all messages of a subject.
func (i *Intake) wipe(ctx context.Context, held jetstream.Stream, subject string) error {
	for {
		err := i.nats.In(ctx, func(ctx context.Context, _ jetstream.JetStream) error {
			message, err := held.GetMsg(ctx, 1, jetstream.WithGetMsgSubject(subject))
			if err != nil {
				return err
			}
			return held.SecureDeleteMsg(ctx, message.Sequence)
		})
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err != nil && !errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}
