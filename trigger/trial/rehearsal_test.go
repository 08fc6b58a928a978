package trial_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/trigger"
	"earshot/trigger/query"
	"earshot/trigger/scope"
	"earshot/trigger/trial"
)

// engine has the outcome of each message, by its text, with the current and the changed tools.
type engine map[string][2]trigger.Rehearsed

func (e engine) LastSaid(context.Context, string, int) (said []trigger.Said, err error) {
	for text := range e {
		said = append(said, trigger.Said{SessionID: "s1", MessageID: text, Text: text})
	}
	return said, nil
}

func (e engine) Try(_ context.Context, said trigger.Said, over scope.Scope, _ matcher.Matcher) (trigger.Rehearsed, error) {
	return e[said.Text][len(over.Repositories)], nil
}

func (e engine) Read(context.Context, string, string) (scope.Scope, error) {
	return scope.Of(&repositories.App{ID: "clinic"}, nil), nil
}

func TestARehearsalSaysHowEachMessageWouldComeOutOtherwise(t *testing.T) {
	nothing := trigger.Rehearsed{}
	fires := func(name, day string) (r trigger.Rehearsed) {
		r.Matches = []query.Match{{RepositoryID: "desk", Name: name, Values: map[string]any{"day": day}}}
		return r
	}
	lacks := func(name string) (r trigger.Rehearsed) {
		r.Rejected = []query.Rejected{{RepositoryID: "desk", Name: name, Missing: []string{"day"}}}
		return r
	}
	before := fires("book", "Monday")
	before.Matches[0].State = query.StateDuplicate
	rehearser := trial.Rehearser{Now: time.Now, Engine: engine{
		"the same":         {fires("book", "Monday"), fires("book", "Monday")},
		"one more":         {nothing, fires("book", "Monday")},
		"none any more":    {fires("book", "Monday"), nothing},
		"another tool":     {fires("book", "Monday"), fires("cancel", "Monday")},
		"another day":      {fires("book", "Monday"), fires("book", "Friday")},
		"lacks otherwise":  {lacks("book"), lacks("cancel")},
		"a duplicate then": {before, nothing},
	}}
	came, err := rehearser.Rehearse(t.Context(), trial.Change{AppID: "clinic", Messages: 10, Repositories: []*repositories.Repository{{ID: "desk"}}})
	require.NoError(t, err)
	require.Equal(t, trial.Counts{Tried: 7, Same: 2, Fires: 1, NoLonger: 1, OtherTool: 1, OtherValues: 1, OtherRejection: 1}, came.Messages)
	changes := map[string]string{}
	for _, one := range came.Differs {
		changes[one.Text] = one.Change
	}
	require.Equal(t, map[string]string{
		"one more": "fires", "none any more": "noLonger", "another tool": "otherTool", "another day": "otherValues", "lacks otherwise": "otherRejection",
	}, changes)
}
