package api_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/apitest"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/fault"
	"earshot/repositories/keyspace"
	"earshot/repositories/parameters"
	"earshot/trigger"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
)

// operations are all that call the store or the engine, with a valid body.
var operations = []struct{ method, path, body string }{
	{"GET", "/v1/apps", ""},
	{"PUT", "/v1/apps/clinic", `{"name":"Clinic"}`},
	{"GET", "/v1/apps/clinic", ""},
	{"DELETE", "/v1/apps/clinic", ""},
	{"GET", "/v1/apps/clinic/repositories", ""},
	{"POST", "/v1/apps/clinic/repositories", hoursBody},
	{"PUT", "/v1/apps/clinic/repositories/info", hoursBody},
	{"PATCH", "/v1/apps/clinic/repositories/info", hoursBody},
	{"GET", "/v1/apps/clinic/repositories/info", ""},
	{"DELETE", "/v1/apps/clinic/repositories/info", ""},
	{"DELETE", "/v1/apps/clinic/sessions/s1", ""},
	{"POST", apitest.MessagesPath, apitest.HelloBody},
	{"GET", apitest.MessagesPath, ""},
	{"POST", "/v1/apps/clinic/triggers", `{"name":"book","source":"ui"}`},
	{"GET", "/v1/apps/clinic/triggers", ""},
	{"GET", "/v1/apps/clinic/triggers/t1", ""},
	{"POST", "/v1/apps/clinic/triggers/t1/retry", ""},
	{"POST", "/v1/apps/clinic/triggers/t1/answer", `{"ok":true}`},
	{"POST", "/v1/apps/clinic/triggers/t1/confirm", `{"digest":"d"}`},
	{"POST", "/v1/apps/clinic/triggers/t1/deny", ""},
	{"POST", "/v1/apps/clinic/triggers/t1/cancel", ""},
}

func TestEveryErrorIsTheSameProblemWhereverItHappens(t *testing.T) {
	const hidden = "dial tcp 10.0.0.7:6379"
	cases := []struct {
		err     error
		status  int
		problem string
		after   string
	}{
		{fmt.Errorf("app %q: %w", "clinic", repositories.ErrNotFound), 404, "about:blank", ""},
		{fmt.Errorf("trigger %q: %w", "t1", query.ErrNotFound), 404, "about:blank", ""},
		{fmt.Errorf("tool %q: %w", "book", trigger.ErrNotInScope), 404, "about:blank", ""},
		{&repositories.Unverified{Tool: "book", Services: []string{"corp"}}, 401, "about:blank", ""},
		{&repositories.LimitError{Limit: "toolsPerRepository", Most: 1}, 422, "about:blank", ""},
		{&ledger.RateError{Limit: "messagesPerMinute", RetryAfter: 1500 * time.Millisecond}, 429, "about:blank", "2"},
		{fmt.Errorf("%w: x", repositories.ErrFull), 422, "about:blank", ""},
		{trigger.ErrConflict, 409, "about:blank", ""},
		{fmt.Errorf("messageId %q %w", "m1", trigger.ErrReused), 409, "about:blank", ""},
		{trigger.ErrClosed, 409, "about:blank", ""},
		{fmt.Errorf("%w: x", query.ErrCursor), 400, "about:blank", ""},
		{fault.List{{Pointer: "/tools", Detail: "is missing"}}, 400, "/docs/reference/api#faults", ""},
		{&trigger.ValuesError{Name: "book", Faults: []parameters.ValueFault{{Parameter: "date", Detail: "is required"}}}, 422, "/docs/reference/api#faults", ""},
		{&matcher.Unavailable{Reason: "it answered 500"}, 502, "/docs/reference/api#undecided", ""},
		{&matcher.Unavailable{Reason: "it answered 429", RetryAfter: time.Minute}, 503, "/docs/reference/api#undecided", "60"},
		{&matcher.Unavailable{Reason: "it answered 429", RetryAfter: time.Millisecond}, 503, "/docs/reference/api#undecided", "1"},
		{fmt.Errorf("%w: "+hidden, keyspace.ErrUnavailable), 503, "about:blank", "1"},
		{fmt.Errorf(hidden+": %w", context.DeadlineExceeded), 503, "about:blank", "1"},
		{context.Canceled, 503, "about:blank", "1"},
		{errors.New(hidden), 500, "about:blank", ""},
	}
	s := start(t)
	for _, c := range cases {
		s.store.err, s.engine.err = c.err, c.err
		for _, o := range operations {
			got := s.Ask(o.method, o.path, o.body) // not every route can return every error
			got.Problem(c.status)
			require.Contains(t, string(got.Body), `"type":"`+c.problem+`"`)
			require.Equal(t, c.after, got.Header.Get("Retry-After"), c.err)
			require.Equal(t, c.status == 401, got.Header.Get("WWW-Authenticate") != "")
			require.NotContains(t, string(got.Body), hidden)
		}
		s.Ask("POST", apitest.MessagesPath, apitest.HelloBody, "Prefer: respond-async").Problem(c.status)
		if path, anchor, leads := strings.Cut(c.problem, "#"); leads {
			require.Contains(t, string(s.Ask("GET", path, "").Body), `id="`+anchor+`"`)
		}
	}
}
