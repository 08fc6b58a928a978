package earshot_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	earshot "earshot/deploy/clients/go"
)

func TestAConversation(t *testing.T) {
	app := clinic(t, service(t), "go-talk")
	session := app.Session("s1")
	_, err := session.Get(t.Context())
	equal(t, true, errors.Is(err, earshot.ErrNotFound))
	known := got(session.Put(t.Context(), earshot.SessionDefinition{Language: "en", ExpiresIn: earshot.Duration(2 * time.Hour), Metadata: map[string]any{"channel": "desk"}}))(t)
	equal(t, "en", known.Language)

	equal(t, "draft", got(session.Draft(t.Context(), earshot.Message{MessageID: "m1", Text: "I want an appointment on Friday"}))(t).Matches[0].State)
	equal(t, "delivered", got(session.Commit(t.Context(), "m1"))(t).Matches[0].State)
	equal(t, true, errors.Is(session.Withdraw(t.Context(), "m1"), earshot.ErrConflict))
	_, err = session.Draft(t.Context(), earshot.Message{MessageID: "m2", Text: "I want"})
	must(t, err)
	must(t, session.Withdraw(t.Context(), "m2"))

	dry := got(session.Post(t.Context(), earshot.Message{Text: "I want an appointment on Monday"}, earshot.DryRun(), earshot.Explain()))(t)
	equal(t, true, strings.Contains(string(dry.Explain), `"stage"`))
	equal(t, "day", got(session.Say(t.Context(), "I want an appointment"))(t).Rejected[0].Missing[0])
	known = got(session.Get(t.Context()))(t)
	equal(t, "book", known.Open[0].Name)

	sent := got(session.Send(t.Context(), earshot.Message{Actor: "agent", Text: "For which day?"}))(t)
	var said []string
	for entry, err := range session.Messages(t.Context(), time.Time{}) {
		must(t, err)
		said = append(said, entry.Actor+": "+entry.Text)
	}
	equal(t, "user: I want an appointment on Friday|user: I want an appointment|agent: For which day?", strings.Join(said, "|"))
	entry := got(session.Message(t.Context(), sent))(t)
	equal(t, "agent", entry.Actor)
	equal(t, true, strings.Contains(string(got(session.Explain(t.Context(), "m1"))(t)), `"verdict":"fired"`))
	var kept bytes.Buffer
	must(t, session.Export(t.Context(), &kept))
	equal(t, true, strings.Contains(kept.String(), "For which day?"))
	must(t, session.Erase(t.Context()))
	_, err = session.Message(t.Context(), "m1")
	equal(t, true, errors.Is(err, earshot.ErrNotFound))
}

func TestSessionsOfAUserAreListedExportedAndErased(t *testing.T) {
	app := clinic(t, service(t), "go-users")
	got(app.Session("s1").Put(t.Context(), earshot.SessionDefinition{User: "Ada / Lovelace", Metadata: map[string]any{"tier": "gold"}}))(t)
	got(app.Session("s2").Post(t.Context(), earshot.Message{Text: "hello", User: "Ada / Lovelace"}))(t)
	got(app.Session("s3").Post(t.Context(), earshot.Message{Text: "hello", User: "bob"}))(t)
	_, err := app.Session("s2").Post(t.Context(), earshot.Message{Text: "hello", User: "bob"})
	problem := &earshot.Problem{}
	equal(t, true, errors.As(err, &problem) && problem.Code == earshot.CodeSessionOfAnotherUser)
	listed := func(query earshot.SessionsQuery) (ids string) {
		for one, err := range app.Sessions(t.Context(), query) {
			must(t, err)
			ids += one.SessionID + ":" + one.User + " "
		}
		return ids
	}
	equal(t, "s1:Ada / Lovelace s2:Ada / Lovelace ", listed(earshot.SessionsQuery{User: "Ada / Lovelace", State: "idle"}))
	equal(t, "s1:Ada / Lovelace ", listed(earshot.SessionsQuery{Metadata: map[string]string{"tier": "gold"}}))
	equal(t, "", listed(earshot.SessionsQuery{UsedBefore: time.Now().Add(-time.Hour)}))
	var kept bytes.Buffer
	must(t, app.ExportUser(t.Context(), "Ada / Lovelace", &kept))
	equal(t, 2, strings.Count(kept.String(), `"kind":"session"`))
	equal(t, 2, got(app.EraseUser(t.Context(), "Ada / Lovelace"))(t))
	equal(t, "s3:bob ", listed(earshot.SessionsQuery{}))
}

func TestAFrontEndHasATokenOfItsSession(t *testing.T) {
	app := clinic(t, service(t), "go-token")
	token := got(app.Session("s1").Token(t.Context(), time.Minute))(t)
	front := got(earshot.New(os.Getenv("EARSHOT_URL"), earshot.WithKey(token.Token)))(t)
	equal(t, "Friday", got(front.App("go-token").Session("s1").Say(t.Context(), "I want an appointment on Friday"))(t).Matches[0].Values["day"].(string))
	_, err := front.App("go-token").Session("s2").Say(t.Context(), "I want an appointment on Friday")
	equal(t, true, errors.Is(err, earshot.ErrForbidden))
	var heard []string
	for event, err := range front.App("go-token").Session("s1").Events(t.Context(), "0") {
		must(t, err)
		if heard = append(heard, event.Kind); event.Kind == "tool.trigger" {
			break
		}
	}
	equal(t, true, slices.Contains(heard, "tool.trigger"))
}

func TestAnAppIsLookedAtAndChanged(t *testing.T) {
	app := clinic(t, service(t), "go-app")
	changed := got(app.Patch(t.Context(), map[string]any{"settings": map[string]any{"chatModeEnabled": true}}))(t)
	equal(t, "Clinic true", changed.Name+" "+map[bool]string{true: "true"}[changed.Settings.ChatModeEnabled])
	made := got(app.MakeKey(t.Context(), earshot.KeyRequest{Name: "back-end", Scopes: []string{"messages"}, ExpiresIn: earshot.Duration(time.Hour)}))(t)
	through := got(earshot.New(os.Getenv("EARSHOT_URL"), earshot.WithKey(made.Key)))(t)
	equal(t, made.KeyID, got(through.WhoAmI(t.Context()))(t).KeyID)
	_, err := through.App("go-app").Get(t.Context())
	equal(t, true, errors.Is(err, earshot.ErrForbidden))
	must(t, app.RevokeKey(t.Context(), made.KeyID))
	equal(t, "book", got(app.FindTools(t.Context(), "an appointment", 1))(t)[0].Name)
	var ids []string
	for one, err := range service(t).Apps(t.Context()) {
		must(t, err)
		ids = append(ids, one.AppID)
	}
	equal(t, true, strings.Contains(strings.Join(ids, " "), "go-app"))
	must(t, app.DeleteRepository(t.Context(), "desk"))
	for range app.Repositories(t.Context()) {
		t.Fatal("there is none")
	}
	must(t, app.Delete(t.Context()))
	_, err = app.Get(t.Context())
	equal(t, true, errors.Is(err, earshot.ErrNotFound))
}

func TestEventsGoOnWhereTheConnectionEnded(t *testing.T) {
	var cut atomic.Pointer[context.CancelFunc]
	app := clinic(t, service(t), "go-events")
	through, err := earshot.FromEnvironment(earshot.WithHTTPClient(&http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		ctx, cancel := context.WithCancel(r.Context())
		cut.Store(&cancel)
		return http.DefaultTransport.RoundTrip(r.WithContext(ctx))
	})}))
	must(t, err)
	ctx, end := context.WithTimeout(t.Context(), time.Minute) // for one that hears nothing
	defer end()
	followed := got(through.App("go-events").Follow(ctx, ""))(t)
	defer followed.Close()
	var fired []string
	for i := range 3 {
		fired = append(fired, got(app.Session("s1").Fire(t.Context(), earshot.Direct{Name: "book", Values: earshot.Values{"day": "Friday"}}))(t).TriggerID)
		if i == 1 {
			(*cut.Load())() // after the second nobody hears anything
		}
	}
	for event, err := range followed.All() {
		must(t, err)
		if event.Kind == "tool.changed" {
			continue // of the repository, which was there before
		}
		payload := got(event.Payload())(t)
		equal(t, "tool.trigger", event.Kind)
		equal(t, fired[0], payload.ID)
		equal(t, "Friday", payload.Values["day"].(string))
		if fired = fired[1:]; len(fired) == 0 {
			break
		}
	}
	equal(t, 0, len(fired))
}

func TestEventsOfNothingEndWithTheProblem(t *testing.T) {
	client := service(t)
	count := 0
	for _, err := range client.App("go-none").Events(t.Context(), "") {
		count++
		equal(t, true, err != nil && strings.Contains(err.Error(), "404"))
	}
	equal(t, 1, count)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range clinic(t, client, "go-ended").Events(ctx, "") {
		t.Fatal("it has ended")
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The handler has done its work. To say that it has failed would be wrong, and the first answer holds.
func TestAResultThatIsLostIsNotToldAsAFailure(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	events, written := io.Pipe()
	go func() {
		_, _ = io.WriteString(written, "id: 1\n\nid: 2\nevent: tool.trigger\ndata: {\"id\":\"t1\",\"name\":\"ring\",\"answer\":{}}\n\n")
	}()
	var answers []string
	client := got(earshot.New("http://earshot.example", earshot.WithRetries(0), earshot.WithHTTPClient(&http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet {
			return &http.Response{StatusCode: http.StatusOK, Body: events, Request: r}, nil
		}
		answers = append(answers, string(got(io.ReadAll(r.Body))(t)))
		end()
		_ = written.Close()
		return nil, errors.New("connection reset by peer")
	})})))(t)
	err := client.App("clinic").Serve(ctx, "", map[string]earshot.Handler{
		"ring": func(context.Context, earshot.Values, earshot.Payload) (any, error) { return "it rings", nil },
	})
	equal(t, true, errors.Is(err, context.Canceled))
	equal(t, `{"ok":true,"result":"it rings"}`, strings.Join(answers, " "))
}

func TestAToolTakesWhatModelsWrite(t *testing.T) {
	app := clinic(t, service(t), "go-agent")
	_, err := app.PatchRepository(t.Context(), earshot.Repository{RepositoryID: "desk", Tools: []earshot.Tool{
		{Name: "ring"},
		earshot.NewTool(earshot.Function{Name: "move", Description: "Move an appointment.", Parameters: map[string]any{
			"type": "object", "required": []string{"from"},
			"properties": map[string]any{"from": map[string]string{"type": "string"}, "hours": map[string]string{"type": "integer"}},
		}}),
	}})
	must(t, err)
	agent := got(app.Session("s1").AgentTools(t.Context()))(t)
	equal(t, "book,move,ring", agent[0].Name()+","+agent[1].Name()+","+agent[2].Name())
	equal(t, "Book an appointment. The input is the day: wished day.", agent[0].Description())
	equal(t, "It takes no input: write {}.", agent[2].Description())
	equal(t, "Move an appointment. The input is a JSON object of this JSON Schema: "+string(agent[1].Schema()), agent[1].Description())
	for _, test := range []struct {
		tool         int
		input, want  string
		wantedValues string
	}{
		{0, `{"day":"Friday"}`, "Done.", `{"day":"Friday"}`},
		{0, ` Friday `, "Done.", `{"day":"Friday"}`},
		{0, `"Friday"`, "Done.", `{"day":"Friday"}`},
		{0, `{"__arg1":"Friday"}`, "Done.", `{"day":"Friday"}`},
		{0, `{"__arg1":"{\"day\":\"Monday\"}"}`, "Done.", `{"day":"Monday"}`},
		{0, ``, "Not done: day: is required.", ""},
		{0, `Sunday`, `Not done: day: "Sunday" is not an allowed value; allowed: "Monday", "Friday".`, ""},
		{2, ``, "Done.", `{}`},
		{2, `none`, "Done.", `{}`},
		{1, "```json\n{\"from\":\"Friday\",\"hours\":9007199254740993}\n```", "Done.", `{"from":"Friday","hours":9007199254740993}`},
		{1, `from Friday`, "Not done: the input is no JSON object of this JSON Schema: " + string(agent[1].Schema()), ""},
		{1, `{"from":"Friday","ours":2}`, `Not done: ours: is not a parameter of the tool; did you mean "hours"?.`, ""},
	} {
		told := got(agent[test.tool].Call(t.Context(), test.input))(t)
		equal(t, test.want, told)
		if test.wantedValues != "" {
			equal(t, test.wantedValues, newest(t, app))
		}
	}
	must(t, app.DeleteTool(t.Context(), "desk", "ring"))
	told := got(agent[2].Call(t.Context(), "{}"))(t)
	equal(t, "Not done: this tool is not there any more. Do not call it again.", told)
	told = got(earshot.CallTool(t.Context(), agent, "fly", "{}"))(t)
	equal(t, `There is no tool "fly". Do not call it.`, told)
}

func newest(t *testing.T, app *earshot.App) string {
	t.Helper()
	for record, err := range app.Triggers(t.Context(), earshot.Search{PageSize: 1}) {
		must(t, err)
		return text(t, record.Values)
	}
	t.Fatal("nothing fired")
	return ""
}

func TestWhatAModelIsToldOfATrigger(t *testing.T) {
	for match, want := range map[string]string{
		`{}`: "Done.",
		`{"state":"confirming","question":"Really?"}`:                      "Not done yet: the user is asked first. Really?",
		`{"state":"cancelled"}`:                                            "Not done: it was cancelled.",
		`{"call":{"state":"delivered"}}`:                                   "Done.",
		`{"call":{"state":"delivered","result":"at nine"}}`:                "at nine",
		`{"call":{"state":"delivered","result":{"n":9007199254740993}}}`:   `{"n":9007199254740993}`,
		`{"call":{"state":"failed","reason":"timeout","error":"silence"}}`: "Failed: timeout silence",
		`{"call":{"state":"failed","reason":"request","error":"POST https://a answered 422","result":{"message":"closed"}}}`: "Failed: request POST https://a answered 422: {\"message\":\"closed\"}",
		`{"call":{"state":"pending"}}`: "Under way: it will be done, and its result is not there yet.",
	} {
		var of earshot.Match
		must(t, json.Unmarshal([]byte(match), &of))
		equal(t, want, of.Told())
	}
}
