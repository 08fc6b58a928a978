package trial_test

import (
	"context"
	"errors"
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

// noAnswer is the Why of an outcome that stands for a failure of the model.
const noAnswer = "the model does not answer"

// engine has the outcome of each message, by its text, with the current and the changed tools.
type engine map[string][2]trigger.RehearsalOutcome

func (e engine) LastMessages(context.Context, string, int) (message []trigger.PastMessage, err error) {
	for text := range e {
		message = append(message, trigger.PastMessage{SessionID: "s1", MessageID: text, Text: text})
	}
	return message, nil
}

func (e engine) Try(_ context.Context, message trigger.PastMessage, tools scope.Scope, _ matcher.Matcher) (trigger.RehearsalOutcome, error) {
	outcome := e[message.Text][len(tools.Repositories)]
	if outcome.Why == noAnswer {
		return trigger.RehearsalOutcome{}, errors.New(noAnswer)
	}
	return outcome, nil
}

func (e engine) Read(context.Context, string, string) (scope.Scope, error) {
	return scope.Of(&repositories.App{ID: "clinic"}, nil), nil
}

func TestARehearsalCountsTheChangesOfOutcomes(t *testing.T) {
	nothing := trigger.RehearsalOutcome{}
	fires := func(name, day string) (r trigger.RehearsalOutcome) {
		r.Matches = []query.Match{{RepositoryID: "desk", Name: name, Values: map[string]any{"day": day}}}
		return r
	}
	lacks := func(name string) (r trigger.RehearsalOutcome) {
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
	outcome, err := rehearser.Rehearse(t.Context(), trial.Change{AppID: "clinic", Messages: 10, Repositories: []*repositories.Repository{{ID: "desk"}}})
	require.NoError(t, err)
	require.Equal(t, trial.Counts{Tried: 7, Same: 2, Fires: 1, NoLonger: 1, OtherTool: 1, OtherValues: 1, OtherRejection: 1}, outcome.Messages)
	changes := map[string]string{}
	for _, one := range outcome.Differences {
		changes[one.Text] = one.Change
	}
	require.Equal(t, map[string]string{
		"one more": "fires", "none any more": "noLonger", "another tool": "otherTool", "another day": "otherValues", "lacks otherwise": "otherRejection",
	}, changes)
}

func TestARehearsalCountsEachMessageThatAModelLeavesUndecided(t *testing.T) {
	failed := trigger.RehearsalOutcome{Why: noAnswer}
	rehearser := trial.Rehearser{Now: time.Now, Engine: engine{"fails before": {failed, {}}, "fails after": {{}, failed}, "fails twice": {failed, failed}, "decided": {}}}
	outcome, err := rehearser.Rehearse(t.Context(), trial.Change{AppID: "clinic", Messages: 10, Repositories: []*repositories.Repository{{ID: "desk"}}})
	require.NoError(t, err)
	require.Equal(t, trial.Counts{Tried: 4, Same: 1, Undecided: 3}, outcome.Messages)
	require.Equal(t, []string{"Some messages were not decided: " + noAnswer + ".", "The words decided, and no model was asked."}, outcome.Notes)
}
