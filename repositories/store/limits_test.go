package store_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/repositories"
)

func TestLimitsAreShownAsTheyWereSet(t *testing.T) {
	store := storeOn(t, redistest.Mini(t), 'k')
	for _, limits := range []string{
		`null`, `{"messagesPerMinute":null}`, `{"messagesPerMinute":7,"sessionTriggersPerMinute":null,"bytesPerMinute":100}`,
	} {
		body := `{"settings":{"limits":` + limits + `}}`
		for range 2 { // the record is rewritten as read
			putApp(t, store, "clinic", body)
			app, err := store.App(t.Context(), "clinic")
			require.NoError(t, err)
			shown, err := json.Marshal(app)
			require.NoError(t, err)
			require.Contains(t, string(shown), `"limits":`+limits)
			body = string(shown)
		}
	}
}

func TestRatesOfAnApp(t *testing.T) {
	for limits, want := range map[string]string{
		`{}`:   "12000 120 12000 120 400000000 4000000 600",
		`null`: "0 0 0 0 0 0 0",
		`{"messagesPerMinute":null,"sessionMessagesPerMinute":0,"bytesPerMinute":10}`: "0 0 12000 120 1000 10 600",
		`{"triggersPerMinute":3,"sessionTriggersPerMinute":2,"bytesPerMinute":null}`:  "12000 120 3 2 0 0 600",
		`{"messagesPerMinute":1,"sessionMessagesPerMinute":2,"triggersPerMinute":3}`:  "1 2 3 120 400000000 4000000 600",
		`{"sessionDraftsPerMinute":7}`: "12000 120 12000 120 400000000 4000000 7",
	} {
		app, err := repositories.DecodeApp("clinic", []byte(`{"settings":{"limits":`+limits+`}}`))
		require.NoError(t, err)
		require.Equal(t, want+" 0", app.Settings.Rates(), limits)
	}
}
