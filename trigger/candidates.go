package trigger

import (
	"cmp"
	"maps"
	"slices"

	"earshot/matcher"
	"earshot/repositories"
)

// appTools are the tools of an app's repositories, made ready once for all messages.
type appTools struct {
	// shared has the tool that wins each name among the app's own, whoever asks.
	shared *matcher.Shared
	// open are those of them that ask for no verified user.
	open []matcher.Candidate
	// asking are the others, each with those that have its name as well, best first.
	asking [][]matcher.Candidate
	// hiding are those of the asking ones that hide another of their name.
	hiding    [][]matcher.Candidate
	catchAlls []matcher.Candidate // best first
	exclusive bool                // a non-empty exclusive repository is among them
}

// newAppTools takes the repositories in the order in which they win a name.
func newAppTools(ranked []*repositories.Repository) *appTools {
	byName := map[string][]matcher.Candidate{}
	for _, repository := range ranked {
		for i := range repository.Tools {
			tool := &repository.Tools[i]
			byName[tool.Name] = append(byName[tool.Name], matcher.Candidate{Repository: repository, Tool: tool})
		}
	}
	a := &appTools{shared: &matcher.Shared{}, catchAlls: byName[repositories.CatchAll], exclusive: slices.ContainsFunc(ranked, isExclusive)}
	delete(byName, repositories.CatchAll)
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		same := byName[name]
		a.shared.Tools = append(a.shared.Tools, same[0])
		if !same[0].Tool.AsksForUser() {
			a.open = append(a.open, same[0])
			continue
		}
		a.asking = append(a.asking, same)
		if len(same) > 1 {
			a.hiding = append(a.hiding, same)
		}
	}
	return a
}

func isExclusive(r *repositories.Repository) bool { return r.Options.Exclusive && len(r.Tools) > 0 }

// winner returns the app's tool that wins a name, whoever asks.
func (a *appTools) winner(name string) (matcher.Candidate, bool) {
	if name == repositories.CatchAll && len(a.catchAlls) > 0 {
		return a.catchAlls[0], true
	}
	return matcher.Request{Candidates: a.shared.Tools}.Named(name)
}

// inScope are the tools in scope of a message.
type inScope struct {
	all []matcher.Candidate // one of each name, sorted by name
	own []matcher.Candidate // those that are not among the shared ones, sorted by name
	// catchAll fires when nothing else matches; nil for none.
	catchAll *matcher.Candidate
}

// candidates lists the tools in scope, one of each name. A tool that requires a verified
// user, or takes a value from the user's token, is in scope only for requests with such a
// token. What it does grows with the tools of the session and those that ask for a user,
// and not with the others.
func (s scope) candidates() inScope {
	added := map[string]matcher.Candidate{}
	for _, repository := range s.rankedSession() {
		for i := range repository.Tools {
			s.add(added, matcher.Candidate{Repository: repository, Tool: &repository.Tools[i]})
		}
	}
	own := maps.Clone(added)
	for _, same := range s.asking() {
		for i, one := range same {
			if s.add(added, one) && i > 0 {
				own[one.Tool.Name] = added[one.Tool.Name]
			}
		}
	}
	for _, one := range s.tools.catchAlls {
		s.add(added, one)
	}
	c := inScope{}
	if catchAll, has := added[repositories.CatchAll]; has {
		c.catchAll = &catchAll
		delete(added, repositories.CatchAll)
		delete(own, repositories.CatchAll)
	}
	c.all, c.own = overlaid(s.tools.open, sorted(added)), sorted(own)
	return c
}

// asking are the tools that ask for a user, with those that stand in for them.
func (s scope) asking() [][]matcher.Candidate {
	if len(s.claims) == 0 {
		return s.tools.hiding
	}
	return s.tools.asking
}

// add adds a candidate as it is for the user who asks, unless one of its name is there
// or the user may not use it.
func (s scope) add(to map[string]matcher.Candidate, c matcher.Candidate) bool {
	if _, taken := to[c.Tool.Name]; taken {
		return false
	}
	tool, err := c.Tool.For(s.claims)
	if err != nil {
		return false
	}
	to[tool.Name] = matcher.Candidate{Repository: c.Repository, Tool: tool}
	return true
}

func sorted(named map[string]matcher.Candidate) []matcher.Candidate {
	return slices.SortedFunc(maps.Values(named), func(a, b matcher.Candidate) int { return cmp.Compare(a.Tool.Name, b.Tool.Name) })
}

// overlaid lays candidates over others; both and the result are sorted by name. With none
// to lay over, the others are returned as they are.
func overlaid(under, over []matcher.Candidate) []matcher.Candidate {
	if len(over) == 0 {
		return under
	}
	list := make([]matcher.Candidate, 0, len(under)+len(over))
	for _, one := range over {
		at, same := matcher.Request{Candidates: under}.Place(one.Tool.Name)
		list = append(append(list, under[:at]...), one)
		if same {
			at++
		}
		under = under[at:]
	}
	return append(list, under...)
}
