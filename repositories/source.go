package repositories

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"earshot/repositories/fault"
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

// Source is a database, an HTTP API or an MCP server of the app, which tools of the matching
// type use. The fields are Toolbox's, and those of mcp our own; those of other types of
// sources are empty.
type Source struct {
	Name string `json:"name"`
	Type string `json:"type"` // one of the above

	// Host, Port and User are the address of a postgres or mysql database and its user.
	Host     string        `json:"host,omitempty"`
	Port     string        `json:"port,omitempty"` // see DatabasePort
	User     string        `json:"user,omitempty"`
	Password secret.Secret `json:"password,omitzero"`
	// Database is the name of a postgres or mysql database or the path of a sqlite file.
	Database string `json:"database,omitempty"`
	// ReadOnly makes statements that would change a database fail. False that is said lets
	// tools change it whose type would not.
	ReadOnly *bool `json:"readOnly,omitempty"`
	// QueryTimeout is Toolbox's name for Timeout in a mysql source.
	QueryTimeout Duration `json:"queryTimeout,omitzero"`

	// BaseURL is what the paths of http tools are resolved against.
	BaseURL string `json:"baseUrl,omitempty"`
	// Headers go with every request of an http or mcp source.
	Headers Headers `json:"headers,omitempty"`
	// ReturnFullError keeps the body of an answer that is not 2xx.
	ReturnFullError bool `json:"returnFullError,omitempty"`
	// DisableSSLVerification is in Toolbox's files; true is refused.
	DisableSSLVerification bool `json:"disableSslVerification,omitempty"`

	// QueryParams are added to the query of every request of an http source; of a
	// postgres or mysql source they are settings of its connections. They are kept as headers
	// are: sealed at rest, and those that carry a credential are shown to nobody.
	QueryParams Headers `json:"queryParams,omitempty"`
	// Timeout is the time of one attempt, where the tool names none.
	Timeout Duration `json:"timeout,omitzero"`

	// URL is where an MCP server is spoken to, over Streamable HTTP.
	URL string `json:"url,omitempty"`
	// Auth authenticates every request to an MCP server; nil for none.
	Auth *SourceAuth `json:"auth,omitempty"`
	// Allow are patterns of names (* and ? stand for any letters and for one) of which one
	// must be that of a tool for it to be taken over; empty for all.
	Allow []string `json:"allow,omitempty"`
	// Refresh is how often the server is asked for its tools; defaultRefresh where it is 0.
	Refresh Duration `json:"refresh,omitzero"`
}

// Source returns the app's source of that name.
func (a *App) Source(name string) (Source, bool) {
	for _, source := range a.Sources {
		if source.Name == name {
			return source, true
		}
	}
	return Source{}, false
}

// DatabasePort is the port of a postgres or mysql source: the one that is given, or that
// which servers of the type have by default.
func (s Source) DatabasePort() string {
	if s.Type == SourceMySQL {
		return cmp.Or(s.Port, "3306")
	}
	return cmp.Or(s.Port, "5432")
}

// ReadOnly reports whether the tool runs queries alone: where its source says so, or the
// tool itself. A statement that whoever sets off the tool has written is a query unless the
// tool or its source say readOnly: false.
func (a *App) ReadOnly(t *Tool) bool {
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

// AttemptTimeout is the time limit of one attempt at the tool's call: the tool's own, its
// source's, or the default.
func (a *App) AttemptTimeout(t *Tool) time.Duration {
	if t.Request != nil && t.Request.Timeout != 0 {
		return time.Duration(t.Request.Timeout)
	}
	if source, ok := a.Source(t.Source); ok {
		return source.Timeout.Or(source.QueryTimeout.Or(DefaultTimeout))
	}
	return DefaultTimeout
}

// Resolve resolves the path of an http tool, with its values in it, against the base
// URL of its source, as RFC 3986 says in section 5.2. The path may hold a query. It is
// refused where it names a host, goes up, or leads out of the base's path.
func Resolve(base, path string) (*url.URL, error) {
	from, err := url.Parse(base)
	if err != nil || from.Host == "" {
		return nil, errors.New("the baseUrl of the source cannot be read")
	}
	reference, err := url.Parse(path)
	if err != nil {
		return nil, errors.New("is not well written as the path of a URL")
	}
	if reference.IsAbs() || reference.Host != "" || reference.User != nil || strings.HasPrefix(path, "//") {
		return nil, errors.New("names a scheme or a host; a path is resolved against the source's baseUrl")
	}
	for _, segment := range strings.FieldsFunc(reference.Path, func(r rune) bool { return r == '/' || r == '\\' }) {
		if segment == "." || segment == ".." {
			return nil, fmt.Errorf("holds a segment %q; write the path that is meant", segment)
		}
	}
	reference.Fragment, reference.RawFragment = "", ""
	target := from.ResolveReference(reference)
	if !under(from.EscapedPath(), target.EscapedPath()) {
		return nil, fmt.Errorf("leads to %q, which is not under %q of the source's baseUrl; end the baseUrl with a slash and begin the path without one", fault.Clip(target.EscapedPath()), from.EscapedPath())
	}
	return target, nil
}

// under reports whether a path is the base or below it.
func under(base, path string) bool {
	if base == "" || base == "/" || path == base {
		return true
	}
	return strings.HasPrefix(path, strings.TrimSuffix(base, "/")+"/")
}

// resolved resolves the template of a path with a sample for every value.
func resolved(path, base string) (*url.URL, error) {
	parsed, err := template.Parse(path, template.PathEscape, template.QueryEscape)
	if err != nil {
		return nil, err
	}
	filled, err := parsed.Fill(nil, sample{})
	if err != nil {
		return nil, err
	}
	return Resolve(base, filled)
}

// sample stands for every value of a template.
type sample struct{}

// Literal returns the text as it is.
func (sample) Literal(text string) string { return text }

// Paste returns a text that does not change the structure of a path.
func (sample) Paste(any) (string, error) { return "x", nil }
