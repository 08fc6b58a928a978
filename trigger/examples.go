package trigger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/locale"
	"earshot/repositories/panics"
	"earshot/trigger/examples"
)

// What a write of a repository waits for while examples are said. What they are compared with is
// made ready for the next message as well; of more than mostTools that alone takes too long.
const (
	mostTools        = 2000
	mostExamples     = 1000
	mostOfSession    = 100 // sessions write often, and most of them the same
	timeForExamples  = 250 * time.Millisecond
	untried          = "%d examples were not tried, as that takes long: earshot eval --examples tries all of them"
	untriedOfTooMany = "examples are not tried among %d tools, as that takes long: earshot eval --examples does"
)

// Examples says of a repository that was written which of its examples do not set off their own
// tool, and which of the app's others it takes away from theirs, by the tools in scope now. It
// says nothing where a model decides, and of what cannot be read.
func (sc *Scopes) Examples(ctx context.Context, owner repositories.Scope, repositoryID string) (notes []string) {
	if sc.words == nil {
		return nil
	}
	panics.Run(sc.log, "http", "examples of "+owner.AppID+"/"+repositoryID, func() {
		s, err := sc.loadScope(ctx, owner.AppID, owner.SessionID)
		if err != nil {
			return
		}
		for _, written := range s.ranked() {
			if written.ID == repositoryID && written.SessionID == owner.SessionID {
				notes = sc.examplesOf(ctx, s, written)
			}
		}
	})
	return notes
}

func (sc *Scopes) examplesOf(ctx context.Context, s scope, written *repositories.Repository) []string {
	all, own := s.winners()
	if i, has := (matcher.Request{Candidates: all}).Place(repositories.CatchAll); has { // it takes what nothing else does
		all = slices.Delete(slices.Clone(all), i, i+1)
		own = slices.DeleteFunc(own, func(c matcher.Candidate) bool { return c.Tool.Name == repositories.CatchAll })
	}
	if len(all) > mostTools {
		return []string{fmt.Sprintf(untriedOfTooMany, len(all))}
	}
	ctx, done := context.WithTimeout(ctx, timeForExamples)
	defer done()
	stage := &examples.Stage{Matcher: sc.words, Most: mostExamples, Request: matcher.Request{
		App: s.app, Candidates: all, Shared: s.tools.shared, Own: own,
		Now: sc.now().In(locale.Zone(s.zoneName(), sc.now().Location())), Language: s.app.Settings.Language,
	}}
	if written.SessionID != "" {
		stage.Most = mostOfSession
	}
	notes := written.InWords(stage.Faults(ctx, written))
	unsaid := stage.Unsaid
	notes = append(notes, stage.Taken(ctx, written)...)
	if unsaid > 0 {
		notes = append(notes, fmt.Sprintf(untried, unsaid))
	}
	return notes
}
