package earshot

import (
	"encoding/json"
)

// AppDefinition is what an app is made of: its name, credentials, sources and settings.
type AppDefinition struct {
	// The app. As in the path, or left out: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit.
	AppID string `json:"appId,omitempty"`
	// What people call it; shown in lists, used for nothing else.
	Name string `json:"name,omitempty"`
	// Whose ID tokens are verified. A front-end sends a user's token in the header {name}_token.
	AuthServices []AuthService `json:"authServices,omitempty"`
	// OAuth2 clients of the app, with which calls of its tools can authenticate.
	Modules []Module `json:"modules,omitempty"`
	// What the author of a write may not expect, in the answer to it. Set by the service; read and
	// left in a request.
	Notes []string `json:"notes,omitempty"`
	// How messages of the app are matched and answered, and what it may use.
	Settings *Settings `json:"settings,omitempty"`
	// Signs calls (Standard Webhooks): whsec_ and base64, or 24 to 64 bytes in base64; several with
	// spaces between them, while receivers change from one to the next. A credential. Never returned:
	// reads as ***; *** sent back keeps what is stored.
	SigningSecret string `json:"signingSecret,omitempty"`
	// Databases and APIs that tools of a type work on.
	Sources []Source `json:"sources,omitempty"`
}

// Module is an OAuth2 client of the app, by whose id and secret clients of SERMAS sign in as well.
type Module struct {
	// Sent with the request for a token, where the service wants one.
	Audience string `json:"audience,omitempty"`
	// The client's id; the moduleId where it is missing.
	ClientID string `json:"clientId,omitempty"`
	// Where tools that were written with a key of scope tools alone may use the module, beside the
	// host of its tokenUrl, on any port. *.clinic.example is every name one label below
	// clinic.example.
	Hosts []string `json:"hosts,omitempty"`
	// Name of the module, by which tools refer to it: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter
	// or digit.
	ModuleID string `json:"moduleId"`
	// Scopes to ask for with the token.
	Scopes []string `json:"scopes,omitempty"`
	// The client's secret. A credential. Never returned: reads as ***; *** sent back keeps what is
	// stored.
	Secret string `json:"secret"`
	// Where its tokens are had (OAuth2, grant client_credentials): an absolute http or https URL.
	// Without one no tool calls with the module; clients of SERMAS sign in by it all the same.
	TokenURL string `json:"tokenUrl,omitempty"`
}

// AuthService is how ID tokens are verified: google needs clientId, oidc needs issuer and audience.
type AuthService struct {
	// Name of the service, which is part of the header {name}_token: 1 to 128 of A-Z a-z 0-9 _ -, the
	// first a letter or digit.
	Name string `json:"name"`
	// google: Google's ID tokens; oidc: those of any OpenID Connect issuer.
	Type string `json:"type"`
	// Of oidc: the aud that tokens must be for.
	Audience string `json:"audience,omitempty"`
	// Of google: the OAuth client that tokens must be for.
	ClientID string `json:"clientId,omitempty"`
	// Of oidc: the iss of its tokens, an absolute http or https URL under which its keys are found.
	Issuer string `json:"issuer,omitempty"`
}

// Source is a database, an HTTP API or an MCP server that tools work on. postgres needs host,
// database and user; mysql needs host and user; sqlite needs database; http needs baseUrl; mcp
// needs url.
type Source struct {
	// Name of the source, by which tools refer to it: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter
	// or digit.
	Name string `json:"name"`
	// postgres, mysql, sqlite, http or mcp
	Type string `json:"type"`
	// Of an mcp source: patterns of names, as find_*, of which one must be that of a tool; all tools
	// where it is missing.
	Allow []string `json:"allow,omitempty"`
	// Of an mcp source: how requests to its server are authenticated.
	Auth *SourceAuth `json:"auth,omitempty"`
	// Of an http source. Paths of tools are resolved against it (RFC 3986) and stay under its path.
	BaseURL string `json:"baseUrl,omitempty"`
	// Of a postgres or mysql source its name, of a sqlite source the path of its file, in a folder
	// that the operator has opened.
	Database string `json:"database,omitempty"`
	// Only false: certificates are always verified.
	DisableSSLVerification bool `json:"disableSslVerification,omitempty"`
	// Of an http or mcp source: sent with every request. Credentials among them read as ***.
	Headers map[string]string `json:"headers,omitempty"`
	// Of a postgres or mysql source: a host name or an IP address.
	Host string `json:"host,omitempty"`
	// A credential. Never returned: reads as ***; *** sent back keeps what is stored.
	Password string `json:"password,omitempty"`
	// Of a postgres source, 5432 where it is missing; of a mysql source, 3306.
	Port json.Number `json:"port,omitempty"`
	// Of an http source: added to the query of every request. Of a postgres source: sslmode,
	// application_name, search_path or timezone. Of a mysql source: tls, charset, collation, time_zone
	// or parseTime.
	QueryParams map[string]string `json:"queryParams,omitempty"`
	// Of a mysql source: Toolbox's name for timeout.
	QueryTimeout Duration `json:"queryTimeout,omitzero"`
	// true: statements of a database source that change something fail, whatever a tool says. false
	// lets tools of type execute-sql change things; where it is missing, they run queries alone unless
	// the tool says readOnly: false.
	ReadOnly *bool `json:"readOnly,omitempty"`
	// Of an mcp source: how often its server is asked for its tools, 5s to 24h. Default: 5m.
	Refresh Duration `json:"refresh,omitzero"`
	// Keeps the body of an answer that is not 2xx. Default: false.
	ReturnFullError bool `json:"returnFullError,omitempty"`
	// For one attempt of its tools, where they name none: more than 0 and at most 60s.
	Timeout Duration `json:"timeout,omitzero"`
	// Of an mcp source: where its server is spoken to (Streamable HTTP), as https://crm.example/mcp.
	URL string `json:"url,omitempty"`
	// Of a postgres or mysql source: the user who connects.
	User string `json:"user,omitempty"`
}

// SourceAuth is one of basic, bearer and moduleId.
type SourceAuth struct {
	// User and password (RFC 7617).
	Basic *Basic `json:"basic,omitempty"`
	// An OAuth2 client, whose token is sent, renewed before it ends, and once where it is refused.
	Bearer *Bearer `json:"bearer,omitempty"`
	// The module of the app whose token is sent: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or
	// digit.
	ModuleID string `json:"moduleId,omitempty"`
}

// Settings is how messages of an app are matched and answered, and what it may use.
type Settings struct {
	// Pages of these origins may call from a browser (CORS). None unless listed; * is every page.
	AllowedOrigins []string `json:"allowedOrigins,omitempty"`
	// true: every message that is stored, and every reply, is an event chat.message, and a message
	// that could not be decided an event chat.failed. Default: false.
	ChatEvents bool `json:"chatEvents,omitempty"`
	// true: the model also writes a reply to each message, after a match with the tool's result in
	// hand. false: reply is null but for returnDirect. Default: false.
	ChatModeEnabled bool `json:"chatModeEnabled,omitempty"`
	// What the users speak (BCP 47, as de or de-AT), where neither session nor message says it.
	Language string `json:"language,omitempty"`
	// Those that are not given have their defaults. null, or 0, takes one off, and null in place of
	// the object takes off all.
	Limits map[string]*int64 `json:"limits,omitempty"`
	// Which model is asked, and when.
	LLM *LLM `json:"llm,omitempty"`
	// How messages are matched where no model decides.
	Offline *Offline `json:"offline,omitempty"`
	// What is done with chats of clients that take this service for their model, at …/openai/v1.
	OpenAI *Listening `json:"openai,omitempty"`
	// What the model is told about the app.
	Prompt *Prompt `json:"prompt,omitempty"`
	// true: no reply is written after a match, whatever the tool says; skipResponse of the answer is
	// true. Default: false.
	SkipToolResponse bool `json:"skipToolResponse,omitempty"`
	// Where the users are (as Europe/Berlin), where neither session nor message says it. It decides
	// what tomorrow is, and noon.
	TimeZone string `json:"timeZone,omitempty"`
}
