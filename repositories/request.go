package repositories

import (
	"encoding/json"
	"regexp"
	"time"

	"earshot/repositories/exactjson"
	"earshot/repositories/secret"
)

// Ways in which a call is authenticated.
const (
	AuthNone   = "none"
	AuthBasic  = "basic"
	AuthBearer = "bearer"
	AuthModule = "module"
)

// Limits of a call.
const (
	// DefaultTimeout is the time of one attempt where the tool names none.
	DefaultTimeout = 10 * time.Second
	// DefaultRetryFor is how long a call is tried where the tool does not say.
	DefaultRetryFor = 15 * time.Minute
	// MostRetryFor is the longest that a call may be tried.
	MostRetryFor = 24 * time.Hour
)

// Request is the configuration of a tool's HTTP call.
type Request struct {
	// Description is for people.
	Description string `json:"description,omitempty"`
	// Auth is one of the ways above. Where it is missing, the credentials that are
	// given say it: basic, bearer or moduleId; with none of them the call is not
	// authenticated.
	Auth     string   `json:"auth,omitempty"`
	Basic    *Basic   `json:"basic,omitempty"`
	Bearer   *Bearer  `json:"bearer,omitempty"`
	ModuleID string   `json:"moduleId,omitempty"`
	Headers  Headers  `json:"headers,omitempty"`
	Method   string   `json:"method,omitempty"`
	Timeout  Duration `json:"timeout,omitzero"`
	RetryFor Duration `json:"retryFor,omitzero"`
	// Body replaces the trigger event as the body of the call: a JSON value whose
	// strings may hold :param.
	Body json.RawMessage `json:"body,omitempty"`
	// Idempotent is true where it is missing: a call whose outcome is not known is
	// made again under the same key.
	Idempotent *bool `json:"idempotent,omitempty"`

	// unsaid says that nobody has said how the call is authenticated: Auth is inferred.
	unsaid bool

	// anywhere is not empty where the module may be used towards any host. It is sealed
	// like a credential, for the use that it was given for.
	anywhere secret.Secret
}

// Basic holds the credentials of HTTP basic authentication (RFC 7617).
type Basic struct {
	Username string        `json:"username"`
	Password secret.Secret `json:"password"`
}

// Grants of a bearer token.
const (
	GrantClientCredentials = "client_credentials"
	GrantPassword          = "password"
)

// Bearer is the configuration for obtaining a bearer token (RFC 6749).
type Bearer struct {
	ClientType   string        `json:"clientType"` // a grant, one of the above
	ClientID     string        `json:"clientId,omitempty"`
	ClientSecret secret.Secret `json:"clientSecret,omitzero"`
	Username     string        `json:"username,omitempty"`
	Password     secret.Secret `json:"password,omitzero"`
	Audience     string        `json:"audience,omitempty"`
	TokenURL     string        `json:"tokenUrl"`
	RefreshURL   string        `json:"refreshUrl,omitempty"`
	Scopes       []string      `json:"scopes,omitempty"`
}

// Duration is a time.Duration whose JSON form is a text such as "10s".
type Duration time.Duration

// MarshalText writes the form that UnmarshalText reads.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what time.ParseDuration reads.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

// Or returns the duration, or fallback where it is zero.
func (d Duration) Or(fallback time.Duration) time.Duration {
	if d == 0 {
		return fallback
	}
	return time.Duration(d)
}

// AttemptTimeout is the time limit of one attempt at the call.
func (r *Request) AttemptTimeout() time.Duration {
	if r == nil {
		return DefaultTimeout
	}
	return r.Timeout.Or(DefaultTimeout)
}

// GiveUpAfter is how long the call is retried before it is given up.
func (r *Request) GiveUpAfter() time.Duration {
	if r == nil {
		return DefaultRetryFor
	}
	return r.RetryFor.Or(DefaultRetryFor)
}

// Repeatable reports whether a call whose outcome is not known may be made again.
func (r *Request) Repeatable() bool {
	return r == nil || r.Idempotent == nil || *r.Idempotent
}

// Headers are a call's own HTTP headers. Their values are treated like credentials, since
// many are: sealed at rest, and never in an event or a log.
type Headers map[string]secret.Secret

// credentialHeader finds the headers whose value is shown to nobody. Others, such as
// X-Desk, are read back as they were given.
var credentialHeader = regexp.MustCompile(`(?i)auth|cookie|key|token|secret|password|passwd|credential|signature|session`)

// NamesCredential reports whether what has that name, a header or a parameter of a URL, is
// a credential.
func NamesCredential(name string) bool { return credentialHeader.MatchString(name) }

// MarshalJSON shows the values of headers that carry no credential, by their name.
func (h Headers) MarshalJSON() ([]byte, error) { return exactjson.Encode(h.Shown()) }

// Shown are the headers as people may see them: credentials are masked.
func (h Headers) Shown() map[string]string {
	shown := make(map[string]string, len(h))
	for name, value := range h {
		shown[name] = value.String()
		if !NamesCredential(name) {
			shown[name] = value.Reveal()
		}
	}
	return shown
}

// Credentials returns the confidential values in no particular order, so that a caller can
// remove them from the answer of the endpoint.
func (h Headers) Credentials() []secret.Secret {
	var list []secret.Secret
	for name, value := range h {
		if credentialHeader.MatchString(name) {
			list = append(list, value)
		}
	}
	return list
}
