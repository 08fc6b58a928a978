package repositories

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"earshot/repositories/fault"
)

// ErrNotFound means that there is no such app or repository.
var ErrNotFound = errors.New("not found")

// ErrErasing means that all of the session is being removed: what is sent again in a moment
// begins it anew.
var ErrErasing = errors.New("the session is being erased")

// Scope is the owner of a repository: an app, or one of its sessions.
type Scope struct {
	AppID     string
	SessionID string // empty for the app's own
}

// Repository is a named group of tools with options, which an app or a session registers.
type Repository struct {
	AppID     string  `json:"appId"`
	SessionID string  `json:"sessionId,omitempty"`
	ID        string  `json:"repositoryId"`
	Options   Options `json:"options"`
	// From names the mcp source of the app whose server has the tools; empty where whoever
	// puts the repository gives them.
	From  string `json:"from,omitempty"`
	Tools []Tool `json:"tools"`

	Created time.Time `json:"created,omitzero"`
	Updated time.Time `json:"updated,omitzero"`

	// Generation is random for each registration: a match made in one generation does not
	// fire in another, and a triggerOnce repository fires once in each. A PATCH of an
	// existing repository keeps it.
	Generation string `json:"-"`
	// Revision is random for each write, also for a PATCH.
	Revision string `json:"-"`
}

// Options of a repository.
type Options struct {
	// TriggerOnce removes the repository when the first of its tools fires.
	TriggerOnce bool `json:"triggerOnce"`
	// Exclusive makes its tools win over all others, and suppresses replies.
	Exclusive bool `json:"exclusive"`
	// Template keeps a repository of an app out of every scope: sessions get copies of it.
	Template bool `json:"template,omitempty"`
}

// Scope returns the owner of the repository.
func (r *Repository) Scope() Scope { return Scope{AppID: r.AppID, SessionID: r.SessionID} }

// Rank orders the repositories of an app, or of a session, for slices.SortFunc: where several
// have a tool of one name, that of the first holds. Exclusive ones come before others, then
// whichever was created first, however often it was replaced since, so that nothing that is
// added takes a name away.
func Rank(a, b *Repository) int {
	return cmp.Or(trueFirst(a.Options.Exclusive, b.Options.Exclusive), a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
}

func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

// Tool returns the repository's tool of that name, or nil.
func (r *Repository) Tool(name string) *Tool {
	for i := range r.Tools {
		if r.Tools[i].Name == name {
			return &r.Tools[i]
		}
	}
	return nil
}

// Patch is a change to a repository: tools to add or override, and options.
type Patch struct {
	// Options replace the repository's options as a whole; nil leaves them.
	Options *Options `json:"options,omitempty"`
	// Tools are added; one whose name is there overrides the tool of that name in
	// its place.
	Tools []Tool `json:"tools,omitempty"`
}

// Apply changes the repository. It does not touch the array behind to.Tools, which
// others may be reading.
func (p *Patch) Apply(to *Repository) {
	if p.Options != nil {
		to.Options = *p.Options
	}
	tools := slices.Clone(to.Tools)
	for _, tool := range p.Tools {
		i := slices.IndexFunc(tools, func(t Tool) bool { return t.Name == tool.Name })
		if i < 0 {
			tools = append(tools, tool)
		} else {
			tools[i] = tool
		}
	}
	to.Tools = tools
}

// Next returns the repository as the patch makes it.
func (p *Patch) Next(there *Repository) (*Repository, error) {
	if there.From != "" && len(p.Tools) > 0 {
		return nil, ownTools(there.From, fault.Point("tools"))
	}
	next := there.Clone()
	p.Apply(next)
	return next, nil
}

// Without returns the repository without a tool, or ErrNotFound if there is none of that
// name. It is of another generation: what was matched before does not fire the tool.
func (r *Repository) Without(tool string) (*Repository, error) {
	if r.From != "" {
		return nil, ownTools(r.From, "")
	}
	next := r.Clone()
	next.Tools = slices.DeleteFunc(next.Tools, func(t Tool) bool { return t.Name == tool })
	if len(next.Tools) == len(r.Tools) {
		return nil, fmt.Errorf("tool %q of repository %q: %w", tool, r.ID, ErrNotFound)
	}
	next.Generation = ""
	return next, nil
}

// Clone copies a repository down to its credentials, so that the copy can be given other
// ones. Anything below them is never changed and stays shared.
func (r *Repository) Clone() *Repository {
	next := *r
	next.Tools = slices.Clone(r.Tools)
	for i := range next.Tools {
		next.Tools[i].Request = next.Tools[i].Request.clone()
		next.Tools[i].Headers = maps.Clone(next.Tools[i].Headers)
	}
	return &next
}

func (r *Request) clone() *Request {
	if r == nil {
		return nil
	}
	next := *r
	next.Headers = maps.Clone(r.Headers)
	if r.Basic != nil {
		basic := *r.Basic
		next.Basic = &basic
	}
	if r.Bearer != nil {
		bearer := *r.Bearer
		next.Bearer = &bearer
	}
	return &next
}

// Clone copies an app down to its credentials.
func (a *App) Clone() *App {
	next := *a
	next.Modules = slices.Clone(a.Modules)
	next.Sources = slices.Clone(a.Sources)
	for i := range next.Sources {
		source := &next.Sources[i]
		source.Headers, source.QueryParams, source.Auth = maps.Clone(source.Headers), maps.Clone(source.QueryParams), source.Auth.clone()
	}
	return &next
}

// MaxID is how long an id may be, in characters.
const MaxID = 128

var (
	idPattern   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`)
	namePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
)

// IsID reports whether a text is an id.
func IsID(text string) bool { return idPattern.MatchString(text) }

// CheckID returns an error that names field where id is not the id of an app, a
// session, a repository, a module or a trigger. An id is also a subject token of
// NATS and part of a key of Redis, hence the narrow alphabet.
func CheckID(field, id string) error {
	if IsID(id) {
		return nil
	}
	return fmt.Errorf("%s %q is not an id: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit", field, fault.Clip(id))
}

// CheckToolName returns an error if name is not a valid name of a tool.
func CheckToolName(name string) error {
	if namePattern.MatchString(name) {
		return nil
	}
	return fmt.Errorf("name %q is no tool name: 1 to 64 of A-Z a-z 0-9 _ -", fault.Clip(name))
}
