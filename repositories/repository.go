package repositories

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/lists"
)

// ErrNotFound means that an app, a repository or another named thing does not exist.
var ErrNotFound = errors.New("not found")

// NotFoundError names a missing thing. It is ErrNotFound.
type NotFoundError struct {
	Kind, ID string
	Known    []string // existing ids of the kind, to propose the nearest
}

// Error names the missing thing, and how to create an app.
func (e *NotFoundError) Error() string {
	near := fault.DidYouMean(e.ID, e.Known).String()
	text := fmt.Sprintf("%s %q: not found%s", e.Kind, e.ID, near)
	switch {
	case e.Kind != "app":
		return text
	case near == "":
		text += ";"
	}
	return text + " PUT /v1/apps/" + e.ID + " makes it"
}

// Is makes it ErrNotFound.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// ErrErasing means that the session is being erased. A request repeated later begins it anew.
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
	From      string  `json:"from,omitempty"` // an mcp source of the app, whose server provides the tools
	Tools     []Tool  `json:"tools"`

	Created time.Time `json:"created,omitzero"`
	Updated time.Time `json:"updated,omitzero"`

	// Generation is random for each registration. A match of one generation does not fire in another, and
	// triggerOnce fires once in each. A PATCH keeps it.
	Generation string `json:"-"`
	Revision   string `json:"-"` // random for each write, also for a PATCH
}

// Options of a repository.
type Options struct {
	TriggerOnce bool `json:"triggerOnce"`
	Exclusive   bool `json:"exclusive"`
	Template    bool `json:"template,omitempty"`
}

// Scope returns the owner of the repository.
func (r *Repository) Scope() Scope { return Scope{AppID: r.AppID, SessionID: r.SessionID} }

// Rank orders repositories for slices.SortFunc: among tools with one name, the first is used. Exclusive
// repositories are first, then the oldest, so that an added tool never takes a name over.
func Rank(a, b *Repository) int {
	switch {
	case a.Options.Exclusive && !b.Options.Exclusive:
		return -1
	case b.Options.Exclusive && !a.Options.Exclusive:
		return 1
	}
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
}

// Tool returns the repository's tool with a name, or nil.
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
	Tools   []Tool   `json:"tools,omitempty"` // added; one with an existing name replaces that tool in its place

	merged []Tool // of the last Next
}

// Next returns the patched repository.
func (p *Patch) Next(current *Repository) (*Repository, error) {
	if current.From != "" && len(p.Tools) > 0 {
		return nil, ownTools(current.From, fault.Point("tools"))
	}
	next := current.Clone()
	if p.Options != nil {
		next.Options = *p.Options
	}
	for _, tool := range p.Tools {
		i := slices.IndexFunc(next.Tools, func(t Tool) bool { return t.Name == tool.Name })
		if i < 0 {
			next.Tools = append(next.Tools, tool)
		} else {
			next.Tools[i] = tool
		}
	}
	p.merged = next.Tools
	return next, nil
}

// Located returns the faults of the patched repository with their places in the patch. A fault of a stored tool has none
// there, and names the tool.
func (p *Patch) Located(err error) error {
	var faults fault.List
	if !errors.As(err, &faults) {
		return err
	}
	located := slices.Clone(faults)
	for i := range located {
		rest, _ := strings.CutPrefix(located[i].Pointer, "/tools/")
		index, rest, _ := strings.Cut(rest, "/")
		at, err := strconv.Atoi(index)
		if err != nil || at >= len(p.merged) {
			continue
		}
		name := p.merged[at].Name
		given := slices.IndexFunc(p.Tools, func(t Tool) bool { return t.Name == name })
		if given < 0 {
			located[i].Pointer, located[i].Detail = "", "the stored tool "+fault.Show(name)+", at /"+rest+": "+located[i].Detail
			continue
		}
		located[i].Pointer = strings.TrimSuffix(fault.Point("tools", given)+"/"+rest, "/")
	}
	return located
}

// Without returns the repository without a tool, in a new generation; ErrNotFound if it lacks the tool.
func (r *Repository) Without(tool string) (*Repository, error) {
	if r.From != "" {
		return nil, ownTools(r.From, "")
	}
	next := r.Clone()
	next.Tools = slices.DeleteFunc(next.Tools, func(t Tool) bool { return t.Name == tool })
	if len(next.Tools) == len(r.Tools) {
		names := lists.Map(r.Tools, func(one Tool) string { return one.Name })
		return nil, fmt.Errorf("repository %q: %w", r.ID, &NotFoundError{"tool", tool, names})
	}
	next.Generation = ""
	return next, nil
}

// ownTools is the fault of a change to a source's tools.
func ownTools(source, pointer string) fault.List {
	return fault.List{{Pointer: pointer, Detail: "is not for a repository whose tools are those of source " + fault.Show(source) +
		": which of them it has is said by allow of the source, and others stand in another repository, also a tool of type mcp with options of its own"}}
}

// Clone copies a repository down to its credentials. Deeper parts are immutable.
func (r *Repository) Clone() *Repository {
	next := *r
	next.Tools = slices.Clone(r.Tools)
	for i := range next.Tools {
		next.Tools[i].Request = next.Tools[i].Request.clone()
		next.Tools[i].Headers = maps.Clone(next.Tools[i].Headers)
	}
	return &next
}

// Clone copies an app down to its credentials.
func (a *App) Clone() *App {
	next := *a
	next.Modules = slices.Clone(a.Modules)
	next.Sources = slices.Clone(a.Sources)
	next.Settings.Webhooks = slices.Clone(a.Settings.Webhooks)
	for i := range next.Sources {
		source := &next.Sources[i]
		source.Headers, source.QueryParams = maps.Clone(source.Headers), maps.Clone(source.QueryParams)
		if source.Auth != nil {
			copied := (&Request{Basic: source.Auth.Basic, Bearer: source.Auth.Bearer}).clone()
			source.Auth = &SourceAuth{Basic: copied.Basic, Bearer: copied.Bearer, ModuleID: source.Auth.ModuleID}
		}
	}
	return &next
}

// maxPage is the maximum size of a page in bytes of JSON, and of a batch read from Redis.
const maxPage = 1 << 20

// pageFrame reserves bytes for the page's own fields, such as the cursor.
const pageFrame = 2 << 10

// PageBudget is the remaining space on a page of a list. The zero value is an empty page.
type PageBudget struct {
	used    int
	started bool
}

// Fits reports whether an item fits, and reserves its bytes. The first item always fits.
func (b *PageBudget) Fits(item any) bool {
	size := len(",")
	if exactjson.Use(item, func(text []byte) { size += len(text) }) != nil {
		return true // the caller that encodes it reports the error
	}
	if b.started && b.used+size > maxPage-pageFrame {
		return false
	}
	b.used, b.started = b.used+size, true
	return true
}

// Fitting returns how many items of these sizes make up a page, at least one.
func Fitting(sizes []int64) int {
	total := int64(0)
	for i, size := range sizes {
		if total += size; total > maxPage && i > 0 {
			return i
		}
	}
	return len(sizes)
}

// Session is one conversation of an app. It begins with its first use; a PUT is optional.
type Session struct {
	AppID string `json:"appId"`
	ID    string `json:"sessionId"`
	// User is the session's user by the app's word. It stays the same until all of the session's data is gone.
	User string `json:"user,omitempty"`
	// Language (BCP 47) and TimeZone (IANA) are the user's; empty for the app's.
	Language     string   `json:"language,omitempty"`
	TimeZone     string   `json:"timeZone,omitempty"`
	Metadata     Metadata `json:"metadata,omitempty"`
	ExpiresIn    Duration `json:"expiresIn,omitzero"`     // from Created on, used or not; 0 for as long as it is used
	Repositories []string `json:"repositories,omitempty"` // templates of the app that were copied into it

	Created     time.Time `json:"created,omitzero"`
	LastMessage time.Time `json:"lastMessage,omitzero"`
	ExpiresAt   time.Time `json:"expiresAt,omitzero"` // if it has ExpiresIn

	// LastActive is the last use, by a message or otherwise; set only in lists by activity.
	LastActive time.Time `json:"lastActive,omitzero"`

	// Outcomes are those of its messages, as letters like keyspace.OutcomeFired, the last one first.
	Outcomes string `json:"-"`
	// Fired reports whether the session has triggers.
	Fired bool `json:"-"`
	// Unfinished reports whether it may have calls that lack values, begun by messages or agents.
	Unfinished bool `json:"-"`
}

// LastUse returns the last known use: LastActive if it was read, else the last message, else the beginning.
func (s *Session) LastUse() time.Time { return cmp.Or(s.LastActive, s.LastMessage, s.Created) }

// UserError means that a session belongs to another user than the named one.
type UserError struct{ SessionID, User string }

// Error does not reveal the session's user.
func (e *UserError) Error() string {
	return fmt.Sprintf("session %q belongs to another user than %q, and keeps its user until it is erased: use another session", e.SessionID, e.User)
}

// Metadata is a JSON object that a client attaches. Earshot keeps it, returns it and puts it into events.
type Metadata json.RawMessage

// MaxMetadata is the maximum length of metadata, in bytes of compact JSON.
const MaxMetadata = 2 << 10

// MarshalJSON writes the object as it is.
func (m Metadata) MarshalJSON() ([]byte, error) { return json.RawMessage(m).MarshalJSON() }

// UnmarshalJSON reads a JSON object, or null for none, in compact form.
func (m *Metadata) UnmarshalJSON(text []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	if len(fields) == 0 {
		*m = nil
		return nil
	}
	compact, err := exactjson.Encode(fields)
	*m = Metadata(compact)
	return err
}

// Text returns a member as text: a string as is, another value as JSON; false without the member.
func (m Metadata) Text(name string) (string, bool) {
	var members map[string]json.RawMessage
	if len(m) == 0 || json.Unmarshal(m, &members) != nil {
		return "", false
	}
	value, ok := members[name]
	var text string
	if json.Unmarshal(value, &text) != nil || string(value) == "null" {
		text = string(value)
	}
	return text, ok
}

// Over merges the metadata over farther. In common fields, m takes precedence.
func (m Metadata) Over(farther Metadata) Metadata {
	switch {
	case len(m) == 0:
		return farther
	case len(farther) == 0:
		return m
	}
	var whole, nearer map[string]json.RawMessage
	if json.Unmarshal(farther, &whole) != nil || json.Unmarshal(m, &nearer) != nil {
		return m // not written by UnmarshalJSON
	}
	maps.Copy(whole, nearer)
	text, err := exactjson.Encode(whole)
	if err != nil {
		return m
	}
	return text
}

// CheckMetadata returns an error if metadata exceeds MaxMetadata.
func CheckMetadata(m Metadata) error {
	if len(m) > MaxMetadata {
		return fmt.Errorf("has %d bytes as compact JSON; the limit is %d", len(m), MaxMetadata)
	}
	return nil
}
