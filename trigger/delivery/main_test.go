package delivery_test

import (
	"context"
	"testing"

	"earshot/deploy/testbed/enginetest"
	"earshot/deploy/testbed/redistest"
	"earshot/trigger/query"
)

func TestMain(m *testing.M) { redistest.Main(m) }

const booking = enginetest.Booking

var down, nobody, asJSON = enginetest.Down, enginetest.Nobody, enginetest.JSON

// world is a service, with what the tests of this package do with it.
type world struct{ *enginetest.World }

func each(t *testing.T, test func(t *testing.T, w *world)) {
	enginetest.Each(t, func(t *testing.T, w *enginetest.World) { test(t, &world{w}) })
}

func newWorld(t testing.TB, server *redistest.Server) *world {
	return &world{enginetest.New(t, server)}
}

func idleWorld(t testing.TB, server *redistest.Server, workers int) *world {
	return &world{enginetest.Idle(t, server, workers)}
}

// untilOne waits until one trigger of the clinic is in a state, and returns it.
func (w *world) untilOne(state string) (record query.Record) {
	w.Until("a trigger is "+state, func() bool {
		records, _, err := w.Engine.Triggers(context.Background(), query.Triggers{AppID: "clinic", State: state, Page: query.Page{Limit: 1}})
		if err != nil || len(records) == 0 {
			return false
		}
		record = records[0]
		return true
	})
	return record
}

// saying posts a message that waits for something, and returns where its answer arrives.
func (w *world) saying(id, text string) <-chan query.Answer {
	answers := make(chan query.Answer, 1)
	go func() {
		if answer, err := w.TrySay(id, text); err == nil {
			answers <- answer
		}
	}()
	return answers
}
