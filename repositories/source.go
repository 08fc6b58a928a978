package repositories

import (
	"time"

	"earshot/repositories/secret"
)

// Types of sources.
const (
	SourcePostgres = "postgres"
	SourceSQLite   = "sqlite"
	SourceHTTP     = "http"
)

// Source is a database or an HTTP API of the app, which tools of a type work on. The
// fields are Toolbox's; those that another type of source has are empty.
type Source struct {
	Name string `json:"name"`
	Type string `json:"type"` // one of the above

	// Host, Port and User say where a postgres database is, and who asks it.
	Host     string        `json:"host,omitempty"`
	Port     string        `json:"port,omitempty"` // 5432 where it is empty
	User     string        `json:"user,omitempty"`
	Password secret.Secret `json:"password,omitzero"`
	// Database is the name of a postgres database or the path of a sqlite file.
	Database string `json:"database,omitempty"`
	// ReadOnly makes statements fail that would change a database.
	ReadOnly bool `json:"readOnly,omitempty"`

	// BaseURL is what the paths of http tools are resolved against.
	BaseURL string `json:"baseUrl,omitempty"`
	// Headers go with every request of an http source.
	Headers Headers `json:"headers,omitempty"`
	// ReturnFullError keeps the body of an answer that is not 2xx.
	ReturnFullError bool `json:"returnFullError,omitempty"`
	// DisableSSLVerification is in Toolbox's files; true is refused.
	DisableSSLVerification bool `json:"disableSslVerification,omitempty"`

	// QueryParams are added to the query of every request of an http source; of a
	// postgres source they are settings of its connections. They are kept as headers
	// are: sealed at rest, and those that carry a credential are shown to nobody.
	QueryParams Headers `json:"queryParams,omitempty"`
	// Timeout is the time of one attempt, where the tool names none.
	Timeout Duration `json:"timeout,omitzero"`
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

// AttemptTimeout is the time that one attempt of the tool may take: the tool's own,
// its source's, or the default.
func (a *App) AttemptTimeout(t *Tool) time.Duration {
	if t.Request != nil && t.Request.Timeout != 0 {
		return time.Duration(t.Request.Timeout)
	}
	if source, ok := a.Source(t.Source); ok {
		return source.Timeout.Or(DefaultTimeout)
	}
	return DefaultTimeout
}
