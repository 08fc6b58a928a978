package console

import (
	"encoding/json"
	"net/http"

	"earshot/trigger/trial"
)

// rehearsal is what a change of tools would do, or why that is not known.
type rehearsal struct {
	*trial.Outcome
	App   string
	Fault *problem
}

// mostShown is how many messages that differ a page lists.
const mostShown = 20

// Shown are the first of the messages that come out otherwise.
func (r rehearsal) Shown() []trial.Differing { return r.Differs[:min(len(r.Differs), mostShown)] }

// Hidden is how many others there are.
func (r rehearsal) Hidden() int { return len(r.Differs) + r.More - len(r.Shown()) }

// Differing is how many come out otherwise.
func (r rehearsal) Differing() int { return r.Messages.Tried - r.Messages.Same }

// TestsThatDiffer are those that pass with one of both states of the tools alone, or fail with the new one.
func (r rehearsal) TestsThatDiffer() (some []trial.TestOutcome) {
	for _, one := range r.Tests {
		if one.Before.OK != one.After.OK || !one.After.OK {
			some = append(some, one)
		}
	}
	return some
}

// rehearsed asks what would become of messages and tests.
func (v *pageRequest) rehearsed(asked map[string]any) (rehearsal, error) {
	body, err := json.Marshal(asked)
	if err != nil {
		return rehearsal{}, err
	}
	found := rehearsal{App: v.app(), Outcome: &trial.Outcome{}}
	err = v.call(http.MethodPost, v1("apps", v.app(), "rehearsals"), body, found.Outcome)
	if err != nil && refused(err, http.StatusUnauthorized) == nil {
		found.Fault, err = problemOf(err), nil
	}
	return found, err
}
