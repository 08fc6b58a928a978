package scope

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sort"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/locale"
	"earshot/repositories/panics"
	"earshot/repositories/parameters"
	"earshot/repositories/store"
	"earshot/trigger/conversation"
	"earshot/trigger/examples"
	"earshot/trigger/explain"
	"earshot/trigger/ledger"
)

// Options are the dependencies of a Reader; all but Words are required.
type Options struct {
	Ledger  *ledger.Ledger
	Store   *store.Store
	Packer  *explain.Packer
	Matcher matcher.Matcher
	// Words is the Matcher if it asks no model: it tries examples of tools when they are written.
	Words matcher.Matcher
	Log   *slog.Logger
	Now   func() time.Time
}

// Reader reads the tools in scope, lists and searches them. It is safe for concurrent use.
type Reader struct {
	Options
	// states has the last state of each app. The script that accepts a message checks their versions, so that no replica
	// decides by an old state.
	states *lru.Cache[string, *State]
}

const cachedApps = 1024

// NewReader returns a Reader.
func NewReader(o Options) *Reader {
	states, _ := lru.New[string, *State](cachedApps) // fails for a size of 0 only
	return &Reader{o, states}
}

// CachedState returns the cached state of an app, or an empty one.
func (r *Reader) CachedState(appID string) *State {
	if state, hit := r.states.Get(appID); hit {
		return state
	}
	return &State{}
}

// CachedScope returns the scope of a session without tools of its own and without a profile, from the cached state of
// the app; false if there is none.
func (r *Reader) CachedScope(appID string) (Scope, bool) {
	state, hit := r.states.Get(appID)
	return Scope{State: state, Profile: noProfile}, hit
}

// Read reads the current scope.
//
// Errors: repositories.ErrNotFound without the app, keyspace.ErrUnavailable.
func (r *Reader) Read(ctx context.Context, appID, sessionID string) (Scope, error) {
	s, _, err := r.read(ctx, appID, sessionID)
	return s, err
}

// read reads the current scope, with what the ledger stores of the session.
func (r *Reader) read(ctx context.Context, appID, sessionID string) (Scope, ledger.SessionFields, error) {
	cached := r.CachedState(appID)
	app, session, err := r.Ledger.Definitions(ctx, appID, sessionID, cached.Version)
	if err != nil {
		return Scope{}, session, err
	}
	s, err := r.Build(appID, cached, app, session)
	return s, session, err
}

// Build returns the scope of fields that a caller has read, with its cached state of the app.
func (r *Reader) Build(appID string, cached *State, app ledger.AppFields, session ledger.SessionFields) (Scope, error) {
	if app.Version == "" {
		return Scope{}, ledger.AppNotFound(appID)
	}
	s := Scope{State: cached, Profile: noProfile}
	if latest := r.CachedState(appID); app.Record != "" && latest.Version == app.Version {
		s.State = latest // with its compiled tools
	} else if app.Record != "" {
		loaded, err := r.Store.LoadApp(appID, app.Revision, app.Record)
		if err != nil {
			return Scope{}, err
		}
		list, err := r.load(appID, app.Repositories)
		if err != nil {
			return Scope{}, err
		}
		state := newState(app.Version, loaded, list)
		state.Facts = sync.OnceValue(func() *explain.AppFacts { return r.Packer.FactsOf(loaded, state.Repositories) })
		r.states.Add(appID, state)
		s.State = state
	}
	var err error
	if s.Session, err = r.load(appID, session.Repositories); err != nil {
		return Scope{}, err
	}
	slices.SortStableFunc(s.Session, repositories.Rank)
	s.Profile, err = ReadProfile(session.Record)
	return s, err
}

func (r *Reader) load(appID string, stored []string) ([]*repositories.Repository, error) {
	var list []*repositories.Repository
	for _, text := range stored {
		repository, err := r.Store.Load(appID, text)
		if err != nil {
			return nil, err
		}
		list = append(list, repository)
	}
	return list, nil
}

// ReadProfile decodes a profile as the ledger stores it.
func ReadProfile(text string) (*Profile, error) {
	if text == "" {
		return noProfile, nil
	}
	profile := &Profile{Text: text}
	return profile, exactjson.Unmarshal([]byte(text), &profile.Session)
}

// Tool is a tool in scope as a model sees it.
type Tool struct {
	RepositoryID string `json:"repositoryId"`
	Name         string `json:"name"`
	Description  string `json:"description"`
	// InputSchema is a JSON Schema 2020-12 of the values that a caller may give, whatever the language of the
	// parameters' definition.
	InputSchema json.RawMessage `json:"inputSchema"`
}

func newTool(c matcher.Candidate) Tool {
	return Tool{c.Repository.ID, c.Tool.Name, c.Tool.Shown(), c.Tool.Params().ModelSchema()}
}

// Tools lists the tools in scope of an app or, with a session, of the session: for each name the one that
// fires, including those that need a verified user. They are sorted by name and begin after the name after;
// next is the cursor of the next page. A name selects its tool.
func (r *Reader) Tools(ctx context.Context, appID, sessionID, name, after string, limit int) (items []Tool, next string, err error) {
	s, err := r.Read(ctx, appID, sessionID)
	if err != nil {
		return nil, "", err
	}
	all, _ := s.Winners()
	page := &repositories.PageBudget{}
	for _, candidate := range all[sort.Search(len(all), func(i int) bool { return all[i].Tool.Name > after }):] {
		if name != "" && candidate.Tool.Name != name {
			continue
		}
		tool := newTool(candidate)
		if len(items) == limit || !page.Fits(tool) {
			return items, items[len(items)-1].Name, nil
		}
		items = append(items, tool)
	}
	return items, "", nil
}

// FoundTool is a tool in scope found by a search.
type FoundTool struct {
	Tool
	// Score is how near the text's words are to the tool: above 0, and at most 1.3. It only orders the tools of
	// one answer.
	Score float64 `json:"score"`
	// Candidate is the tool itself.
	Candidate matcher.Candidate `json:"-"`
}

// Number of tools that a search finds by default, and at most.
const (
	defaultResults = 10
	mostResults    = 100
)

// SearchTools lists the tools in scope that have something in common with a text, as Catalog.Search does.
func (r *Reader) SearchTools(ctx context.Context, appID, sessionID, text string, limit int) ([]FoundTool, error) {
	catalog, err := r.Catalog(ctx, appID, sessionID)
	if err != nil {
		return nil, err
	}
	return catalog.Search(ctx, "", text, limit)
}

// defaultOffered is the number of tools offered to a model, unless the app sets it.
const defaultOffered = 64

// Offered lists the tools in scope that a user with these claims may call, for each name the one that fires,
// without the catch-all. If there are more than most, or than settings.llm.mostTools, it lists the nearest to the first
// text, then to the next ones, then any others: a word such as yes is near to no tool. The zone is that of the session's user;
// empty if unknown.
func (r *Reader) Offered(ctx context.Context, appID, sessionID string, texts []string, most int, claims parameters.Claims) (offered []matcher.Candidate, zone string, err error) {
	s, err := r.Read(ctx, appID, sessionID)
	if err != nil {
		return nil, "", err
	}
	s.Claims = repositories.NeededClaims(claims, s.Ranked())
	in := s.Candidates()
	most = min(most, cmp.Or(s.App.Settings.LLM.MostTools, defaultOffered))
	searcher, canSearch := r.Matcher.(matcher.Searcher)
	if most <= 0 || len(in.All) <= most || !canSearch {
		return in.All[:max(0, min(len(in.All), most))], s.ZoneName(), nil
	}
	request := matcher.Request{App: s.App, Candidates: in.All, Shared: s.Shared, Own: in.Own}
	isOffered := map[string]bool{}
	add := func(candidate matcher.Candidate) {
		if name := candidate.Tool.Name; len(offered) < most && !isOffered[name] {
			isOffered[name], offered = true, append(offered, candidate)
		}
	}
	for _, text := range texts {
		if len(offered) == most {
			break
		}
		for _, candidate := range searcher.Search(ctx, request, text, most) {
			add(candidate.Candidate)
		}
	}
	for _, candidate := range in.All {
		add(candidate)
	}
	return offered, s.ZoneName(), nil
}

// Catalog is the tools in scope of a program at one instant: those of an app or, with a session, of the
// session.
type Catalog struct {
	scope   Scope
	version string
	matcher matcher.Matcher
}

// Catalog reads the current scope. If the app was read before, it costs one round trip, whatever the number of
// tools.
func (r *Reader) Catalog(ctx context.Context, appID, sessionID string) (*Catalog, error) {
	s, session, err := r.read(ctx, appID, sessionID)
	if err != nil {
		return nil, err
	}
	version := s.Version
	if len(session.Repositories) > 0 {
		version = ledger.Hash(append([]string{version}, slices.Sorted(slices.Values(session.Repositories))...)...)
	}
	return &Catalog{s, version, r.Matcher}, nil
}

// Version returns a version that changes with the tools; two scopes of an app with the same tools share it.
func (c *Catalog) Version() string { return c.version }

// App returns the app of the tools.
func (c *Catalog) App() *repositories.App { return c.scope.App }

// Tools lists the tools that win their names for any user, sorted by name. A repository selects all its own.
func (c *Catalog) Tools(repositoryID string) []matcher.Candidate {
	if repositoryID == "" {
		all, _ := c.scope.Winners()
		return all
	}
	var candidates []matcher.Candidate
	for _, repository := range c.scope.Ranked() {
		if repository.ID != repositoryID {
			continue
		}
		for i := range repository.Tools {
			candidates = append(candidates, matcher.Candidate{Repository: repository, Tool: &repository.Tools[i]})
		}
		break // a session's repository hides the app's of the same name
	}
	slices.SortFunc(candidates, compareNames)
	return candidates
}

// Find returns the tool of a name, in the repository if it is given.
func (c *Catalog) Find(name, repositoryID string) (matcher.Candidate, bool) {
	return c.scope.Find(name, repositoryID)
}

// Search lists the tools that have something in common with a text, nearest first: at most limit, 10 if it is 0, never
// more than 100 or than fit on a page. It compares words and asks no model. A repository selects all its own, also those
// that do not win their names.
func (c *Catalog) Search(ctx context.Context, repositoryID, text string, limit int) ([]FoundTool, error) {
	searcher, canSearch := c.matcher.(matcher.Searcher)
	if !canSearch {
		return nil, errors.New("the matcher of this engine compares no texts with tools")
	}
	if limit < 1 {
		limit = defaultResults
	}
	request := matcher.Request{App: c.scope.App}
	if repositoryID != "" {
		request.Candidates = c.Tools(repositoryID)
	} else {
		request.Shared = c.scope.Shared
		request.Candidates, request.Own = c.scope.Winners()
	}
	page, tools := repositories.PageBudget{}, []FoundTool{}
	for _, match := range searcher.Search(ctx, request, text, min(limit, mostResults)) {
		score := max(1, math.Round(float64(match.Score)*1e6)) / 1e6 // further digits are meaningless
		next := FoundTool{newTool(match.Candidate), score, match.Candidate}
		if !page.Fits(next) {
			break
		}
		tools = append(tools, next)
	}
	return tools, nil
}

// States of an OpenCall that other lists lack.
const (
	OpenAsking   = "asking"
	OpenSettling = "settling"
)

// OpenCall is an open item of a session: a call begun by messages or an agent that lacks values and has no
// trigger yet (an agent's has the id of its task), or a trigger that is confirming, settling, or pending while
// it waits for an answer.
type OpenCall struct {
	TriggerID    string         `json:"triggerId,omitempty"`
	State        string         `json:"state"`
	Question     string         `json:"question,omitempty"` // for the user
	Digest       string         `json:"digest,omitempty"`
	ExpiresAt    *time.Time     `json:"expiresAt,omitempty"`    // end of the wait
	RepositoryID string         `json:"repositoryId,omitempty"` // empty if an agent named none, and its tool is gone
	Name         string         `json:"name"`
	Values       map[string]any `json:"values"`  // the valid ones
	Missing      []string       `json:"missing"` // names of the others
	// Ask is the tool's question for the first missing value, if it has one.
	Ask string `json:"ask,omitempty"`
}

// Open lists the calls of a session that lack values, as the next message finds them, including those of tools
// that need a verified user. A missing session has none.
func (r *Reader) Open(ctx context.Context, appID, sessionID string) ([]OpenCall, error) {
	cached := r.CachedState(appID)
	session, err := r.Ledger.Peek(ctx, ledger.Turn{App: appID, Session: sessionID}, 0, cached.Version)
	if err != nil {
		return nil, err
	}
	if session == nil {
		return nil, ledger.AppNotFound(appID)
	}
	open := []OpenCall{}
	if session.Unfinished == "" {
		return open, nil
	}
	s, err := r.Build(appID, cached, session.App, session.Own)
	if err != nil {
		return nil, err
	}
	all, _ := s.Winners()
	for _, call := range conversation.Read(session.Unfinished, all, session.At) {
		question := call.Candidate.Tool.Params().Ask(call.Missing...)
		open = append(open, OpenCall{
			State: OpenAsking, RepositoryID: call.RepositoryID, Name: call.Name, Values: call.Values, Missing: call.Missing,
			Question: question, Ask: question,
		})
	}
	return open, nil
}

// Bounds of the examples tried during a write of a repository. Preparing the comparison also serves the next
// message; with more than mostTools that alone takes too long.
const (
	mostTools             = 2000
	mostExamples          = 1000
	mostExamplesOfSession = 100 // sessions write often, and mostly the same
	examplesTimeout       = 250 * time.Millisecond
	untriedNote           = "%d examples were not tried, as that takes long: earshot eval --examples tries all of them"
	tooManyToolsNote      = "examples are not tried among %d tools, as that takes long: earshot eval --examples does"
)

// Examples returns notes on a written repository, by the tools in scope now: which of its examples do not fire their own
// tool, and which examples of other repositories it fires instead. It returns none if a model decides, or on read errors.
func (r *Reader) Examples(ctx context.Context, owner repositories.Scope, repositoryID string) (notes []string) {
	if r.Words == nil {
		return nil
	}
	panics.Run(r.Log, "http", "examples of "+owner.AppID+"/"+repositoryID, func() {
		s, err := r.Read(ctx, owner.AppID, owner.SessionID)
		if err != nil {
			return
		}
		for _, written := range s.Ranked() {
			if written.ID == repositoryID && written.SessionID == owner.SessionID {
				notes = r.tryExamples(ctx, s, written)
			}
		}
	})
	return notes
}

func (r *Reader) tryExamples(ctx context.Context, s Scope, written *repositories.Repository) []string {
	all, own := s.Winners()
	if i, has := (matcher.Request{Candidates: all}).Place(repositories.CatchAll); has { // it takes only unmatched messages
		all = slices.Delete(slices.Clone(all), i, i+1)
		own = slices.DeleteFunc(own, func(c matcher.Candidate) bool { return c.Tool.Name == repositories.CatchAll })
	}
	if len(all) > mostTools {
		return []string{fmt.Sprintf(tooManyToolsNote, len(all))}
	}
	ctx, cancel := context.WithTimeout(ctx, examplesTimeout)
	defer cancel()
	stage := &examples.Stage{Matcher: r.Words, Most: mostExamples, Request: matcher.Request{
		App: s.App, Candidates: all, Shared: s.Shared, Own: own,
		Now: r.Now().In(locale.Zone(s.ZoneName(), r.Now().Location())), Language: s.App.Settings.Language,
	}}
	if written.SessionID != "" {
		stage.Most = mostExamplesOfSession
	}
	notes := written.InWords(stage.Faults(ctx, written))
	skipped := stage.Untried
	notes = append(notes, stage.TakenFromOthers(ctx, written)...)
	if skipped > 0 {
		notes = append(notes, fmt.Sprintf(untriedNote, skipped))
	}
	return notes
}
