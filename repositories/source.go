package repositories

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"earshot/repositories/fault"
	"earshot/repositories/lists"
	"earshot/repositories/parameters"
	"earshot/repositories/plaintext"
	"earshot/repositories/secret"
	"earshot/repositories/template"
)

// Types of sources.
const (
	SourcePostgres = "postgres"
	SourceMySQL    = "mysql"
	SourceSQLite   = "sqlite"
	SourceHTTP     = "http"
	SourceMCP      = "mcp"
)

// Source is a database, an HTTP API or an MCP server of the app. The fields are Toolbox's, except those for mcp.
type Source struct {
	Name string `json:"name"`
	Type string `json:"type"` // one of the above

	// Of postgres, mysql and sqlite.
	Host         string        `json:"host,omitempty"`
	Port         string        `json:"port,omitempty"` // see DatabasePort
	User         string        `json:"user,omitempty"`
	Password     secret.Secret `json:"password,omitzero"`
	Database     string        `json:"database,omitempty"`
	ReadOnly     *bool         `json:"readOnly,omitempty"`
	QueryTimeout Duration      `json:"queryTimeout,omitzero"` // Toolbox's name for Timeout

	// Of http and mcp; QueryParams also of database connections. Both may hold credentials.
	BaseURL                string   `json:"baseUrl,omitempty"`
	Headers                Headers  `json:"headers,omitempty"`
	ReturnFullError        bool     `json:"returnFullError,omitempty"`
	DisableSSLVerification bool     `json:"disableSslVerification,omitempty"` // true is refused
	QueryParams            Headers  `json:"queryParams,omitempty"`
	Timeout                Duration `json:"timeout,omitzero"` // of one attempt, if the tool has none

	// Of mcp.
	URL     string      `json:"url,omitempty"`
	Auth    *SourceAuth `json:"auth,omitempty"`
	Allow   []string    `json:"allow,omitempty"` // see Allows
	Refresh Duration    `json:"refresh,omitzero"`
}

// SourceAuth authenticates requests to an MCP server in one of three ways. A fixed token belongs in headers.
type SourceAuth struct {
	Basic    *Basic  `json:"basic,omitempty"`
	Bearer   *Bearer `json:"bearer,omitempty"`
	ModuleID string  `json:"moduleId,omitempty"`
}

// Source returns the app's source of that name.
func (a *App) Source(name string) (Source, bool) {
	return lists.First(a.Sources, func(s Source) bool { return s.Name == name })
}

// DatabasePort is the port of a postgres or mysql source, or the default of its type.
func (s Source) DatabasePort() string {
	if s.Type == SourceMySQL {
		return cmp.Or(s.Port, "3306")
	}
	return cmp.Or(s.Port, "5432")
}

// Intervals of refreshes of an MCP server's tools.
const (
	defaultRefresh = 5 * time.Minute
	minRefresh     = 5 * time.Second
	maxRefresh     = 24 * time.Hour
)

// RefreshEvery returns the interval of refreshes of the server's tools.
func (s *Source) RefreshEvery() time.Duration { return s.Refresh.Or(defaultRefresh) }

// Allows reports whether a tool of the source's server may be used: a pattern matches, or there are none.
func (s *Source) Allows(name string) bool {
	return len(s.Allow) == 0 || slices.ContainsFunc(s.Allow, func(pattern string) bool {
		// path.Match must treat the slash in a name as an ordinary character.
		matched, err := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
		return err == nil && matched
	})
}

// Request returns the configuration of calls to the source: its headers and credentials, with the limits of own if
// not nil. The app's owner wrote the source, so its module may go to any host there.
func (s *Source) Request(own *Request) *Request {
	made := Request{Auth: AuthNone, Headers: s.Headers}
	if own != nil {
		made.Timeout, made.RetryFor, made.Idempotent = own.Timeout, own.RetryFor, own.Idempotent
	}
	if s.Auth != nil {
		made.Basic, made.Bearer, made.ModuleID, made.anywhere = s.Auth.Basic, s.Auth.Bearer, s.Auth.ModuleID, granted
	}
	if ways := made.ways(); len(ways) > 0 {
		made.Auth = ways[0]
	}
	return &made
}

// ReadOnly reports whether the tool changes nothing: it is declared so or, without a declaration, its statement
// must be a query, or its request is a repeatable GET or HEAD.
func (a *App) ReadOnly(t *Tool) bool {
	switch {
	case t.ReadOnly != nil:
		return *t.ReadOnly
	case t.RunsStatement():
		return a.QueriesAlone(t)
	}
	method := t.Method
	if t.Request != nil && t.Request.Method != "" {
		method = t.Request.Method
	}
	return (method == http.MethodGet || method == http.MethodHead) && t.Request.Repeatable()
}

// QueriesAlone reports whether a SQL tool may only run queries, by its own or its source's declaration. A statement
// that a caller writes must be a query, unless tool or source declare readOnly: false.
func (a *App) QueriesAlone(t *Tool) bool {
	source, _ := a.Source(t.Source)
	switch {
	case t.ListsTables():
		return true
	case source.ReadOnly != nil && *source.ReadOnly:
		return true
	case t.ReadOnly != nil:
		return *t.ReadOnly
	default:
		return t.Executes() && source.ReadOnly == nil
	}
}

// AttemptTimeout is the time limit of one attempt: the tool's, its source's, or the default.
func (a *App) AttemptTimeout(t *Tool) time.Duration {
	source, _ := a.Source(t.Source)
	fallback := source.Timeout.Or(source.QueryTimeout.Or(DefaultTimeout))
	if t.Request == nil {
		return fallback
	}
	return t.Request.Timeout.Or(fallback)
}

// Resolve resolves the filled path of an http tool against its source's base URL (RFC 3986, section 5.2). It
// refuses a path that names a host, contains .., or leaves the base's path.
func Resolve(base, path string) (*url.URL, error) {
	from, err := url.Parse(base)
	if err != nil || from.Host == "" {
		return nil, errors.New("the baseUrl of the source cannot be read")
	}
	reference, err := url.Parse(path)
	if err != nil {
		return nil, errors.New("is not a valid path of a URL")
	}
	if reference.IsAbs() || reference.Host != "" || reference.User != nil || strings.HasPrefix(path, "//") {
		return nil, errors.New("names a scheme or a host; a path is resolved against the source's baseUrl")
	}
	if segment := DotSegment(reference.Path); segment != "" {
		return nil, fmt.Errorf("has a segment %q; write the path without it", segment)
	}
	reference.Fragment, reference.RawFragment = "", ""
	target := from.ResolveReference(reference)
	above, below := from.EscapedPath(), target.EscapedPath()
	if above != "" && above != "/" && above != below && !strings.HasPrefix(below, strings.TrimSuffix(above, "/")+"/") {
		return nil, fmt.Errorf("leads to %q, which is not under %q of the source's baseUrl; end the baseUrl with a slash and begin the path without one", fault.Clip(below), above)
	}
	return target, nil
}

// DotSegment returns the first part between the slashes of a path that is "." or "..", and leads to another path; empty
// for none. Many servers take a backslash for a slash.
func DotSegment(path string) string {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' })
	if i := slices.IndexFunc(parts, func(part string) bool { return part == "." || part == ".." }); i >= 0 {
		return parts[i]
	}
	return ""
}

// checkResolves resolves the template of a path with sample values.
func checkResolves(path, base string) error {
	parsed, err := template.Parse(path, template.PathEscape, template.QueryEscape)
	if err != nil {
		return err
	}
	filled, err := parsed.Fill(nil, sample{})
	if err == nil {
		_, err = Resolve(base, filled)
	}
	return err
}

type sample struct{}

// Literal returns the text as is.
func (sample) Literal(text string) string { return text }

// Paste returns a text that keeps the structure of a path.
func (sample) Paste(any) (string, error) { return "x", nil }

// OfferedTool is an MCP server's listed tool, which is untrusted.
type OfferedTool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Annotations struct {
		Title      string `json:"title"`
		ReadOnly   *bool  `json:"readOnlyHint"`
		Idempotent *bool  `json:"idempotentHint"`
	} `json:"annotations"`
	Execution struct {
		TaskSupport string `json:"taskSupport"`
	} `json:"execution"`
	Refused string `json:"-"` // why the tool cannot be used; empty if it can
}

const (
	// maxOffered bounds the stored tools of a server, in bytes, like the body of a repository.
	maxOffered = 1 << 20
	// maxOfferNotes bounds the omitted tools that notes name.
	maxOfferNotes = 20
)

// Offered converts a server's tools for a repository From the source, and notes the omitted ones. At most most are
// taken; 0 is any number.
func (s *Source) Offered(list []OfferedTool, most int) (tools []Tool, notes []string) {
	tools = []Tool{}
	size, budget, taken := 0, &parameters.Budget{}, map[string]string{} // local name to server's name
	list = slices.Clone(list)
	inexact := func(one OfferedTool) int {
		if invalidInName.MatchString(one.Name) {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(list, func(a, b OfferedTool) int { // an exact name wins
		return cmp.Or(cmp.Compare(inexact(a), inexact(b)), cmp.Compare(a.Name, b.Name))
	})
	for _, one := range list {
		if !s.Allows(one.Name) {
			continue
		}
		tool, err := one.tool(s.Name)
		other, twice := taken[tool.Name]
		weight := len(tool.Description) + len(tool.Parameters)
		switch {
		case err != nil:
		case twice:
			err = fmt.Errorf("its name is that of %s as well", fault.Show(fault.Clip(other)))
		case most > 0 && len(tools) == most:
			err = &LimitError{Limit: "toolsPerRepository", Most: most}
		case size+weight > maxOffered:
			err = fmt.Errorf("the tools of a server may have at most %d bytes together; name those that are needed in allow", maxOffered)
		default:
			if _, faults := tool.compile(budget); len(faults) > 0 {
				err = errors.New(strings.Replace(faults[0].Pointer, "/parameters", "inputSchema", 1) + " " + faults[0].Detail)
			}
		}
		if err != nil {
			notes = append(notes, fmt.Sprintf("the tool %s of source %q is left out: %s", fault.Show(fault.Clip(one.Name)), s.Name, err))
			continue
		}
		size += weight
		taken[tool.Name] = one.Name
		tools = append(tools, tool)
	}
	slices.SortStableFunc(tools, func(a, b Tool) int { return cmp.Compare(taken[a.Name], taken[b.Name]) })
	return tools, clipped(notes, maxOfferNotes, fmt.Sprintf("and %%d more tools of source %q are left out", s.Name))
}

// invalidInName matches characters of MCP names that tool names cannot have.
var invalidInName = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// tool returns the converted tool before its parameters are compiled.
func (t OfferedTool) tool(source string) (Tool, error) {
	tool := Tool{Name: invalidInName.ReplaceAllString(t.Name, "_"), Type: ToolMCP, Source: source}
	tool.Description = plaintext.Text(cmp.Or(t.Description, t.Title, t.Annotations.Title))
	if tool.Name != t.Name {
		tool.RemoteName = t.Name
	}
	switch {
	case t.Refused != "":
		return tool, errors.New(t.Refused)
	case t.Execution.TaskSupport == "required":
		return tool, errors.New("its server runs it only as a task, which Earshot does not support")
	case !namePattern.MatchString(tool.Name):
		return tool, errors.New("a name has 1 to 64 letters")
	case tool.Name == CatchAll:
		return tool, errors.New("a tool of that name takes every message that nothing else matches, so that a server may not offer it")
	case !parameters.Present(t.InputSchema):
		t.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, t.InputSchema); err != nil || compact.Bytes()[0] != '{' {
		return tool, errors.New("its inputSchema is not an object")
	}
	tool.Parameters = compact.Bytes()

	// A call of unknown outcome is repeated with the same key, unless the server declares the tool not idempotent.
	// Most servers declare nothing.
	if t.Annotations.ReadOnly != nil && *t.Annotations.ReadOnly {
		tool.ReadOnly = new(true)
	} else if t.Annotations.Idempotent != nil && !*t.Annotations.Idempotent {
		tool.Request = &Request{Auth: AuthNone, Idempotent: new(false)}
	}
	return tool, nil
}
