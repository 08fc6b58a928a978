package trial

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/files"
	"earshot/repositories/lists"
	"earshot/trigger"
	"earshot/trigger/conversation"
	"earshot/trigger/query"
	"earshot/trigger/scope"
)

// Bounds of a rehearsal.
const (
	// MostMessages bounds the messages tried by words, MostByModel those tried by a model, which costs money.
	MostMessages = 1000
	MostByModel  = 50
	// mostTime bounds the time of a rehearsal; the rest is left out.
	mostTime = time.Minute
	// wordsConcurrency is the number of concurrent messages without a model, so that others get cores as well;
	// modelConcurrency the number that wait for a model.
	wordsConcurrency = 2
	modelConcurrency = 8
)

// DefaultModel, as the model of a rehearsal, is the model that matches the app's messages.
const DefaultModel = "default"

// Engine reads past messages and tries them. trigger.Engine implements it.
type Engine interface {
	LastMessages(ctx context.Context, appID string, most int) ([]trigger.PastMessage, error)
	Try(ctx context.Context, message trigger.PastMessage, tools scope.Scope, decider matcher.Matcher) (trigger.RehearsalOutcome, error)
	// Read reads the tools in scope of an app.
	Read(ctx context.Context, appID, sessionID string) (scope.Scope, error)
}

// Rehearser predicts the effects of a change of tools. All fields but Models are required.
type Rehearser struct {
	Engine Engine
	// Words decides without a model. Models is the matcher of a service with a model; nil without one.
	Words, Models matcher.Matcher
	History       int // the number of earlier messages that a matcher sees
	Now           func() time.Time
}

// Change is a change of tools with the messages and tests to try it on.
type Change struct {
	AppID        string
	Repositories []*repositories.Repository // the changed ones, in their new form
	Messages     int                        // the number of last messages to try
	Tests        []*files.Test
	Model        string // the model that decides; empty for words alone
}

// Outcome is the predicted effect of a change. Its JSON is the answer of the REST call.
type Outcome struct {
	Model           string        `json:"model"` // empty: decided by words
	Messages        Counts        `json:"messages"`
	Differences     []Difference  `json:"differing"` // the newest first
	MoreDifferences int           `json:"moreDiffering,omitempty"`
	Tests           []TestOutcome `json:"tests"`
	Before          Cost          `json:"before"`
	After           Cost          `json:"after"`
	Notes           []string      `json:"notes"`
}

// Counts has the numbers of tried messages by their change. Each message counts once.
type Counts struct {
	Tried          int `json:"tried"`
	Same           int `json:"same"`
	Fires          int `json:"fires"`          // an additional tool fires
	NoLonger       int `json:"noLonger"`       // a tool no longer fires
	OtherTool      int `json:"otherTool"`      // both
	OtherValues    int `json:"otherValues"`    // the same tools, with other values
	OtherRejection int `json:"otherRejection"` // the same fires, and another call lacks values
	Undecided      int `json:"undecided"`      // no model answered
}

// Changes of a message's outcome, as in Counts.
const (
	same           = "same"
	fires          = "fires"
	noLonger       = "noLonger"
	otherTool      = "otherTool"
	otherValues    = "otherValues"
	otherRejection = "otherRejection"
	undecided      = "undecided"
)

func (c *Counts) add(change string) {
	c.Tried++
	counters := map[string]*int{
		same: &c.Same, fires: &c.Fires, noLonger: &c.NoLonger, otherTool: &c.OtherTool,
		otherValues: &c.OtherValues, otherRejection: &c.OtherRejection, undecided: &c.Undecided,
	}
	*counters[change]++
}

// Difference is a message with another outcome.
type Difference struct {
	SessionID string    `json:"sessionId"`
	MessageID string    `json:"messageId"`
	Time      time.Time `json:"ts"`
	Text      string    `json:"text"`
	Change    string    `json:"change"`
	Before    Result    `json:"before"`
	After     Result    `json:"after"`
}

// Result is the outcome of a message.
type Result struct {
	Fired    []Fired     `json:"fired"`
	Rejected []Rejection `json:"rejected"`
	Why      string      `json:"why"`
}

// Fired is a tool that fires, with its values.
type Fired struct {
	RepositoryID string         `json:"repositoryId"`
	Name         string         `json:"name"`
	Values       map[string]any `json:"values"`
}

// Rejection is a tool that was called for, with its missing or invalid values.
type Rejection struct {
	RepositoryID string   `json:"repositoryId"`
	Name         string   `json:"name"`
	Missing      []string `json:"missing"`
}

// TestOutcome is the outcome of a test, with the messages whose outcome is not the expected one.
type TestOutcome struct {
	Name   string     `json:"name"`
	Before TestReport `json:"before"`
	After  TestReport `json:"after"`
}

// Cost is the cost of trying everything with the same tools.
type Cost struct {
	Milliseconds     int64 `json:"ms"`
	ModelRequests    int64 `json:"modelRequests"`
	PromptTokens     int64 `json:"promptTokens"`
	CompletionTokens int64 `json:"completionTokens"`
	Passed           int   `json:"passed"` // tests
}

// NoModelError means that a rehearsal requests a model and none is configured.
type NoModelError struct{ Model string }

// Error names the model and the way out.
func (e *NoModelError) Error() string {
	return fmt.Sprintf("model %q cannot be asked, as no model is configured here; leave model out to have the words decide", e.Model)
}

// Rehearse predicts the effect of a change: it tries the last messages of the app and tests with the current
// and the changed tools. It stores, publishes and calls nothing.
//
// Errors: *NoModelError, repositories.ErrNotFound without the app, keyspace.ErrUnavailable.
func (r *Rehearser) Rehearse(ctx context.Context, c Change) (*Outcome, error) {
	if c.Model != "" && r.Models == nil {
		return nil, &NoModelError{c.Model}
	}
	current, err := r.Engine.Read(ctx, c.AppID, "")
	if err != nil {
		return nil, err
	}
	messages, err := r.Engine.LastMessages(ctx, c.AppID, c.Messages)
	if err != nil {
		return nil, err
	}
	limited, done := context.WithTimeout(ctx, mostTime)
	defer done()
	current.State = askingModel(current.State, c.Model)
	before := r.run(limited, current, messages, c)
	after := before
	if len(c.Repositories) > 0 {
		unchanged := slices.DeleteFunc(slices.Clone(current.Repositories), func(one *repositories.Repository) bool {
			return slices.ContainsFunc(c.Repositories, func(changed *repositories.Repository) bool { return changed.ID == one.ID })
		})
		after = r.run(limited, scope.Of(current.App, append(unchanged, c.Repositories...)), messages, c)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return outcomeOf(c, messages, before, after), nil
}

// askingModel returns the state of an app whose messages the model decides. The compiled tools are shared.
func askingModel(state *scope.State, model string) *scope.State {
	if model == "" || model == DefaultModel {
		return state
	}
	app, next := *state.App, *state
	app.Settings.LLM.Tools, app.Settings.LLM.When = model, repositories.LLMAlways
	next.App = &app
	return &next
}

// trialOutcome is the outcome of all messages and tests with the same tools.
type trialOutcome struct {
	results []*Result // of each message; nil if it was not tried or is undecided
	faults  []error   // why a message is undecided; nil for the others
	report  *Report
	Cost
}

func (r *Rehearser) run(ctx context.Context, tools scope.Scope, messages []trigger.PastMessage, c Change) trialOutcome {
	decider, concurrency := &metered{Matcher: r.Words}, wordsConcurrency
	if c.Model != "" {
		decider.Matcher, concurrency = r.Models, modelConcurrency
	}
	start, t := r.Now(), trialOutcome{results: make([]*Result, len(messages)), faults: make([]error, len(messages))}
	inParallel(concurrency, len(messages), func(i int) {
		if ctx.Err() != nil {
			return
		}
		result, err := r.Engine.Try(ctx, messages[i], tools, decider)
		if err == nil {
			t.results[i] = resultOf(result)
		} else if ctx.Err() == nil {
			t.faults[i] = err
		}
	})
	t.report = runAll(ctx, c.Tests, &Process{Matcher: decider, App: tools.App, Repositories: tools.Repositories, History: r.History, Now: r.Now, allTools: &tools}, concurrency)
	t.Cost = Cost{
		Milliseconds: r.Now().Sub(start).Milliseconds(), Passed: t.report.passed(), ModelRequests: decider.requests.Load(),
		PromptTokens: decider.prompt.Load(), CompletionTokens: decider.completion.Load(),
	}
	return t
}

func resultOf(outcome trigger.RehearsalOutcome) *Result {
	r := &Result{Fired: []Fired{}, Rejected: []Rejection{}, Why: outcome.Why}
	for _, match := range outcome.Matches {
		if match.State != query.StateDuplicate && match.State != query.StateCancelled {
			r.Fired = append(r.Fired, Fired{match.RepositoryID, match.Name, match.Values})
		}
	}
	for _, rejected := range outcome.Rejected {
		r.Rejected = append(r.Rejected, Rejection{rejected.RepositoryID, rejected.Name, conversation.Faulty(rejected.Missing, rejected.Errors)})
	}
	return r
}

// changeOf returns the kind of difference between two results.
func changeOf(before, after *Result) string {
	names := func(r *Result) []string {
		list := lists.Map(r.Fired, func(tool Fired) string { return tool.RepositoryID + "/" + tool.Name })
		slices.Sort(list)
		return list
	}
	lacks := func(names, others []string) bool {
		return slices.ContainsFunc(names, func(tool string) bool { return !slices.Contains(others, tool) })
	}
	namesBefore, namesAfter := names(before), names(after)
	more, less := lacks(namesAfter, namesBefore), lacks(namesBefore, namesAfter)
	equal := func(a, b any) bool { return string(exactjson.EncodeOrNull(a)) == string(exactjson.EncodeOrNull(b)) }
	switch {
	case more && less:
		return otherTool
	case more:
		return fires
	case less:
		return noLonger
	case !equal(before.Fired, after.Fired):
		return otherValues
	case !equal(before.Rejected, after.Rejected):
		return otherRejection
	}
	return same
}

func outcomeOf(c Change, messages []trigger.PastMessage, before, after trialOutcome) *Outcome {
	o := &Outcome{Model: c.Model, Differences: []Difference{}, Tests: []TestOutcome{}, Before: before.Cost, After: after.Cost, Notes: []string{}}
	page := repositories.PageBudget{}
	var fault error // of the first undecided message
	for i, message := range messages {
		resultBefore, resultAfter := before.results[i], after.results[i]
		if cause := cmp.Or(before.faults[i], after.faults[i]); cause != nil {
			o.Messages.add(undecided)
			fault = cmp.Or(fault, cause)
		}
		if resultBefore == nil || resultAfter == nil {
			continue
		}
		change := changeOf(resultBefore, resultAfter)
		o.Messages.add(change)
		if change == same {
			continue
		}
		difference := Difference{message.SessionID, message.MessageID, message.Time, message.Text, change, *resultBefore, *resultAfter}
		if o.MoreDifferences > 0 || !page.Fits(difference) {
			o.MoreDifferences++
			continue
		}
		o.Differences = append(o.Differences, difference)
	}
	if fault != nil {
		o.Notes = append(o.Notes, "Some messages were not decided: "+fault.Error()+".")
	}
	if untried := len(messages) - o.Messages.Tried; untried > 0 {
		o.Notes = append(o.Notes, fmt.Sprintf("%d of %d messages were not tried, as that takes longer than %s.", untried, len(messages), mostTime))
	}
	if c.Model == "" {
		o.Notes = append(o.Notes, "The words decided, and no model was asked.")
	}
	for i, test := range before.report.Tests {
		o.Tests = append(o.Tests, TestOutcome{test.Name, test.failing(), after.report.Tests[i].failing()})
	}
	return o
}

// failing returns the report without the messages that came out as expected, and without line numbers, as there
// is no file.
func (t TestReport) failing() TestReport {
	t.Line, t.Turns = 0, slices.DeleteFunc(slices.Clone(t.Turns), func(turn TurnReport) bool { return turn.Verdict == right })
	for i := range t.Turns {
		t.Turns[i].Line = 0
	}
	return t
}

// metered counts a matcher's requests to models and their tokens.
type metered struct {
	matcher.Matcher
	requests, prompt, completion atomic.Int64
}

// Match implements matcher.Matcher.
func (m *metered) Match(ctx context.Context, request matcher.Request) (matcher.Result, error) {
	result, err := m.Matcher.Match(ctx, request)
	for _, exchange := range matcher.TraceOf(ctx).Exchanges { // package trigger records all of them
		m.requests.Add(1)
		m.prompt.Add(int64(exchange.PromptTokens))
		m.completion.Add(int64(exchange.CompletionTokens))
	}
	return result, err
}
