package earshot_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	earshot "earshot/deploy/clients/go"
)

func TestAMessageWhoseAnswerWasLostCountsOnce(t *testing.T) {
	var toLose atomic.Int32
	client, lost := losing(t, func(r *http.Request) bool { return r.Method == "POST" && toLose.Add(-1) >= 0 })
	app := clinic(t, service(t), "go-lost")
	session := client.App("go-lost").Session("s1")
	toLose.Store(2)
	answer := got(session.Say(t.Context(), "I want an appointment on Friday"))(t)
	equal(t, 2, lost.Load())
	equal(t, 1, len(answer.Matches))
	toLose.Store(1)
	match := got(session.Fire(t.Context(), earshot.Direct{Name: "book", Values: map[string]string{"day": "Monday"}}))(t)
	equal(t, 3, lost.Load())
	equal(t, "agent", match.Source)
	count := 0
	for record, err := range app.Triggers(t.Context(), earshot.Search{PageSize: 1}) {
		must(t, err)
		equal(t, []string{"Monday", "Friday"}[count], record.Values["day"].(string))
		count++
	}
	equal(t, 2, count)
}

func TestAYesWhoseAnswerWasLostIsNoConflict(t *testing.T) {
	var toLose atomic.Int32
	client, lost := losing(t, func(r *http.Request) bool { return r.Method == "POST" && toLose.Add(-1) >= 0 })
	app := clinic(t, service(t), "go-yes")
	_, err := app.PatchRepository(t.Context(), earshot.Repository{RepositoryID: "desk", Tools: []earshot.Tool{
		{Name: "pay", Confirm: "always"}, {Name: "wave", Settle: earshot.Duration(time.Minute)}, {Name: "ask", Answer: &earshot.AnswerWithin{Within: earshot.Duration(time.Minute)}, Request: &earshot.Request{Timeout: earshot.Duration(time.Millisecond)}},
	}})
	must(t, err)
	fire := func(name string) earshot.Match {
		return got(app.Fire(t.Context(), earshot.Direct{Name: name}))(t)
	}
	through := client.App("go-yes")
	pay, wave, question := fire("pay"), fire("wave"), fire("ask")
	for _, decide := range []func() (earshot.Record, error){
		func() (earshot.Record, error) { return through.Confirm(t.Context(), pay.TriggerID, pay.Digest) },
		func() (earshot.Record, error) { return through.Cancel(t.Context(), wave.TriggerID) },
		func() (earshot.Record, error) { return through.Answer(t.Context(), question.TriggerID, "yes") },
	} {
		toLose.Store(1)
		record := got(decide())(t)
		equal(t, true, record.State == "delivered" || record.State == "cancelled")
	}
	equal(t, 3, lost.Load())
	_, err = through.Deny(t.Context(), pay.TriggerID)
	equal(t, true, errors.Is(err, earshot.ErrConflict))
	equal(t, "yes", got(app.Trigger(t.Context(), question.TriggerID))(t).Call.Text())
}

func TestARetryReturnsTheRecord(t *testing.T) {
	app := clinic(t, service(t), "go-retry")
	_, err := app.PutTools(t.Context(), "away", earshot.Tool{Name: "call", URL: "http://127.0.0.1:9/nobody"})
	must(t, err)
	match := got(app.Fire(t.Context(), earshot.Direct{Name: "call"}))(t)
	equal(t, "pending", match.Call.State)
	record := got(app.Retry(t.Context(), match.TriggerID))(t)
	equal(t, match.TriggerID+" pending", record.TriggerID+" "+record.State)
	_, err = app.Retry(t.Context(), "absent")
	equal(t, true, errors.Is(err, earshot.ErrNotFound))
}

func TestWhatMayHaveArrivedIsNotRepeatedWhereThatDoesHarm(t *testing.T) {
	client, lost := losing(t, func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/keys") && r.Method == "POST" })
	app := clinic(t, service(t), "go-once")
	_, err := client.App("go-once").MakeKey(t.Context(), earshot.KeyRequest{Scopes: []string{"messages"}})
	if err == nil {
		t.Fatal("an answer that was lost is an error")
	}
	equal(t, 1, lost.Load())
	count := 0
	for key, err := range app.Keys(t.Context()) {
		must(t, err)
		equal(t, "messages", key.Scopes[0])
		count++
	}
	equal(t, 1, count)
}

func TestProblemsHaveTypes(t *testing.T) {
	app := clinic(t, service(t), "go-problems")
	_, err := app.Session("s1").Post(t.Context(), earshot.Message{Actor: "nobody", Text: " "})
	var problem *earshot.Problem
	if !errors.As(err, &problem) || !errors.Is(err, earshot.ErrInvalid) || errors.Is(err, earshot.ErrNotFound) {
		t.Fatal(err)
	}
	equal(t, 400, problem.Status)
	equal(t, earshot.CodeInvalidBody, problem.Code)
	equal(t, "[/actor /text]", fmt.Sprint([]string{problem.Errors[0].Pointer, problem.Errors[1].Pointer}))
	_, err = app.Fire(t.Context(), earshot.Direct{Name: "book", Values: earshot.Values{"day": "Sunday"}})
	equal(t, true, errors.Is(err, earshot.ErrInvalid) && strings.Contains(err.Error(), "/values/day"))
	_, err = app.Fire(t.Context(), earshot.Direct{Name: "fly"})
	equal(t, true, errors.Is(err, earshot.ErrNotFound))
	_, err = app.Trigger(t.Context(), "none")
	equal(t, true, errors.Is(err, earshot.ErrNotFound))
	_, err = earshot.New("clinic.example")
	equal(t, `earshot: "clinic.example" is not the URL of a service, as http://127.0.0.1:8080`, err.Error())
}

func TestAServiceThatIsBusyIsAskedAgainWhenItSays(t *testing.T) {
	for _, test := range []struct {
		status, asked int
		retries       int
	}{{503, 3, 2}, {429, 1, 0}, {502, 2, 1}, {500, 1, 3}, {404, 1, 3}} {
		asked := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked++
			w.WriteHeader(test.status)
			fmt.Fprintf(w, `{"status":%d,"title":"T","detail":"d"}`, test.status)
		}))
		client := got(earshot.New(server.URL+"/", earshot.WithRetries(test.retries)))(t)
		_, err := client.App("a").Get(t.Context())
		equal(t, fmt.Sprintf("earshot: %d T: d", test.status), err.Error())
		equal(t, test.asked, asked)
		server.Close()
	}
}

func TestAWaitThatIsLongerThanTheContextIsNotBegun(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		http.Error(w, `{"status":429,"title":"Too Many Requests","detail":"later"}`, http.StatusTooManyRequests)
	}))
	defer server.Close()
	client := got(earshot.New(server.URL))(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := client.WhoAmI(ctx)
	var problem *earshot.Problem
	equal(t, true, errors.As(err, &problem) && errors.Is(err, earshot.ErrUnavailable))
	equal(t, time.Hour, problem.RetryAfter)
}

func TestTheKeyIsSentAndNotPrinted(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"admin":%t}`, r.Header.Get("Authorization") == "Bearer hunter2" && r.URL.Path == "/below/v1/whoami")
	}))
	defer server.Close()
	client := got(earshot.New(server.URL+"/below/", earshot.WithKey("hunter2")))(t)
	who := got(client.WhoAmI(t.Context()))(t)
	equal(t, true, who.Admin)
	if printed := fmt.Sprintf("%v %+v %#v", client, *client, *client); strings.Contains(printed, "hunter2") {
		t.Fatal(printed)
	}
}

func TestWhatIsReadCanBeSentBack(t *testing.T) {
	app := clinic(t, service(t), "go-again")
	schema := json.RawMessage(`{"type":"object","properties":{"z":{"type":"integer"},"a":{"type":"string"}},"required":["z"]}`)
	first, err := app.PutRepository(t.Context(), earshot.Repository{RepositoryID: "r", Tools: []earshot.Tool{
		{Name: "list", Schema: []earshot.Parameter{{Parameter: "n", Type: "number", MinValue: "1.5", Required: earshot.Ptr(true)}}},
		{Function: &earshot.Function{Name: "f", Description: "d", Parameters: schema, Strict: true}, Type: "function", Emitter: "a.b"},
		{Name: "held", Settle: earshot.Duration(800 * time.Millisecond), URL: "https://h.example/", Request: &earshot.Request{Idempotent: earshot.Ptr(false), Timeout: earshot.Duration(90 * time.Second / 9)}},
	}})
	must(t, err)
	equal(t, string(schema), string(first.Tools[1].Parameters.(json.RawMessage)))
	second := got(app.PutRepository(t.Context(), first))(t)
	second.Updated = first.Updated
	equal(t, text(t, first), text(t, second))
	equal(t, text(t, first.Tools), text(t, got(app.Repository(t.Context(), "r"))(t).Tools))
	_, err = app.PutRepository(t.Context(), earshot.Repository{RepositoryID: "empty", Tools: []earshot.Tool{}})
	must(t, err)
	must(t, app.DeleteTool(t.Context(), "r", "list"))
	count := 0
	for _, err := range app.Tools(t.Context()) {
		must(t, err)
		count++
	}
	equal(t, 3, count)
}

func TestWhatHasNoMethodIsReachedByDo(t *testing.T) {
	client := service(t)
	_, err := clinic(t, client, "go-do").Fire(t.Context(), earshot.Direct{Name: "book", Values: earshot.Values{"day": "Friday"}})
	must(t, err)
	var usage struct {
		Items []struct{ Name string } `json:"items"`
	}
	must(t, client.Do(t.Context(), "GET", "/apps/go-do/tools/usage?limit=1", nil, &usage))
	equal(t, "book", usage.Items[0].Name)
}

func text(t *testing.T, value any) string { return string(got(json.Marshal(value))(t)) }
