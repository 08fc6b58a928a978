package console

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"earshot/repositories/annotations"
	"earshot/repositories/fault"
	"earshot/repositories/lists"
	"earshot/repositories/plaintext"
	"earshot/trigger/query"
	"earshot/trigger/scope"
)

// toolsBody is the body of the page Tools: the repositories of the app, and of a session if one is named.
type toolsBody struct {
	Session, Search string
	Trees           []tree
	Host            string
}

type tree struct {
	Session      string // empty for the app
	Repositories []branch
	Next         string // the next page
}

// branch is a repository with those of its tools that match the search.
type branch struct {
	repository
	Found           []leaf
	More            int // tools that are not listed
	Fired, Rejected int // times in the last 24 hours, of those that are listed
}

// maxUnfolded is how many tools of a repository are visible by default.
const maxUnfolded = 12

// Unfolded reports whether the tools are visible.
func (b branch) Unfolded(search string) bool { return search != "" || b.Count() <= maxUnfolded }

// Count returns how many tools matched.
func (b branch) Count() int { return len(b.Found) + b.More }

type leaf struct {
	Name, Description string
	Examples          []string
	Used              *query.ToolUse // in the last 24 hours; nil for never
}

// maxLeaves is how many tools of a repository this page lists.
const maxLeaves = 40

func toolsPage(v *pageRequest) error {
	asked := v.r.URL.Query()
	if id := asked.Get("open"); id != "" {
		return v.redirect(repositoryLink(v.app(), asked.Get("session"), id))
	}
	shown := toolsBody{Session: asked.Get("session"), Search: strings.TrimSpace(asked.Get("q")), Host: v.r.Host}
	used := map[string]*query.ToolUse{} // in the last 24 hours, by tool name
	uses, err := every[query.ToolUse](v, v1("apps", v.app(), "tools", "usage"))
	if err != nil {
		return err
	}
	for i := range uses {
		used[uses[i].Name] = &uses[i]
	}
	sessions := []string{""}
	if shown.Session != "" {
		sessions = []string{shown.Session, ""}
	}
	for _, session := range sessions {
		path := owner(v.app(), session) + "/repositories?limit=100"
		if after := asked.Get("after"); after != "" && session == "" {
			path += "&after=" + url.QueryEscape(after)
		}
		var found list[repository]
		if err := v.get(path, &found); err != nil {
			return err
		}
		grown := tree{Session: session, Next: found.Next}
		for _, one := range found.Items {
			if b := one.branch(shown.Search, used); shown.Search == "" || len(b.Found) > 0 {
				grown.Repositories = append(grown.Repositories, b)
			}
		}
		shown.Trees = append(shown.Trees, grown)
	}
	return v.render("tools", "Tools", shown)
}

// branch lists the tools whose name, description or examples contain the search text, ignoring case.
func (r repository) branch(search string, used map[string]*query.ToolUse) branch {
	b := branch{repository: r}
	for _, tool := range r.Tools {
		examples := lists.Map(tool.Examples, func(given string) string { return plaintext.Text(annotations.Plain(given)) })
		// No search contains the separator.
		texts := strings.Join(append([]string{tool.Name, tool.Description}, examples...), "\x00")
		if !strings.Contains(strings.ToLower(texts), strings.ToLower(search)) {
			continue
		}
		if len(b.Found) == maxLeaves {
			b.More++
			continue
		}
		one := leaf{tool.Name, plaintext.Text(tool.Description), examples, used[tool.Name]}
		if b.Found = append(b.Found, one); one.Used != nil {
			b.Fired, b.Rejected = b.Fired+one.Used.Fired, b.Rejected+one.Used.Rejected
		}
	}
	return b
}

// repository is the part of a repository that lists of tools need.
type repository struct {
	ID      string `json:"repositoryId"`
	Options struct {
		TriggerOnce bool `json:"triggerOnce"`
		Exclusive   bool `json:"exclusive"`
		Template    bool `json:"template"`
	} `json:"options"`
	Tools []struct {
		Name        string   `json:"name"`
		Description string   `json:"description"`
		Examples    []string `json:"examples"`
	} `json:"tools"`
}

// owner returns the REST path of an app or of its session.
func owner(app, session string) string {
	if session == "" {
		return v1("apps", app)
	}
	return v1("apps", app, "sessions", session)
}

type tryBody struct {
	Repository string
	Session    string // of the repository; empty for the app
	In         string // session to fire in
	Tool       scope.Tool
	Shadowed   string // repository whose tool of this name fires instead
	Fields     []field
	TriggerID  string // so that a form sent twice fires once
	Fault      *problem
	Fired      *query.Match
}

func tryPage(v *pageRequest) error {
	shown, err := v.tried(v.r.URL.Query())
	if err != nil {
		return err
	}
	return v.render("try", shown.Tool.Name, shown)
}

// tried reads the tool of the path and fills its form.
func (v *pageRequest) tried(filled url.Values) (tryBody, error) {
	shown := tryBody{Repository: v.r.PathValue("repository"), Session: v.session(), TriggerID: strings.ToLower(rand.Text())}
	shown.In = cmp.Or(shown.Session, filled.Get("in"))
	var found list[scope.Tool]
	if err := v.get(owner(v.app(), shown.In)+"/tools?name="+url.QueryEscape(v.r.PathValue("tool")), &found); err != nil {
		return shown, err
	}
	if len(found.Items) == 0 {
		return shown, &problem{Status: http.StatusNotFound, Title: "No such tool", Detail: "no tool of this name is in scope"}
	}
	shown.Tool = found.Items[0]
	if shown.Tool.RepositoryID != shown.Repository {
		shown.Shadowed = shown.Tool.RepositoryID
	}
	var err error
	shown.Fields, err = fieldsOf(shown.Tool.InputSchema, filled)
	return shown, err
}

func tryTool(v *pageRequest) error {
	filled := v.r.PostForm
	shown, err := v.tried(filled)
	if err != nil {
		return err
	}
	// REST checks the values; one that does not fit its type is sent as a string.
	values := map[string]any{}
	for _, one := range shown.Fields {
		switch {
		case one.Text == "":
		case one.Options == nil && one.Type == "string" || !json.Valid([]byte(one.Text)):
			values[one.Name] = one.Text
		default:
			values[one.Name] = json.RawMessage(one.Text)
		}
	}
	body, err := json.Marshal(map[string]any{
		"name": shown.Tool.Name, "repositoryId": shown.Tool.RepositoryID, "source": query.SourceUI,
		"values": values, "triggerId": filled.Get("triggerId"),
	})
	if err != nil {
		return err
	}
	err = v.call(http.MethodPost, owner(v.app(), shown.In)+"/triggers", body, &shown.Fired)
	if err == nil {
		return v.render("try", shown.Tool.Name, shown)
	}
	shown.Fault, shown.TriggerID = problemOf(err), filled.Get("triggerId")
	shown.Fault.Errors = slices.DeleteFunc(shown.Fault.Errors, func(of flaw) bool { // a field shows its own faults
		path := fault.Tokens(of.Pointer)
		for i := range shown.Fields {
			one := &shown.Fields[i]
			if len(path) > 1 && path[0] == "values" && path[1] == one.Name {
				if one.Fault != "" {
					one.Fault += "; "
				}
				one.Fault += strings.Join(append(path[2:], of.Detail), " ")
				return true
			}
		}
		return false
	})
	return v.renderStatus(shown.Fault.Status, "try", shown.Tool.Name, shown)
}

type field struct {
	Name, Description string
	Type              string // string, integer, number, boolean, or another type, edited as JSON
	Required          bool
	Options           []string // JSON of each; empty if any value is allowed
	Default, Bounds   string
	Text              string // as filled in
	Fault             string
}

// Long reports whether the value is edited as JSON.
func (f field) Long() bool {
	return f.Options == nil && !slices.Contains([]string{"string", "integer", "number"}, f.Type)
}

type property struct {
	Type        any               `json:"type"`
	Description string            `json:"description"`
	Enum        []json.RawMessage `json:"enum"`
	Default     json.RawMessage   `json:"default"`
	Minimum     json.Number       `json:"minimum"`
	Maximum     json.Number       `json:"maximum"`
}

// fieldsOf turns a JSON Schema of an object into form fields: required ones first, then in schema order.
// The form value of a parameter is named "v." and its name.
func fieldsOf(schema json.RawMessage, filled url.Values) ([]field, error) {
	var object struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := json.Unmarshal(schema, &object); err != nil {
		return nil, err
	}
	names, properties, err := membersOf(object.Properties)
	if err != nil {
		return nil, err
	}
	var required, optional []field
	for _, name := range names {
		var of property
		_ = json.Unmarshal(properties[name], &of) // true and false allow anything
		one := of.field(name)
		one.Required, one.Text = slices.Contains(object.Required, name), filled.Get("v."+name)
		if one.Required {
			required = append(required, one)
		} else {
			optional = append(optional, one)
		}
	}
	return append(required, optional...), nil
}

func (p property) field(name string) field {
	f := field{Name: name, Description: p.Description, Default: string(p.Default)}
	switch kind := p.Type.(type) {
	case string:
		f.Type = kind
	case []any:
		for _, one := range kind {
			if text, is := one.(string); is && text != "null" && f.Type == "" {
				f.Type = text
			}
		}
	}
	for _, one := range p.Enum {
		f.Options = append(f.Options, string(one))
	}
	if f.Type == "boolean" && f.Options == nil {
		f.Options = []string{"true", "false"}
	}
	switch {
	case p.Minimum != "" && p.Maximum != "":
		f.Bounds = p.Minimum.String() + " to " + p.Maximum.String()
	case p.Minimum != "":
		f.Bounds = "at least " + p.Minimum.String()
	case p.Maximum != "":
		f.Bounds = "at most " + p.Maximum.String()
	}
	return f
}
