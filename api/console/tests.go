package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"earshot/matcher"
	"earshot/repositories/exactjson"
	"earshot/repositories/store"
	"earshot/trigger/query"
	"earshot/trigger/trial"
)

type testsBody struct {
	Tests   []keptTest
	Next    string
	Name    string // of a new test
	Text    string
	Fault   *problem
	Places  []flawPlace
	Saved   string
	Run     testRun
	Changes []string // repositories that a run may try in another version
}

type keptTest struct {
	Name, Text string
}

// testRun is a chosen run, with its outcomes by model.
type testRun struct {
	Repository, Version string
	Words, Model        bool
	Other               string // a model by name
	Runs                []modelRun
}

type modelRun struct {
	Model string
	rehearsal
}

const blankTest = `{
  "chat": [
    {"user": "I want an appointment on Monday"},
    {"expect": {"tool": "request-for-appointment", "values": {"date": "Monday"}}}
  ]
}`

func testsPage(v *pageRequest) error {
	shown, err := v.tests()
	if err != nil {
		return err
	}
	shown.Saved = v.r.URL.Query().Get("saved")
	return v.render("tests", "Tests", shown)
}

func (v *pageRequest) tests() (testsBody, error) {
	shown := testsBody{Text: blankTest, Run: testRun{Words: true}}
	var found list[store.Test]
	if err := v.get(v1("apps", v.app(), "tests")+"?limit=50&after="+url.QueryEscape(v.r.URL.Query().Get("after")), &found); err != nil {
		return shown, err
	}
	shown.Next = found.Next
	for _, one := range found.Items {
		shown.Tests = append(shown.Tests, keptTest{one.Name, laidOut(one.Body, "", 2)})
	}
	var all list[repository]
	err := v.get(v1("apps", v.app(), "repositories")+"?limit=100", &all)
	for _, one := range all.Items {
		shown.Changes = append(shown.Changes, one.ID)
	}
	return shown, err
}

func (v *pageRequest) testPath(name string) string { return v1("apps", v.app(), "tests", name) }

// saveTest stores or deletes a test.
func saveTest(v *pageRequest) error {
	form := v.r.PostForm
	name, text := strings.TrimSpace(form.Get("name")), editedText(form)
	if form.Get("do") == "delete" {
		if err := v.call(http.MethodDelete, v.testPath(name), nil, nil); err != nil && refused(err, http.StatusNotFound) == nil {
			return err
		}
		return v.redirect(link("apps", v.app(), "tests"))
	}
	err := v.call(http.MethodPut, v.testPath(name), []byte(text), nil)
	if err == nil {
		return v.redirect(link("apps", v.app(), "tests") + "?saved=" + url.QueryEscape(name))
	}
	if refused(err, http.StatusUnauthorized) != nil {
		return err
	}
	shown, wrong := v.tests()
	if wrong != nil {
		return wrong
	}
	shown.Name, shown.Text, shown.Fault = name, text, problemOf(err)
	shown.Places = placed(shown.Fault.Errors, text)
	return v.renderStatus(shown.Fault.Status, "tests", "Tests", shown)
}

// runTests runs all tests by words and by models, with the current tools and with another version of a
// repository.
func runTests(v *pageRequest) error {
	form := v.r.PostForm
	shown, err := v.tests()
	if err != nil {
		return err
	}
	run := testRun{Repository: form.Get("repository"), Version: form.Get("version"), Words: form.Has("words"), Model: form.Has("model"), Other: strings.TrimSpace(form.Get("other"))}
	models := []string{}
	if run.Words || !run.Model && run.Other == "" {
		models, run.Words = append(models, ""), true
	}
	if run.Model {
		models = append(models, trial.DefaultModel)
	}
	if run.Other != "" {
		models = append(models, run.Other)
	}
	for _, model := range models {
		asked := map[string]any{"tests": true, "messages": 0}
		if model != "" {
			asked["model"] = model
		}
		if number, err := strconv.Atoi(run.Version); err == nil && run.Repository != "" {
			asked["repositories"] = map[string]any{run.Repository: map[string]int{"version": number}}
		}
		found, err := v.rehearsed(asked)
		if err != nil {
			return err
		}
		run.Runs = append(run.Runs, modelRun{cmp.Or(model, "the words"), found})
	}
	shown.Run = run
	return v.render("tests", "Tests", shown)
}

// keepAsTest turns a message and the conversation before it into a test that expects the same outcome.
func keepAsTest(v *pageRequest) error {
	session, message := v.session(), v.r.PathValue("message")
	entries, err := every[query.Entry](v, v1("apps", v.app(), "sessions", session, "messages"))
	if err != nil {
		return err
	}
	at := slices.IndexFunc(entries, func(one query.Entry) bool { return one.MessageID == message })
	if at < 0 {
		return &problem{Status: http.StatusNotFound, Title: "No such message", Detail: "the session has no message of this id any more"}
	}
	text, err := exactjson.Encode(map[string]any{"now": entries[at].Time, "chat": chatOf(entries[:at+1])})
	if err != nil {
		return err
	}
	shown, err := v.tests()
	if err != nil {
		return err
	}
	name := []rune(strings.Join(strings.Fields(entries[at].Text), " "))
	shown.Name, shown.Text = strings.TrimSpace(string(name[:min(len(name), 60)])), laidOut(text, "", 2)
	return v.render("tests", "Tests", shown) // stored only when the person saves
}

// mostBefore is how many earlier messages such a test includes.
const mostBefore = 20

// chatOf returns a conversation in the format of tests, which expects the outcome of its last message.
func chatOf(entries []query.Entry) (chat []any) {
	entries = entries[max(0, len(entries)-mostBefore-1):]
	for _, one := range entries {
		actor := "user"
		if one.Actor != matcher.ActorUser {
			actor = "agent"
		}
		chat = append(chat, map[string]any{actor: one.Text})
	}
	last, expected := entries[len(entries)-1], []any{}
	for _, match := range last.Matches {
		if came := stateOf(match); came == "" || came == query.StateConfirming || came == query.StatePending {
			expected = append(expected, map[string]any{"tool": match.Name, "values": match.Values})
		}
	}
	for _, one := range last.Rejected {
		expected = append(expected, map[string]any{"rejected": one.Name, "missing": one.Missing})
	}
	if len(expected) == 0 {
		expected = append(expected, map[string]any{"none": true})
	}
	return append(chat, map[string]any{"expect": expected})
}
