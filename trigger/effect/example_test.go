package effect_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"earshot/trigger/effect"
)

// journal delivers events by appending them to a file for each app.
type journal struct{ folder string }

// Deliver makes one attempt. The Failures of whatever it calls say whether there is
// another.
func (j journal) Deliver(_ context.Context, delivery effect.Effect) effect.Outcome {
	if err := j.write(delivery); err != nil {
		return effect.OutcomeOf(err)
	}
	return effect.Outcome{Verdict: effect.Done}
}

func (j journal) write(delivery effect.Effect) error {
	if delivery.Event == nil {
		return effect.Permanent(effect.ReasonRequest, "effect %q of kind %q holds no event", delivery.ID, delivery.Kind)
	}
	name := filepath.Join(j.folder, delivery.AppID)
	file, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		return effect.Transient(effect.ReasonRequest, "the journal of app %q is not there yet", delivery.AppID)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.Write(append(delivery.Event.Data, '\n'))
	return err
}

// A Deliverer says of an attempt whether it was delivered, is to be tried again, or will
// never succeed. The ledger decides when the next one is due.
func Example() {
	folder, err := os.MkdirTemp("", "journal")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	var out effect.Deliverer = journal{folder}
	booked := effect.Effect{ID: "t1-trigger", Kind: effect.KindEvent, AppID: "clinic", Event: &effect.Event{Data: []byte(`{"day":"Friday"}`)}}

	outcome := out.Deliver(context.Background(), booked)
	fmt.Println(outcome.Verdict == effect.Retry, outcome.Error)

	_ = os.WriteFile(filepath.Join(folder, "clinic"), nil, 0o600)
	fmt.Println(out.Deliver(context.Background(), booked).Verdict == effect.Done)

	outcome = out.Deliver(context.Background(), effect.Effect{ID: "t1-call", Kind: effect.KindCall, AppID: "clinic"})
	fmt.Println(outcome.Verdict == effect.Dead, outcome.Error)
	// Output:
	// true the journal of app "clinic" is not there yet
	// true
	// true effect "t1-call" of kind "call" holds no event
}
