package api_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/parameters"
	"earshot/trigger"
	"earshot/trigger/effect"
)

const fired = `{"triggerId":"click-1","repositoryId":"booking","name":"book","source":"ui","values":{"n":9007199254740993},"returnDirect":false,"skipResponse":false}`

func recordsOfOne() []trigger.Record {
	return []trigger.Record{{
		Match: trigger.Match{TriggerID: "t1", RepositoryID: "booking", Name: "book", Source: "message", Values: map[string]any{}},
		AppID: "clinic", Schema: json.RawMessage(`[]`), State: trigger.StateFailed,
		Attempts: []trigger.Attempt{{Effect: "call", Number: 1, Reason: effect.ReasonTimeout}},
	}}
}

// places are the two from which tools are fired.
var places = map[string]string{"/v1/apps/clinic/triggers": "", "/v1/apps/clinic/sessions/s1/triggers": "s1"}

func TestFireAnswers201WithTheMatch(t *testing.T) {
	for path, session := range places {
		s := start(t)
		s.engine.answer = json.RawMessage(fired)
		got := s.call("POST", path, `{"name":"book","repositoryId":"booking","values":{"n":9007199254740993},"source":"ui","triggerId":"click-1"}`).is(201, "")
		require.Equal(t, fired+"\n", string(got.body))
		require.Equal(t, "/v1/apps/clinic/triggers/click-1", got.Header.Get("Location"))
		direct := s.engine.last().Args[0].(trigger.Direct)
		require.NotEmpty(t, direct.TraceParent)
		direct.TraceParent = ""
		require.Equal(t, trigger.Direct{AppID: "clinic", SessionID: session, Name: "book", RepositoryID: "booking",
			Values: map[string]any{"n": json.Number("9007199254740993")}, Source: "ui", TriggerID: "click-1"}, direct)
	}
}

func TestATriggerBodyNamesAllItsFaultsAtOnce(t *testing.T) {
	cases := map[string][]string{
		`{}`: {"/name", "/source"},
		`{"name":"no spaces","source":"message","repositoryId":"-x","triggerId":"","values":[1],"vals":{}}`: {"/name", "/repositoryId", "/source", "/triggerId", "/vals", "/values"},
		`{"name":"book","source":"ui","values":"x"}`:                                                        {"/values"},
		`"book"`: {""},
	}
	s := start(t)
	for body, want := range cases {
		faults := s.call("POST", "/v1/apps/clinic/triggers", body).problem(400)
		for _, pointer := range want {
			require.Contains(t, faults, pointer, body)
		}
		require.Len(t, faults, len(want), body)
	}
	require.Zero(t, s.engine.count())
}

func TestValuesThatDoNotFitAre422WithTheirPlaces(t *testing.T) {
	s := start(t)
	s.engine.err = &trigger.ValuesError{Name: "book", Faults: []parameters.ValueFault{{Parameter: "date", Detail: "is required"}, {Parameter: "a/b", Detail: "is not known"}}}
	faults := s.call("POST", "/v1/apps/clinic/triggers", `{"name":"book","source":"ui"}`).problem(422, `"book"`)
	require.Equal(t, map[string]string{"/values/date": "is required", "/values/a~1b": "is not known"}, faults)
}

func TestFireMapsTheErrorsOfTheEngine(t *testing.T) {
	for err, status := range map[error]int{
		trigger.ErrNotInScope: 404, &repositories.Unverified{Tool: "book", Services: []string{"corp"}}: 401, trigger.ErrConflict: 409, repositories.ErrNotFound: 404,
	} {
		s := start(t)
		s.engine.err = err
		got := s.call("POST", "/v1/apps/clinic/triggers", `{"name":"book","source":"task"}`)
		got.problem(status, err.Error())
		require.Equal(t, status == 401, got.Header.Get("WWW-Authenticate") != "")
	}
}

func TestTriggersAreListedByState(t *testing.T) {
	for path, session := range places {
		s := start(t)
		s.engine.records = recordsOfOne()
		for _, state := range []string{"", "pending", "delivered", "failed"} {
			s.call("GET", path+"?state="+state, "").is(200, "")
			require.Equal(t, asked{"Triggers", []any{trigger.Query{AppID: "clinic", SessionID: session, State: state, Page: trigger.Page{Limit: 50}}}}, s.engine.last())
		}
		s.call("GET", path+"?state=dead", "").problem(400, `state "dead"`, "pending, delivered, failed")
	}
}

func TestATriggerIsReadAndRetried(t *testing.T) {
	s := start(t)
	s.engine.records = recordsOfOne()
	s.call("GET", "/v1/apps/clinic/triggers/t1", "").is(200, "")
	require.Equal(t, asked{"Trigger", []any{"clinic", "t1"}}, s.engine.last())
	got := s.call("POST", "/v1/apps/clinic/triggers/t1/retry", "").is(202, "")
	require.Empty(t, got.body)
	require.Equal(t, asked{"Retry", []any{"clinic", "t1"}}, s.engine.last())

	s.engine.err = trigger.ErrNotFound
	s.call("GET", "/v1/apps/clinic/triggers/t1", "").problem(404, "no such trigger")
	s.call("POST", "/v1/apps/clinic/triggers/t1/retry", "").problem(404, "no such trigger")
	s.engine.err = trigger.ErrDelivered
	s.call("POST", "/v1/apps/clinic/triggers/t1/retry", "").problem(409, "is delivered: nothing of it has failed")
}

func TestAllFailedTriggersAreRetriedOrPurged(t *testing.T) {
	s := start(t)
	query := trigger.Query{AppID: "clinic", SessionID: "s1", Name: "book", State: "failed"}
	got := s.call("POST", "/v1/apps/clinic/triggers/retry?name=book&session=s1", "").is(202, "")
	require.JSONEq(t, `{"triggers":3}`, string(got.body))
	require.Equal(t, asked{"RetryAll", []any{query}}, s.engine.last())
	got = s.call("DELETE", "/v1/apps/clinic/triggers?state=failed&name=book&session=s1", "").is(200, "")
	require.JSONEq(t, `{"triggers":2}`, string(got.body))
	require.Equal(t, asked{"Purge", []any{query}}, s.engine.last())
	for _, path := range []string{"", "?state=pending", "?name=book"} {
		s.call("DELETE", "/v1/apps/clinic/triggers"+path, "").problem(400, "only failed triggers", "?state=failed")
	}
	require.Equal(t, "Purge", s.engine.last().Method, "nothing was asked for since")
}
