package repositories

import (
	"cmp"
	"encoding/json"
	"maps"
	"mime"
	"net/url"
	"regexp"
	"slices"
	"strings"
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
	DefaultTimeout = 10 * time.Second // the time of one attempt if the tool names none
	// maxTimeout bounds one attempt, because the answer to a message waits for it.
	maxTimeout      = 60 * time.Second
	DefaultRetryFor = 15 * time.Minute // how long a call is retried by default
	// MostRetryFor bounds the retries of a call.
	MostRetryFor = 24 * time.Hour
)

// Request is the configuration of a tool's HTTP call.
type Request struct {
	Description string          `json:"description,omitempty"`
	Auth        string          `json:"auth,omitempty"` // one of the ways above; a decoder infers it from the credentials
	Basic       *Basic          `json:"basic,omitempty"`
	Bearer      *Bearer         `json:"bearer,omitempty"`
	ModuleID    string          `json:"moduleId,omitempty"`
	Headers     Headers         `json:"headers,omitempty"`
	Method      string          `json:"method,omitempty"`
	Timeout     Duration        `json:"timeout,omitzero"`
	RetryFor    Duration        `json:"retryFor,omitzero"`
	Body        json.RawMessage `json:"body,omitempty"`
	Idempotent  *bool           `json:"idempotent,omitempty"` // see Repeatable

	inferredNone bool          // Auth is AuthNone because there are neither auth nor credentials
	anywhere     secret.Secret // set if the module may be used with any host; it is sealed like a credential
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

// Or returns the duration, or fallback if it is zero.
func (d Duration) Or(fallback time.Duration) time.Duration { return cmp.Or(time.Duration(d), fallback) }

// ways lists the ways to authenticate for which the request has credentials.
func (r *Request) ways() []string {
	var ways []string
	if r.Basic != nil {
		ways = append(ways, AuthBasic)
	}
	if r.Bearer != nil {
		ways = append(ways, AuthBearer)
	}
	if r.ModuleID != "" {
		ways = append(ways, AuthModule)
	}
	return ways
}

// needs describes the credentials of a way, for errors.
var needs = map[string]string{
	AuthBasic:  "a username and a password",
	AuthBearer: "a tokenUrl, a clientId and a clientSecret",
	AuthModule: "one of the app's modules",
}

// fieldOf maps ways to the request's field with their credentials.
var fieldOf = map[string]string{AuthBasic: "basic", AuthBearer: "bearer", AuthModule: "moduleId"}

// AttemptTimeout is the time limit of one attempt at the call.
func (r *Request) AttemptTimeout() time.Duration {
	if r == nil {
		return DefaultTimeout
	}
	return r.Timeout.Or(DefaultTimeout)
}

// GiveUpAfter is how long the call is retried.
func (r *Request) GiveUpAfter() time.Duration {
	if r == nil {
		return DefaultRetryFor
	}
	return r.RetryFor.Or(DefaultRetryFor)
}

// Repeatable reports whether a call of unknown outcome may be repeated with the same key.
func (r *Request) Repeatable() bool { return r == nil || r.Idempotent == nil || *r.Idempotent }

func (r *Request) clone() *Request {
	if r == nil {
		return nil
	}
	next := *r
	next.Headers = maps.Clone(r.Headers)
	if r.Basic != nil {
		next.Basic = new(*r.Basic)
	}
	if r.Bearer != nil {
		next.Bearer = new(*r.Bearer)
	}
	return &next
}

// Headers are a call's HTTP headers. Their values are sealed like credentials and omitted from events and logs.
type Headers map[string]secret.Secret

var (
	// credentialName matches the names of headers whose value is never shown, by a part of them.
	credentialName = regexp.MustCompile(`(?i)auth|cookie|key|token|secret|password|passwd|passphrase|passcode|credential|signature|session`)
	// credentialWord matches words that mean a credential as a whole: Passenger and Pinned do not.
	credentialWord = regexp.MustCompile(`(?i)^(bearer|jwt|pass|pwd|pin|otp|totp|creds?|sig|hmac)$`)
	// nameWord matches the words of a name, as in X-User-Pin, user_pin and userPin.
	nameWord = regexp.MustCompile(`[A-Z]+[a-z]*|[a-z]+`)
)

// NamesCredential reports whether the name of a header or of a URL's parameter suggests a credential.
func NamesCredential(name string) bool {
	return credentialName.MatchString(name) || slices.ContainsFunc(nameWord.FindAllString(name, -1), credentialWord.MatchString)
}

// MaskQuery returns the query of a URL with secret.Masked for each value whose name suggests a credential. A parameter of
// the tool in its place, as ":token", stays.
func MaskQuery(query string) string {
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		name, value, hasValue := strings.Cut(pair, "=")
		plain, err := url.QueryUnescape(name)
		if hasValue && !strings.HasPrefix(value, ":") && (err != nil || NamesCredential(plain)) {
			pairs[i] = name + "=" + secret.Masked
		}
	}
	return strings.Join(pairs, "&")
}

// MarshalJSON masks the values of headers that may carry a credential.
func (h Headers) MarshalJSON() ([]byte, error) { return exactjson.Encode(h.Shown()) }

// Shown returns the headers with credentials masked.
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

// Credentials returns the confidential values, so that a caller can remove them from an answer.
func (h Headers) Credentials() []secret.Secret {
	var list []secret.Secret
	for name, value := range h {
		if NamesCredential(name) {
			list = append(list, value)
		}
	}
	return list
}

// Types of request bodies, by how values are escaped in them.
const (
	BodyJSON = "json"
	BodyForm = "form"
	BodyXML  = "xml"
	BodyText = "text"
)

// BodyType returns the type of a body from the last Content-Type: JSON without one, and empty for a type into which
// values cannot be written.
func BodyType(headers ...Headers) string {
	content := ""
	for _, given := range headers {
		for name, value := range given {
			if strings.EqualFold(name, "Content-Type") {
				content = value.Reveal()
			}
		}
	}
	if content == "" {
		return BodyJSON
	}
	kind, _, err := mime.ParseMediaType(content)
	switch {
	case err != nil:
		return ""
	case kind == "application/json" || strings.HasSuffix(kind, "+json"):
		return BodyJSON
	case kind == "application/x-www-form-urlencoded":
		return BodyForm
	case kind == "application/xml" || kind == "text/xml" || strings.HasSuffix(kind, "+xml"):
		return BodyXML
	case kind == "text/plain":
		return BodyText
	}
	return ""
}
