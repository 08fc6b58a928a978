package trigger

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/parameters"
	"earshot/repositories/store"
	"earshot/trigger/explain"
	"earshot/trigger/ledger"
)

// Scopes are the tools that an app or a session has, and what can be found among them.
type Scopes struct {
	*core
	matcher matcher.Matcher
	words   matcher.Matcher // nil: examples are not said
	apps    appCache
}

// scope is the set of repositories whose tools can be fired: the app's and, in a session,
// also the session's.
type scope struct {
	*appState
	session []*repositories.Repository
	// put is what was put of the session.
	put *putSession
	// claims are the verified claims of the user who asks.
	claims parameters.Claims
}

// zoneName is where the session's user is, as far as anybody has said it.
func (s scope) zoneName() string { return cmp.Or(s.put.TimeZone, s.app.Settings.TimeZone) }

// loadScope reads what is in scope now.
func (sc *Scopes) loadScope(ctx context.Context, appID, sessionID string) (scope, error) {
	had := sc.apps.get(appID)
	fields, session, err := sc.ledger.Definitions(ctx, appID, sessionID, had.version)
	if err != nil {
		return scope{}, err
	}
	return sc.scopeFrom(appID, had, fields, session)
}

// scopeFrom is the scope of an app and a session whose fields were read by someone who had that
// state of the app.
func (sc *Scopes) scopeFrom(appID string, had *appState, fields ledger.AppFields, session ledger.SessionFields) (scope, error) {
	if fields.Version == "" {
		return scope{}, noApp(appID)
	}
	state, err := sc.apps.load(sc.store, appID, had, fields)
	if err != nil {
		return scope{}, err
	}
	return sc.scopeWith(state, appID, session)
}

// scopeWith is the scope of a session whose fields were read.
func (sc *Scopes) scopeWith(of *appState, appID string, fields ledger.SessionFields) (scope, error) {
	own, err := loadAll(sc.store, appID, fields.Repositories)
	if err != nil {
		return scope{}, err
	}
	put, err := readPut(fields.Record)
	return scope{appState: of, session: own, put: put}, err
}

// putSession is what a client has said of a session in advance.
type putSession struct {
	repositories.Session
	text string // as the ledger has it
}

// unput is a session of which nothing was said.
var unput = &putSession{}

func readPut(text string) (*putSession, error) {
	if text == "" {
		return unput, nil
	}
	put := &putSession{text: text}
	return put, decode(text, &put.Session)
}

func noApp(appID string) error { return fmt.Errorf("app %q: %w", appID, repositories.ErrNotFound) }

// ranked lists the repositories in the order in which they win a name: the session's
// before the app's, and those of each in their rank.
func (s scope) ranked() []*repositories.Repository {
	return slices.Concat(s.rankedSession(), s.repositories)
}

func (s scope) rankedSession() []*repositories.Repository {
	if len(s.session) == 0 {
		return nil
	}
	return inRank(slices.Clone(s.session))
}

// inRank sorts the repositories of an app, or of a session.
func inRank(list []*repositories.Repository) []*repositories.Repository {
	slices.SortFunc(list, repositories.Rank)
	return list
}

// find returns the tool that a program names, in the repository that it names or in
// the one that wins the name.
func (s scope) find(name, repositoryID string) (matcher.Candidate, bool) {
	in := s.rankedSession()
	if repositoryID != "" {
		in = s.ranked()
	}
	for _, repository := range in {
		if repositoryID != "" && repository.ID != repositoryID {
			continue
		}
		if tool := repository.Tool(name); tool != nil {
			return matcher.Candidate{Repository: repository, Tool: tool}, true
		}
	}
	if repositoryID != "" {
		return matcher.Candidate{}, false
	}
	return s.tools.winner(name)
}

// chats reports whether a message may get a reply of the model.
func (s scope) chats() bool { return s.app.Settings.ChatModeEnabled && !s.exclusive() }

// exclusive reports whether a non-empty exclusive repository is in scope.
func (s scope) exclusive() bool {
	return s.tools.exclusive || slices.ContainsFunc(s.session, isExclusive)
}

// appCache keeps apps with their compiled repositories, by a version that every change of
// the app or of its repositories renews. The version is compared in the script that accepts
// a message, so that no replica ever decides by an old one.
type appCache struct {
	states *lru.Cache[string, *appState]
	packer *explain.Packer
}

type appState struct {
	version      string
	app          *repositories.App
	repositories []*repositories.Repository // in the order in which they win a name
	tools        *appTools
	// facts are what explanations need of it; nil before it is loaded.
	facts func() *explain.AppFacts
}

const cachedApps = 1024

func newAppCache(packer *explain.Packer) appCache {
	states, _ := lru.New[string, *appState](cachedApps) // fails for a size of 0 only
	return appCache{states: states, packer: packer}
}

// get returns the cached state of an app, or an empty state.
func (c appCache) get(appID string) *appState {
	if state, hit := c.states.Get(appID); hit {
		return state
	}
	return &appState{}
}

// load returns the state of those fields, and keeps it. Without a record, the state that
// the caller had is current, as the script has found by its version.
func (c appCache) load(store *store.Store, appID string, had *appState, fields ledger.AppFields) (*appState, error) {
	if fields.Record == "" {
		return had, nil
	}
	if known, hit := c.states.Get(appID); hit && known.version == fields.Version {
		return known, nil // with all that has been compiled of it
	}
	app, err := store.LoadApp(appID, fields.Revision, fields.Record)
	if err != nil {
		return nil, err
	}
	own, err := loadAll(store, appID, fields.Repositories)
	if err != nil {
		return nil, err
	}
	own = slices.DeleteFunc(own, func(r *repositories.Repository) bool { return r.Options.Template })
	state := &appState{version: fields.Version, app: app, repositories: inRank(own)}
	state.tools = newAppTools(state.repositories)
	state.facts = sync.OnceValue(func() *explain.AppFacts { return c.packer.FactsOf(app, state.repositories) })
	c.states.Add(appID, state)
	return state, nil
}

func loadAll(store *store.Store, appID string, stored []string) ([]*repositories.Repository, error) {
	list := make([]*repositories.Repository, len(stored))
	for i, text := range stored {
		repository, err := store.Load(appID, text)
		if err != nil {
			return nil, err
		}
		list[i] = repository
	}
	return list, nil
}

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

// Tool is a tool in scope as a model sees it.
type Tool struct {
	RepositoryID string `json:"repositoryId"`
	Name         string `json:"name"`
	Description  string `json:"description"`
	// InputSchema is a JSON Schema 2020-12 of the values that a caller may give, whichever
	// language the parameters were given in.
	InputSchema json.RawMessage `json:"inputSchema"`
}

func toolOf(c matcher.Candidate) Tool {
	return Tool{c.Repository.ID, c.Tool.Name, c.Tool.Shown(), c.Tool.Params().ModelSchema()}
}

// winners are the tools that win their names, whoever asks, sorted by name, and which of
// them are not among the shared ones: the session's, and one that catches all.
func (s scope) winners() (all, own []matcher.Candidate) {
	added := map[string]matcher.Candidate{}
	for _, repository := range s.rankedSession() {
		for i := range repository.Tools {
			tool := &repository.Tools[i]
			if _, taken := added[tool.Name]; !taken {
				added[tool.Name] = matcher.Candidate{Repository: repository, Tool: tool}
			}
		}
	}
	if _, taken := added[repositories.CatchAll]; !taken && len(s.tools.catchAlls) > 0 {
		added[repositories.CatchAll] = s.tools.catchAlls[0]
	}
	own = sorted(added)
	return overlaid(s.tools.shared.Tools, own), own
}

// needed returns those of a message's claims that tools in scope ask for, with what is wrong
// with its tokens, and none for messages that fire nothing. It costs a round trip, only for
// messages with a token.
func (sc *Scopes) needed(ctx context.Context, m Message) (claims parameters.Claims, auth map[string]string, err error) {
	if m.Actor == matcher.ActorAgent {
		return nil, nil, nil
	}
	if len(m.Claims) == 0 {
		return nil, m.Auth, nil
	}
	s, err := sc.loadScope(ctx, m.AppID, m.SessionID)
	if err != nil {
		return nil, nil, err
	}
	in := s.ranked()
	return repositories.NeededClaims(m.Claims, in), m.authIn(in), nil
}

// scopeOf is what was read to be in scope.
func (sc *Scopes) scopeOf(id ledger.Turn, had *appState, found *ledger.TakenTurn) (scope, error) {
	own, err := sc.apps.load(sc.store, id.App, had, found.App)
	if err != nil {
		return scope{}, err
	}
	return sc.scopeWith(own, id.App, found.Own)
}
