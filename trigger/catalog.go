package trigger

import (
	"cmp"
	"context"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/parameters"
	"earshot/trigger/conversation"
	"earshot/trigger/ledger"
	"errors"
	"slices"
	"sort"
)

// Tools lists the tools in scope of an app or, with a session, of the session: of each name
// the one that fires. Those that need a verified user are listed as well. They are sorted by
// name, and next is the name after which the next page begins. A name selects its tool alone.
func (sc *Scopes) Tools(ctx context.Context, appID, sessionID, name string, page Page) (items []Tool, next string, err error) {
	s, err := sc.loadScope(ctx, appID, sessionID)
	if err != nil {
		return nil, "", err
	}
	all, _ := s.winners()
	all = all[sort.Search(len(all), func(i int) bool { return all[i].Tool.Name > page.After }):]
	room := &repositories.Room{}
	for _, one := range all {
		if name != "" && one.Tool.Name != name {
			continue
		}
		shown := toolOf(one)
		if len(items) == page.Limit || !room.Takes(shown) {
			return items, items[len(items)-1].Name, nil
		}
		items = append(items, shown)
	}
	return items, "", nil
}

// SearchTools lists those of the tools that Tools lists which have something in common with
// a text, the nearest first: limit of them at most, 10 where that is 0, never more than 100,
// and no more than a page of a list has room for. The words decide, and no model is asked.
func (sc *Scopes) SearchTools(ctx context.Context, appID, sessionID, text string, limit int) ([]FoundTool, error) {
	searcher, searches := sc.matcher.(matcher.Searcher)
	if !searches {
		return nil, errors.New("the matcher of this engine compares no texts with tools")
	}
	s, err := sc.loadScope(ctx, appID, sessionID)
	if err != nil {
		return nil, err
	}
	if limit < 1 {
		limit = findsUsually
	}
	all, own := s.winners()
	request := matcher.Request{App: s.app, Candidates: all, Shared: s.tools.shared, Own: own}
	room, found := repositories.Room{}, []FoundTool{}
	for _, one := range searcher.Search(ctx, request, text, min(limit, findsAtMost)) {
		next := FoundTool{toolOf(one.Candidate), shownScore(one.Score)}
		if !room.Takes(next) {
			break
		}
		found = append(found, next)
	}
	return found, nil
}

// Catalog reads what is in scope now. It costs one round trip, whatever the number of tools,
// where the app was read before.
func (sc *Scopes) Catalog(ctx context.Context, appID, sessionID string) (*Catalog, error) {
	had := sc.apps.get(appID)
	fields, session, err := sc.ledger.Definitions(ctx, appID, sessionID, had.version)
	if err != nil {
		return nil, err
	}
	s, err := sc.scopeFrom(appID, had, fields, session)
	if err != nil {
		return nil, err
	}
	version := fields.Version
	if len(session.Repositories) > 0 {
		slices.Sort(session.Repositories)
		version = hash(append([]string{version}, session.Repositories...)...)
	}
	return &Catalog{s, version}, nil
}

// Offered lists the tools in scope that a user with these claims may set off, of each name the
// one that fires. Of more than settings.llm.mostTools it lists those that the text has
// something in common with. The catch-all is not among them: it is no tool for a model. The zone
// is where the session's user is; empty if nobody has said it.
func (sc *Scopes) Offered(ctx context.Context, appID, sessionID, text string, claims parameters.Claims) (found []matcher.Candidate, zone string, err error) {
	s, err := sc.loadScope(ctx, appID, sessionID)
	if err != nil {
		return nil, "", err
	}
	s.claims = repositories.NeededClaims(claims, s.ranked())
	reach, most := s.candidates(), cmp.Or(s.app.Settings.LLM.MostTools, offeredUsually)
	searcher, searches := sc.matcher.(matcher.Searcher)
	if len(reach.all) <= most || !searches {
		return reach.all[:min(len(reach.all), most)], s.zoneName(), nil
	}
	request := matcher.Request{App: s.app, Candidates: reach.all, Shared: s.tools.shared, Own: reach.own}
	for _, one := range searcher.Search(ctx, request, text, most) {
		found = append(found, one.Candidate)
	}
	return found, s.zoneName(), nil
}

// Open lists the calls of a session that lack values, as the next message finds them: those
// of tools that ask for a verified user as well. A session that does not exist has none.
func (sc *Scopes) Open(ctx context.Context, appID, sessionID string) ([]OpenCall, error) {
	id, had := ledger.Turn{App: appID, Session: sessionID}, sc.apps.get(appID)
	found, err := sc.ledger.Peek(ctx, id, 0, had.version)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, noApp(appID)
	}
	open := []OpenCall{}
	if found.Unfinished == "" {
		return open, nil
	}
	s, err := sc.scopeOf(id, had, found)
	if err != nil {
		return nil, err
	}
	all, _ := s.winners()
	for _, one := range conversation.Read(found.Unfinished, all, found.At) {
		open = append(open, OpenCall{RepositoryID: one.RepositoryID, Name: one.Name, Values: one.Values, Missing: one.Missing,
			Ask: one.Candidate.Tool.Params().Ask(one.Missing...)})
	}
	return open, nil
}
