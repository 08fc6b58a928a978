package trial

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/fault"
	"earshot/repositories/files"
	"earshot/repositories/locale"
	"earshot/trigger"
	"earshot/trigger/examples"
	"earshot/trigger/scope"
)

// InProcess returns the Stage for the tools of files.
func InProcess(set *files.Set, decider matcher.Matcher, history int, now func() time.Time) (*Process, error) {
	app, err := repositories.DecodeApp(cmp.Or(set.AppID, "app"), set.App.Body())
	if err != nil {
		return nil, err
	}
	return &Process{Matcher: decider, App: app, Repositories: set.Decoded(), History: history, Now: now, files: set}, nil
}

// Process is the Stage of this process: the tools of files, and a matcher.
type Process struct {
	Matcher      matcher.Matcher
	App          *repositories.App
	Repositories []*repositories.Repository
	History      int // the number of earlier messages that the matcher sees
	Now          func() time.Time
	// Explain adds details to an error of the matcher; nil for none.
	Explain func(error) error

	files    *files.Set // nil if the tools are not from files
	allTools *scope.Scope
}

// Begin implements Stage. The tools that a test names are in scope, or all if it names none.
func (p *Process) Begin(test *files.Test) (Conversation, error) {
	if p.files != nil && !p.files.IsFor(test.AppID) {
		return nil, fmt.Errorf("the test is for app %q, but the files are for %q; to test the tools of a service, give --server", test.AppID, p.App.ID)
	}
	tools, err := p.scopeOf(test)
	if err != nil {
		return nil, err
	}
	now := p.Now
	if !test.Now.IsZero() {
		now = func() time.Time { return test.Now }
	}
	zone, language := cmp.Or(test.TimeZone, p.App.Settings.TimeZone), cmp.Or(test.Language, p.App.Settings.Language)
	return inProcess{p.Explain, trigger.NewRehearsal(trigger.RehearsalOptions{
		Matcher: p.Matcher, Scope: tools, History: p.History, Language: language,
		Now: func() time.Time { return now().In(locale.Zone(zone, now().Location())) },
	})}, nil
}

// scopeOf returns the tools of a test. The compiled form of all tools is built once for all tests that name
// none.
func (p *Process) scopeOf(test *files.Test) (scope.Scope, error) {
	if len(test.Tools) == 0 {
		if p.allTools == nil {
			p.allTools = new(scope.Of(p.App, p.Repositories))
		}
		return *p.allTools, nil
	}
	var repositoriesInScope []*repositories.Repository
	found := map[string]bool{}
	for _, repository := range p.Repositories {
		part := *repository
		part.Tools = slices.DeleteFunc(slices.Clone(repository.Tools), func(tool repositories.Tool) bool { return !slices.Contains(test.Tools, tool.Name) })
		for _, tool := range part.Tools {
			found[tool.Name] = true
		}
		repositoriesInScope = append(repositoriesInScope, &part)
	}
	for _, name := range test.Tools {
		if !found[name] {
			return scope.Scope{}, fmt.Errorf("there is no tool %q", name)
		}
	}
	return scope.Of(p.App, repositoriesInScope), nil
}

type inProcess struct {
	explain   func(error) error
	rehearsal *trigger.Rehearsal
}

// AddMessage implements Conversation.
func (h inProcess) AddMessage(message files.Message) {
	if message.Agent {
		h.rehearsal.Agent(message.Text)
		return
	}
	h.rehearsal.Past(message.Text)
}

// User implements Conversation.
func (h inProcess) User(ctx context.Context, text string) (MessageOutcome, error) {
	outcome, err := h.rehearsal.User(ctx, text)
	if err != nil && h.explain != nil {
		err = h.explain(err)
	}
	if err != nil {
		return MessageOutcome{}, err
	}
	result := NewMessageOutcome(outcome.Why, outcome.Matches, outcome.Rejected)
	for _, score := range outcome.Trace.Scores[:min(MostNearest, len(outcome.Trace.Scores))] {
		result.Nearest = append(result.Nearest, NearTool{score.Tool.Name, score.Score})
	}
	return result, nil
}

// Examples returns a test for each example of the tools that messages may call for: it fires only its own tool.
// Examples of tools that need a verified user are counted in skipped, as no test has such a user. place finds the
// file and line of an example by the id of its repository and a JSON Pointer.
func Examples(list []*repositories.Repository, place func(repositoryID, pointer string) (file string, line int)) (tests []*files.Test, skipped int) {
	inScope := map[*repositories.Tool]bool{}
	for _, candidate := range scope.Of(nil, list).Shared.Tools {
		inScope[candidate.Tool] = true
	}
	for _, repository := range list {
		for i := range repository.Tools {
			tool := &repository.Tools[i]
			if !inScope[tool] {
				continue
			}
			if tool.AsksForUser() {
				skipped += len(tool.Examples)
				continue
			}
			for j, example := range tool.Spoken() {
				file, line := place(repository.ID, fault.Point("tools", i, "examples", j))
				tests = append(tests, &files.Test{
					Name: fmt.Sprintf("%s: %s", tool.Name, example), File: file, Line: line, AppID: repository.AppID,
					Chat: []files.Message{{Text: example, Line: line, Expect: []files.Expectation{{Line: line, Tool: tool.Name, MayLack: examples.Free(tool)}}}},
				})
			}
		}
	}
	return tests, skipped
}
