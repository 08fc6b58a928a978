package answer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"earshot/api/answer"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/fault"
	"earshot/repositories/keyspace"
	"earshot/repositories/parameters"
	"earshot/repositories/store"
	"earshot/trigger"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
)

// ask answers a request to a server with two routes, whose handler is the given one.
func ask(method, path string, by echo.HandlerFunc) *httptest.ResponseRecorder {
	e := echo.New()
	e.HTTPErrorHandler = answer.WriteError
	e.GET("/v1/apps/:app/sessions/:session", by)
	e.POST("/v1/apps/:app/openai/v1/chat/completions", by)
	got := httptest.NewRecorder()
	e.ServeHTTP(got, httptest.NewRequest(method, path, http.NoBody))
	return got
}

const session = "/v1/apps/shop/sessions/s1"

func failing(err error) echo.HandlerFunc { return func(echo.Context) error { return err } }

func TestErrorIsAProblemWithItsCode(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		err    error
		status int
		code   answer.Code
		after  string // Retry-After
	}{
		{&repositories.NotFoundError{Kind: "app", ID: "shop"}, 404, answer.UnknownApp, ""},
		{ledger.AppNotFound("shop"), 404, answer.UnknownApp, ""},
		{&repositories.NotFoundError{Kind: "session", ID: "x"}, 404, answer.UnknownSession, ""},
		{&repositories.NotFoundError{Kind: "repository", ID: "x"}, 404, answer.UnknownRepository, ""},
		{&repositories.NotFoundError{Kind: "tool", ID: "x"}, 404, answer.UnknownTool, ""},
		{&repositories.NotFoundError{Kind: "key", ID: "x"}, 404, answer.UnknownKey, ""},
		{&repositories.NotFoundError{Kind: "module", ID: "x"}, 404, answer.UnknownModule, ""},
		{&repositories.NotFoundError{Kind: "thing", ID: "x"}, 404, answer.NotFound, ""},
		{repositories.ErrNotFound, 404, answer.NotFound, ""},
		{query.ErrNotFound, 404, answer.UnknownTrigger, ""},
		{trigger.ErrNotInScope, 404, answer.UnknownTool, ""},
		{query.ErrNoMessage, 404, answer.UnknownMessage, ""},
		{query.ErrUnexplained, 404, answer.NotExplained, ""},
		{trigger.ErrNoDraft, 404, answer.UnknownDraft, ""},
		{trigger.ErrReused, 409, answer.MessageIDReused, ""},
		{trigger.ErrConflict, 409, answer.TriggerIDReused, ""},
		{trigger.ErrSuperseded, 409, answer.DraftReplaced, ""},
		{&trigger.PostedError{}, 409, answer.DraftDecided, ""},
		{trigger.ErrClosed, 409, answer.SessionClosed, ""},
		{trigger.ErrDigest, 409, answer.DigestDiffers, ""},
		{&query.StateError{State: "cancelled", Err: query.ErrEnded}, 409, answer.TriggerEnded, ""},
		{&query.StateError{State: "delivered", Err: trigger.ErrDelivered}, 409, answer.TriggerEnded, ""},
		{&query.StateError{State: "pending", Err: trigger.ErrOwes}, 409, answer.TriggerOwes, ""},
		{query.ErrNotAsked, 409, answer.NoAnswerAwaited, ""},
		{query.ErrCursor, 400, answer.InvalidCursor, ""},
		{&ledger.RateError{Limit: "messagesPerMinute", Most: 3, RetryAfter: 1500 * time.Millisecond}, 429, answer.RateLimited, "2"},
		{&store.CompareError{RetryAfter: 20 * time.Second}, 429, answer.RateLimited, "20"},
		{&repositories.LimitError{Limit: "tools", Most: 10}, 422, answer.LimitReached, ""},
		{repositories.ErrFull, 422, answer.LimitReached, ""},
		{&repositories.Unverified{Tool: "x", Services: []string{"corp"}}, 401, answer.UserUnverified, ""},
		{&store.ScopeError{}, 422, answer.ScopesExceeded, ""},
		{&trigger.ValuesError{}, 422, answer.InvalidValues, ""},
		{&matcher.Unavailable{Reason: "the model is busy", RetryAfter: time.Minute}, 503, answer.ModelBusy, "60"},
		{&matcher.Unavailable{Reason: "no answer"}, 502, answer.MessageUndecided, ""},
		{&http.MaxBytesError{Limit: 1024}, 413, answer.BodyTooLong, ""},
		{keyspace.ErrUnavailable, 503, answer.StoreUnavailable, "1"},
		{keyspace.ErrMemory, 503, answer.StoreFull, "5"},
		{repositories.ErrErasing, 503, answer.SessionErasing, "1"},
		{context.DeadlineExceeded, 503, answer.Interrupted, "1"},
		{errors.New("x"), 500, answer.InternalError, ""},
	} {
		got := ask("GET", session, failing(fmt.Errorf("wrapped: %w", one.err)))
		var problem answer.Problem
		require.NoError(t, json.Unmarshal(got.Body.Bytes(), &problem))
		require.Equal(t, one.code, problem.Code, one.err)
		require.Equal(t, one.status, got.Code, one.err)
		require.Equal(t, one.status, problem.Status)
		require.Equal(t, one.after, got.Header().Get("Retry-After"), one.err)
		require.Equal(t, "application/problem+json", got.Header().Get("Content-Type"))
		require.Equal(t, "no-store", got.Header().Get("Cache-Control"))
		require.NotEmpty(t, problem.Title)
		require.NotEmpty(t, problem.Detail)
	}
	require.Equal(t, "messagesPerMinute", answer.ProblemOf(&ledger.RateError{Limit: "messagesPerMinute"}).Limit)
	require.Equal(t, "toolsPerRepository", answer.ProblemOf(&repositories.LimitError{Limit: "toolsPerRepository"}).Limit)
}

func TestUnknownErrorIsForTheLogOnly(t *testing.T) {
	t.Parallel()
	cause := errors.New("redis-7.internal:6379 said something secret")
	got := ask("GET", session, failing(cause))
	require.Equal(t, http.StatusInternalServerError, got.Code)
	require.NotContains(t, got.Body.String(), "secret")
	require.Contains(t, got.Body.String(), "the log says more under request "+got.Header().Get("X-Request-Id"))
	require.ErrorIs(t, answer.ProblemOf(cause), cause)
	require.EqualError(t, answer.ProblemOf(cause), cause.Error())
}

func TestAllFaultsAreListedWithTheNumberOfTheOthers(t *testing.T) {
	t.Parallel()
	var faults fault.List
	faults.Add("/text", "is missing")
	problem := answer.ProblemOf(faults)
	require.Equal(t, "the body has 1 error", problem.Detail)
	require.Equal(t, fault.InvalidValue, problem.Errors[0].Code)
	for i := range fault.Most + 4 {
		faults.Add(fault.Point("tools", i), "is wrong")
	}
	problem = answer.ProblemOf(faults)
	require.Equal(t, "the body has 105 errors; 100 are listed, and there are 5 more", problem.Detail)
	require.Len(t, problem.Errors, fault.Most)

	problem = answer.ProblemOf(&trigger.ValuesError{Name: "book", Faults: []parameters.ValueFault{{Parameter: "a/b", Detail: "is required"}}})
	require.Equal(t, answer.InvalidValues, problem.Code)
	require.Equal(t, "/values/a~1b", problem.Errors[0].Pointer)
}

func TestProblemTellsTheStateOfATrigger(t *testing.T) {
	t.Parallel()
	problem := answer.ProblemOf(&query.StateError{TriggerID: "t1", State: "expired", Err: query.ErrEnded})
	require.Equal(t, answer.TriggerEnded, problem.Code)
	require.Equal(t, "expired", problem.State)
}

func TestQuotedTextsAreCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	require.Equal(t, `"a`+strings.Repeat("é", 31)+`…"`, answer.Quote("a"+strings.Repeat("é", 40)))
}

func TestUnknownPathNamesTheNearestOne(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("s", 80)
	for path, meant := range map[string]string{
		"/v1/apps/shop/session/" + long: "/v1/apps/shop/sessions/" + long,
		"/v1/apps/shop/session/s1":      session, "/apps/shop/sessions/s1": session, "/v1/app/shop/sessions/s1": session,
		"/v2/x": "", "/" + strings.Repeat("a/", 1000): "", "/v1/apps/shop/\"><script>/s1": "",
	} {
		got := ask("GET", path, failing(nil))
		require.Equal(t, http.StatusNotFound, got.Code, path)
		require.Contains(t, got.Body.String(), string(answer.UnknownPath))
		require.Equal(t, meant != "", strings.Contains(got.Body.String(), `did you mean \"`+meant+`\"?`), "%s: %s", path, got.Body)
	}
	got := ask("DELETE", session, failing(nil))
	require.Equal(t, http.StatusMethodNotAllowed, got.Code)
	require.Contains(t, got.Body.String(), got.Header().Get("Allow"))
}

func TestClientsOfOpenAIGetItsForm(t *testing.T) {
	t.Parallel()
	for status, kind := range map[int]string{401: "authentication_error", 429: "rate_limit_error", 400: "invalid_request_error", 503: "server_error"} {
		problem := answer.NewProblem(answer.InvalidBody, "the detail")
		problem.Status = status
		got := ask("POST", "/v1/apps/shop/openai/v1/chat/completions", failing(problem))
		require.Equal(t, status, got.Code)
		require.JSONEq(t, `{"error": {"message": "the detail", "type": "`+kind+`", "param": null, "code": "invalid_body"}}`, got.Body.String())
	}
	for path, is := range map[string]bool{
		"/v1/apps/shop/openai/v1/nothing": true, "/v1/apps/shop/openai/": true, "/v1/apps/shop/sessions/s1/openai/v1/responses/resp_1": true,
		"/v1/apps/shop/repositories/openai/nothing": false, "/v1/openai/v1/nothing": false,
	} {
		body := ask("GET", path, failing(answer.NewProblem(answer.UnknownPath, "x"))).Body.String()
		require.Contains(t, body, `"code":"unknown_path"`, path)
		require.Equal(t, is, strings.HasPrefix(body, `{"error":{"message"`), path)
	}
}

func TestAnswerThatHasBegunIsLeftAlone(t *testing.T) {
	t.Parallel()
	got := ask("GET", session, func(c echo.Context) error {
		_ = c.String(http.StatusOK, "begun")
		return errors.New("too late")
	})
	require.Equal(t, "begun", got.Body.String())
}

func TestBodyThatIsNotReadToItsEnd(t *testing.T) {
	t.Parallel()
	late := answer.ProblemOf(answer.Unread(fmt.Errorf("read: %w", os.ErrDeadlineExceeded)))
	require.Equal(t, answer.BodyTimeout, late.Code)
	header := http.Header{}
	late.SetHeader(header)
	require.Equal(t, "close", header.Get("Connection"), "the rest of the body would be read as the next request")
	require.Equal(t, answer.InvalidBody, answer.ProblemOf(answer.Unread(io.ErrUnexpectedEOF)).Code)
	require.Equal(t, answer.BodyTooLong, answer.ProblemOf(answer.Unread(&http.MaxBytesError{Limit: 7})).Code)
}

func TestPageOfAListHasItemsAndTheNextCursor(t *testing.T) {
	t.Parallel()
	page := func(items []string, next string, err error) *httptest.ResponseRecorder {
		return ask("GET", session, func(c echo.Context) error { return answer.List(c, items, next, err) })
	}
	require.Equal(t, `{"items":["a<b"],"next":"c"}`+"\n", page([]string{"a<b"}, "c", nil).Body.String())
	require.Equal(t, `{"items":[]}`+"\n", page(nil, "", nil).Body.String())
	require.Equal(t, http.StatusNotFound, page(nil, "", repositories.ErrNotFound).Code)
}

func TestValueThatCannotBeEncodedSendsNothingOfIt(t *testing.T) {
	t.Parallel()
	got := ask("GET", session, func(c echo.Context) error {
		return answer.Result(c, http.StatusOK, map[string]any{"a": 1, "b": func() {}}, nil)
	})
	require.Equal(t, http.StatusInternalServerError, got.Code)
	require.NotContains(t, got.Body.String(), `"a"`)
	got = ask("GET", session, func(c echo.Context) error { return answer.Stored(c, http.StatusOK, nil) })
	require.Equal(t, http.StatusInternalServerError, got.Code)
	got = ask("GET", session, func(c echo.Context) error { return answer.Stored(c, http.StatusOK, json.RawMessage(`{"b": 1}`)) })
	require.Equal(t, "{\"b\": 1}\n", got.Body.String())
}

func TestRecordedAnswerIsWhole(t *testing.T) {
	t.Parallel()
	request := httptest.NewRequest("GET", session, http.NoBody)
	got := answer.Whole(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-A", "1")
		w.WriteHeader(http.StatusAccepted)
		w.WriteHeader(http.StatusTeapot) // as net/http, which keeps the first
		_, _ = io.WriteString(w, "whole")
	}), request)
	require.Equal(t, http.StatusAccepted, got.Status)
	require.Equal(t, "whole", got.Body.String())
	require.Equal(t, "1", got.Header().Get("X-A"))

	got = answer.Whole(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		panic(http.ErrAbortHandler)
	}), request)
	require.Equal(t, http.StatusInternalServerError, got.Status)
	require.NotContains(t, got.Body.String(), "half")
	require.Contains(t, got.Body.String(), "the answer broke off")
}
