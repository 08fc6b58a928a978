// Package scope determines the tools that a message may call for: the app's and those of its session, with the
// winner of each name. An app is read once per version.
package scope

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/parameters"
	"earshot/trigger/explain"
)

// Scope has the repositories whose tools can be fired: the app's and, in a session, its own.
type Scope struct {
	*State
	Session []*repositories.Repository // the session's own, in the order in which they win a name
	Profile *Profile
	Claims  parameters.Claims // verified, of the user
}

// State is an app with its repositories in one version.
type State struct {
	Version      string
	App          *repositories.App
	Repositories []*repositories.Repository // in the order in which they win a name
	// Shared has the tool that wins each name among the app's own, for any user.
	Shared *matcher.Shared
	// Facts are those that explanations need; nil for a state that is not from the ledger.
	Facts func() *explain.AppFacts

	unrestricted []matcher.Candidate // the shared tools that need no verified user
	// restricted are the other shared tools, each with all tools of its name, best first; restrictedHiding those that
	// hide another tool.
	restricted, restrictedHiding [][]matcher.Candidate
	catchAlls                    []matcher.Candidate // best first
	exclusive                    bool                // a non-empty exclusive repository is among them
}

// Profile is what a client has set for a session in advance.
type Profile struct {
	repositories.Session
	Text string // as the ledger stores it
}

var noProfile = &Profile{}

// Of returns the scope of an app with repositories in memory.
func Of(app *repositories.App, list []*repositories.Repository) Scope {
	return Scope{State: newState("", app, slices.Clone(list)), Profile: noProfile}
}

// newState prepares the tools of an app once for all messages. It owns the list.
func newState(version string, app *repositories.App, list []*repositories.Repository) *State {
	list = slices.DeleteFunc(list, func(r *repositories.Repository) bool { return r.Options.Template })
	slices.SortStableFunc(list, repositories.Rank)
	byName := map[string][]matcher.Candidate{}
	for _, repository := range list {
		for i := range repository.Tools {
			tool := &repository.Tools[i]
			byName[tool.Name] = append(byName[tool.Name], matcher.Candidate{Repository: repository, Tool: tool})
		}
	}
	s := &State{Version: version, App: app, Repositories: list, Shared: &matcher.Shared{}}
	s.catchAlls, s.exclusive = byName[repositories.CatchAll], slices.ContainsFunc(list, exclusive)
	delete(byName, repositories.CatchAll)
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		candidates := byName[name]
		s.Shared.Tools = append(s.Shared.Tools, candidates[0])
		if !candidates[0].Tool.AsksForUser() {
			s.unrestricted = append(s.unrestricted, candidates[0])
			continue
		}
		s.restricted = append(s.restricted, candidates)
		if len(candidates) > 1 {
			s.restrictedHiding = append(s.restrictedHiding, candidates)
		}
	}
	return s
}

func exclusive(r *repositories.Repository) bool { return r.Options.Exclusive && len(r.Tools) > 0 }

// Without returns the scope without the repositories for which remove is true.
func (s Scope) Without(remove func(*repositories.Repository) bool) Scope {
	facts := s.Facts
	s.State = newState(s.Version, s.App, slices.DeleteFunc(slices.Clone(s.Repositories), remove))
	s.Facts = facts
	s.Session = slices.DeleteFunc(slices.Clone(s.Session), remove)
	return s
}

// Ranked lists the repositories in the order in which they win a name: the session's before the app's, each by
// rank.
func (s Scope) Ranked() []*repositories.Repository { return slices.Concat(s.Session, s.Repositories) }

// ZoneName returns the time zone of the session's user; empty if unknown.
func (s Scope) ZoneName() string { return cmp.Or(s.Profile.TimeZone, s.App.Settings.TimeZone) }

// Language returns the language of the session's user; empty if unknown.
func (s Scope) Language() string { return cmp.Or(s.Profile.Language, s.App.Settings.Language) }

// MayReply reports whether a message may get a reply of the model.
func (s Scope) MayReply() bool { return s.App.Settings.ChatModeEnabled && !s.Exclusive() }

// Exclusive reports whether a non-empty exclusive repository is in scope.
func (s Scope) Exclusive() bool { return s.exclusive || slices.ContainsFunc(s.Session, exclusive) }

// Find returns the tool of a name: in the given repository, or else the winner of the name.
func (s Scope) Find(name, repositoryID string) (matcher.Candidate, bool) {
	in := s.Session
	if repositoryID != "" {
		in = s.Ranked()
	}
	for _, repository := range in {
		if repositoryID != "" && repository.ID != repositoryID {
			continue
		}
		if tool := repository.Tool(name); tool != nil {
			return matcher.Candidate{Repository: repository, Tool: tool}, true
		}
	}
	switch {
	case repositoryID != "":
		return matcher.Candidate{}, false
	case name == repositories.CatchAll && len(s.catchAlls) > 0:
		return s.catchAlls[0], true
	}
	return matcher.Request{Candidates: s.Shared.Tools}.Named(name)
}

// Same finds the candidate's tool if it is still in the scope with the same definition, apart from credentials.
func (s Scope) Same(c matcher.Candidate) (matcher.Candidate, bool) {
	for _, repository := range s.Ranked() {
		if repository.ID != c.Repository.ID || repository.SessionID != c.Repository.SessionID {
			continue
		}
		if tool := repository.Tool(c.Tool.Name); tool != nil {
			now, errNow := exactjson.Encode(tool)
			before, errThen := exactjson.Encode(c.Tool)
			if errNow == nil && errThen == nil && bytes.Equal(now, before) {
				return matcher.Candidate{Repository: repository, Tool: tool}, true
			}
		}
	}
	return matcher.Candidate{}, false
}

// Candidates are the tools in scope of a message, one of each name.
type Candidates struct {
	All []matcher.Candidate // sorted by name
	Own []matcher.Candidate // those that are not shared, sorted by name
	// CatchAll fires when nothing else matches; nil for none.
	CatchAll *matcher.Candidate
}

// Candidates lists the tools in scope. A tool that needs a verified user, or takes a value from the user's
// token, is in scope only for messages with such a token. The cost grows only with the session's tools and
// those that need a user.
func (s Scope) Candidates() Candidates {
	if len(s.Session)+len(s.restricted)+len(s.catchAlls) == 0 {
		return Candidates{All: s.unrestricted}
	}
	added := map[string]matcher.Candidate{}
	add := func(c matcher.Candidate) bool { // in its form for this user
		if _, taken := added[c.Tool.Name]; taken {
			return false
		}
		tool, err := c.Tool.For(s.Claims)
		if err == nil {
			added[tool.Name] = matcher.Candidate{Repository: c.Repository, Tool: tool}
		}
		return err == nil
	}
	s.eachSessionTool(func(c matcher.Candidate) { add(c) })
	own := maps.Clone(added)
	restricted := s.restricted
	if len(s.Claims) == 0 {
		restricted = s.restrictedHiding
	}
	for _, candidates := range restricted {
		for i, candidate := range candidates {
			if add(candidate) && i > 0 {
				own[candidate.Tool.Name] = added[candidate.Tool.Name]
			}
		}
	}
	for _, candidate := range s.catchAlls {
		add(candidate)
	}
	c := Candidates{}
	if catchAll, has := added[repositories.CatchAll]; has {
		c.CatchAll = &catchAll
		delete(added, repositories.CatchAll)
		delete(own, repositories.CatchAll)
	}
	c.All, c.Own = merged(s.unrestricted, sortedByName(added)), sortedByName(own)
	return c
}

// Winners lists the tools that win their names for any user, sorted by name, and those of them that are not
// shared: the session's, and the catch-all.
func (s Scope) Winners() (all, own []matcher.Candidate) {
	added := map[string]matcher.Candidate{}
	s.eachSessionTool(func(c matcher.Candidate) {
		if _, taken := added[c.Tool.Name]; !taken {
			added[c.Tool.Name] = c
		}
	})
	if _, taken := added[repositories.CatchAll]; !taken && len(s.catchAlls) > 0 {
		added[repositories.CatchAll] = s.catchAlls[0]
	}
	own = sortedByName(added)
	return merged(s.Shared.Tools, own), own
}

func (s Scope) eachSessionTool(visit func(matcher.Candidate)) {
	for _, repository := range s.Session {
		for i := range repository.Tools {
			visit(matcher.Candidate{Repository: repository, Tool: &repository.Tools[i]})
		}
	}
}

func sortedByName(named map[string]matcher.Candidate) []matcher.Candidate {
	return slices.SortedFunc(maps.Values(named), compareNames)
}

func compareNames(a, b matcher.Candidate) int { return cmp.Compare(a.Tool.Name, b.Tool.Name) }

// merged returns base with the candidates of replacing in place of those of the same name. All lists are sorted by name.
func merged(base, replacing []matcher.Candidate) []matcher.Candidate {
	if len(replacing) == 0 {
		return base
	}
	list := make([]matcher.Candidate, 0, len(base)+len(replacing))
	for _, candidate := range replacing {
		position, same := matcher.Request{Candidates: base}.Place(candidate.Tool.Name)
		list = append(append(list, base[:position]...), candidate)
		if same {
			position++
		}
		base = base[position:]
	}
	return append(list, base...)
}
