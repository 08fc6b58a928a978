package console

import (
	"encoding/json"
	"net/http"

	"earshot/trigger/trial"
)

// rehearsal is the outcome of a change of tools, or why it is unknown.
type rehearsal struct {
	*trial.Outcome
	App   string
	Fault *problem
}

// mostShown is how many differing messages a page lists.
const mostShown = 20

// Shown returns the first differing messages.
func (r rehearsal) Shown() []trial.Difference {
	return r.Differences[:min(len(r.Differences), mostShown)]
}

// Hidden counts the other differing messages.
func (r rehearsal) Hidden() int { return len(r.Differences) + r.MoreDifferences - len(r.Shown()) }

// Differing counts all differing messages.
func (r rehearsal) Differing() int { return r.Messages.Tried - r.Messages.Same }

// TestsThatDiffer returns the tests whose outcome changes, or that fail with the new tools.
func (r rehearsal) TestsThatDiffer() (some []trial.TestOutcome) {
	for _, one := range r.Tests {
		if one.Before.OK != one.After.OK || !one.After.OK {
			some = append(some, one)
		}
	}
	return some
}

// rehearsed rehearses messages and tests.
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
