package repositories

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"earshot/repositories/fault"
	"earshot/repositories/locale"
	"earshot/repositories/secret"
)

// formats are rules of single texts. The definition schema prefixes their names with "earshot-".
var formats = map[string]func(string) error{
	"id":             func(text string) error { return CheckID("the id", text) },
	"tool-name":      CheckToolName,
	"url":            checkURL,
	"call-url":       checkCallURL,
	"secret":         checkSecret,
	"signing-secret": checkSigningSecret,
	"event-type":     among(eventTypes, "a type of event"),
	"scope":          unless(scopePattern.MatchString, "%q is not a scope: printable ASCII without spaces, quotes and backslashes"),
	"model":          checkModel,
	"origin": unless(func(text string) bool {
		parsed, err := url.Parse(text)
		return text == "*" || err == nil && parsed.Host != "" && parsed.Scheme+"://"+parsed.Host == text
	}, "%q is not an origin: scheme://host or scheme://host:port without a path, or *"),
	"emitter": unless(func(text string) bool { // two tokens of a NATS subject
		resource, scope, _ := strings.Cut(text, ".")
		return IsID(resource) && IsID(scope)
	}, "%q is not resource.scope: two words of A-Z a-z 0-9 _ - with a dot between them"),
	"header-value": checkHeaderValue,
	"method":       checkMethod,
	"host": unless(func(text string) bool { return isAddress(text) || hostPattern.MatchString(text) },
		"%q is not a host: one name or one IP address, without a port"),
	"module-host": unless(func(text string) bool {
		return isAddress(text) || hostPattern.MatchString(strings.TrimPrefix(text, "*."))
	},
		"%q is not a host: one name, *. and a name for all that are one label below it, or an IP address; without scheme, port and path"),
	"database":    checkDatabase,
	"source-type": CheckSourceType,
	"tool-type":   CheckToolType,
	"refresh":     checkRefresh,
	"tool-pattern": unless(toolPattern.MatchString,
		"%q is not a pattern of tools' names: 1 to 128 of A-Z a-z 0-9 _ - . : / with * for any letters and ? for one"),
	"language":  locale.CheckLanguage,
	"time-zone": locale.CheckZone,
}

// MaxID is the maximum length of an id, in characters.
const MaxID = 128

var (
	idPattern   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`)
	namePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
)

// IsID reports whether a text is an id.
func IsID(text string) bool { return idPattern.MatchString(text) }

// CheckID returns an error that names field if id is not an id of an app, a session, a repository, a module or a
// trigger. Ids are parts of NATS subjects and Redis keys.
func CheckID(field, id string) error {
	if IsID(id) {
		return nil
	}
	return fmt.Errorf("%s %q is not an id: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit", field, fault.Clip(id))
}

// maxUser is the maximum length of a user's name, in characters.
const maxUser = 128

// CheckUser returns an error that names field if user is not a user's name. Names are parts of paths and Redis
// keys.
func CheckUser(field, user string) error {
	foreign := strings.ContainsFunc(user, func(r rune) bool { return !unicode.IsPrint(r) })
	if user == "" || foreign || !utf8.ValidString(user) || utf8.RuneCountInString(user) > maxUser || strings.TrimSpace(user) != user || user == "." || user == ".." {
		return fmt.Errorf("%s %q is not a user: 1 to %d printable characters, the first and the last no space, and not . or .. alone", field, fault.Clip(user), maxUser)
	}
	return nil
}

// CheckToolName returns an error if name is not a valid name of a tool.
func CheckToolName(name string) error {
	if namePattern.MatchString(name) {
		return nil
	}
	return fmt.Errorf("name %q is not a tool name: 1 to 64 of A-Z a-z 0-9 _ -", fault.Clip(name))
}

func checkSecret(text string) error {
	if text == "" {
		return errors.New("is empty; leave it out, or send *** to keep what is stored")
	}
	return nil
}

// CheckToolType returns an error that lists the types of tools if text is not one of them.
func CheckToolType(text string) error {
	if slices.Contains(toolTypes, text) {
		return nil
	}
	return fault.New("", "%q is not a supported type of tool: %s%s; a tool without a type fires an event and calls its url",
		fault.Clip(text), fault.OneOf(toolTypes), hintOfType(text, toolTypes))
}

// checkSigningSecret requires a secret for verifiers of Standard Webhooks: base64, optionally after whsec_.
func checkSigningSecret(text string) error {
	if text == secret.Masked {
		return nil
	}
	secrets := strings.Fields(text)
	for _, secret := range secrets {
		encoded, prefixed := strings.CutPrefix(secret, "whsec_")
		key, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || len(key) == 0 || !prefixed && (len(key) < 24 || len(key) > 64) {
			return errors.New("is not a valid secret: give 24 to 64 bytes in base64, with or without whsec_ before them, as from: echo whsec_$(openssl rand -base64 32)")
		}
	}
	if len(secrets) == 0 {
		return checkSecret("")
	}
	return nil
}

// eventTypes are the first two tokens of the subjects of events, except those of emitters.
var eventTypes = []string{
	"tool.trigger", "tool.result", "tool.rejected", "tool.notmatching", "tool.confirm", "tool.cancelled", "tool.duplicate", "tool.changed", "tool.webhook",
	"chat.message", "chat.failed",
}

// among returns a check that proposes one of the known texts; what is the kind of text.
func among(known []string, what string) func(string) error {
	return func(text string) error {
		if slices.Contains(known, text) {
			return nil
		}
		return fault.New("", "%q is not %s: %s%s", fault.Clip(text), what, fault.OneOf(known), fault.DidYouMean(text, known))
	}
}

// scopePattern is scope-token of RFC 6749, section 3.3.
var scopePattern = regexp.MustCompile(`^[!\x23-\x5B\x5D-\x7E]+$`)

var providers = []string{"openai", "anthropic", "gemini", "cohere"}

func checkModel(text string) error {
	provider, model, found := strings.Cut(text, "/")
	if !found || model == "" {
		return fmt.Errorf("%q is not provider/model, as in openai/gpt-4o-mini", fault.Clip(text))
	}
	return among(providers, "a known provider")(provider)
}

var (
	// connectionHeaders are set by the connection (RFC 9110, section 7.6.1), the URL or the body. Accept-Encoding is one
	// of them because answers are stored as text.
	connectionHeaders = []string{
		"connection", "content-length", "host", "keep-alive", "proxy-authenticate", "proxy-authorization",
		"proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "expect", "accept-encoding",
	}
	// attemptHeaders identify an attempt at a call.
	attemptHeaders = []string{
		"webhook-id", "webhook-timestamp", "webhook-signature", "idempotency-key", "x-idempotency-key", "earshot-attempt", "traceparent",
	}
)

// IsAttemptHeader reports whether each attempt at a call sets a header itself.
func IsAttemptHeader(name string) bool { return slices.Contains(attemptHeaders, strings.ToLower(name)) }

// IsOwnHeader reports whether a call has a header of its own, which no tool and no source sets.
func IsOwnHeader(name string) bool {
	return slices.Contains(connectionHeaders, strings.ToLower(name)) || IsAttemptHeader(name)
}

func checkHeaderName(text string) error {
	if !httpguts.ValidHeaderFieldName(text) {
		return fmt.Errorf("%q is not the name of a header", fault.Clip(text))
	}
	switch {
	case slices.Contains(connectionHeaders, strings.ToLower(text)):
		return fmt.Errorf("the header %s belongs to the connection and cannot be set", text)
	case IsAttemptHeader(text):
		return fmt.Errorf("the header %s is set by each attempt at the call and cannot be set here; leave it out", text)
	}
	return nil
}

func checkHeaderValue(text string) error {
	if strings.ContainsAny(text, "\r\n\x00") {
		return errors.New("the value of a header cannot hold line breaks or NUL")
	}
	if !httpguts.ValidHeaderFieldValue(text) {
		return errors.New("the value of a header cannot hold control characters")
	}
	return nil
}

var methods = []string{"GET", "POST", "PUT", "PATCH", "DELETE"}

func checkMethod(text string) error {
	if slices.Contains(methods, strings.ToUpper(text)) {
		return nil
	}
	return among(methods, "a method of a call")(text)
}

// unsupportedTypes begin the unsupported types of Toolbox. None is a misspelling of a supported one.
var unsupportedTypes = []string{
	"alloydb", "bigquery", "bigtable", "cassandra", "clickhouse", "cloud-", "cockroachdb", "conversational-", "couchbase", "dataform", "dataplex", "dataproc", "dgraph",
	"elasticsearch", "firebird", "firestore", "gemini", "looker", "mariadb", "mindsdb", "mongodb", "mssql", "neo4j", "oceanbase", "oracle", "redis", "scylladb", "serverless-",
	"singlestore", "snowflake", "spanner", "tidb", "trino", "valkey", "wait", "yugabyte",
}

func hintOfType(text string, known []string) fault.Meant {
	hint := fault.DidYouMean(text, known)
	if slices.ContainsFunc(unsupportedTypes, func(begin string) bool { return strings.HasPrefix(text, begin) }) {
		hint.Suggestion = ""
	}
	return hint
}

// CheckSourceType returns an error with an alternative if a type is unsupported.
func CheckSourceType(text string) error {
	if slices.Contains(sourceTypes, text) {
		return nil
	}
	if strings.HasSuffix(text, "-postgres") {
		return fmt.Errorf("%q is not supported: it needs its vendor's own connector; a database that is reached by host and port is of type %s", fault.Clip(text), SourcePostgres)
	}
	return fault.New("", "%q is not a supported type of source: %s%s", fault.Clip(text), fault.OneOf(sourceTypes), hintOfType(text, sourceTypes))
}

// hostPattern matches a host name (RFC 1123), but no list of hosts and no path of a socket.
var hostPattern = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,252})$`)

func checkDatabase(text string) error {
	switch {
	case text == "":
		return errors.New("is empty")
	case strings.ContainsRune(text, 0):
		return errors.New("holds a NUL")
	}
	return nil
}

// toolPattern matches a pattern of MCP tool names (revision 2026-07-28), also those of older servers.
var toolPattern = regexp.MustCompile(`^[A-Za-z0-9_.:/*?-]{1,128}$`)

// unless returns a check that refuses texts for which matches is false. The format takes the text.
func unless(matches func(text string) bool, format string) func(string) error {
	return func(text string) error {
		if matches(text) {
			return nil
		}
		return fmt.Errorf(format, fault.Clip(text))
	}
}

func isAddress(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil
}

// durations are the formats of positive durations.
var durations = map[string]struct {
	most    time.Duration
	example string
}{
	"timeout":       {maxTimeout, "10s"},
	"retry-for":     {MostRetryFor, "15m"},
	"settle":        {maxSettle, "800ms"},
	"dedupe-within": {maxDedupe, "10m"},
	"answer-within": {maxAnswer, "30s"},
}

func upTo(most time.Duration, example string) func(string) error {
	return func(text string) error {
		duration, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("%q is not a duration as %q: a number with a unit, of ms, s, m and h", fault.Clip(text), example)
		}
		if duration <= 0 || duration > most {
			return fmt.Errorf("%q is out of range: more than 0 and at most %s", fault.Clip(text), zeroParts.Replace(most.String()))
		}
		return nil
	}
}

func checkRefresh(text string) error {
	if err := upTo(maxRefresh, "5m")(text); err != nil {
		return err
	}
	if given, _ := time.ParseDuration(text); given < minRefresh {
		return fmt.Errorf("%q is too short: the tools of a server are refreshed at most every %s", fault.Clip(text), minRefresh)
	}
	return nil
}

// zeroParts shortens 24h0m0s to 24h.
var zeroParts = strings.NewReplacer("m0s", "m", "h0m0s", "h")

// checkURL requires an absolute http or https URL.
func checkURL(text string) error {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Scheme == "" || parsed.Host == "" && parsed.Opaque == "" && parsed.Path == "" {
		// The text may contain credentials, which the error omits.
		return fmt.Errorf("%q is not an absolute URL, as https://example.org/path", fault.Clip(userinfo.ReplaceAllString(text, "//")))
	}
	if scheme := strings.ToLower(parsed.Scheme); scheme != "http" && scheme != "https" {
		return fmt.Errorf("%q is not a supported scheme: http or https", fault.Clip(parsed.Scheme))
	}
	if parsed.User != nil {
		return errors.New("a URL does not carry credentials; use auth basic")
	}
	if parsed.Hostname() == "" {
		return fmt.Errorf("%q names no host", fault.Clip(text))
	}
	if port, err := strconv.ParseUint(parsed.Port(), 10, 16); parsed.Port() != "" && (err != nil || port == 0) {
		return fmt.Errorf("%q is not a port: 1 to 65535", parsed.Port())
	}
	return nil
}

var userinfo = regexp.MustCompile(`//[^/?#]*@`)

// authority matches the scheme and authority of a URL (RFC 3986, section 3).
var authority = regexp.MustCompile(`^([^/?#]*:)?//[^/?#]*`)

// urlParameter matches a possible :param. The longest name that the tool has counts.
var urlParameter = regexp.MustCompile(`:[A-Za-z_][A-Za-z0-9_-]*`)

// bracketed matches an IPv6 address in a URL.
var bracketed = regexp.MustCompile(`\[[^\]]*\]`)

// checkCallURL also refuses a :param in scheme, host and port: values come from a model, but the author decides who
// is called.
func checkCallURL(text string) error {
	front := bracketed.ReplaceAllString(authority.FindString(text), "")
	if strings.Contains(front, "@") {
		return errors.New("a URL does not carry credentials; use auth basic")
	}
	if name := urlParameter.FindString(strings.TrimSuffix(front, ":")); name != "" {
		return fmt.Errorf("%s is in the scheme, host or port, which must not depend on a value", fault.Clip(name))
	}
	if names := bracedIn(front); len(names) > 0 {
		return fmt.Errorf("%s is in the scheme, host or port, which must not depend on a value", fault.Clip(names[0].text))
	}
	return checkURL(text)
}

// pathAndQuery returns a URL without scheme and authority.
func pathAndQuery(text string) string { return strings.TrimPrefix(text, authority.FindString(text)) }

// inBraces matches a name in braces, as {day}, a parameter in OpenAPI and elsewhere, and other templates' ${day},
// {{day}} and {{.day}}.
var inBraces = regexp.MustCompile(`\$?\{+\s*\.?([^{}]*?)\s*\}+`)

// braced is a name in braces, and its text including the braces.
type braced struct{ text, name string }

// bracedIn returns the distinct names in braces in texts. They are sent unfilled.
func bracedIn(texts ...string) []braced {
	var all []braced
	seen := map[string]bool{"": true}
	for _, text := range texts {
		for _, found := range inBraces.FindAllStringSubmatch(text, -1) {
			if one := (braced{found[0], found[1]}); !seen[one.name] {
				seen[one.name] = true
				all = append(all, one)
			}
		}
	}
	return all
}

// pathParameter matches a possible :param. Unlike urlParameter, its name may begin with a digit.
var pathParameter = regexp.MustCompile(`:[A-Za-z0-9_-]+`)

// parameterNamed returns the longest known name that text is or begins with, before a hyphen: in /:from-:to the
// hyphen belongs to the path. It is empty without one.
func parameterNamed(text string, known []string) string {
	for {
		if slices.Contains(known, text) {
			return text
		}
		end := strings.LastIndexByte(text, '-')
		if end < 0 {
			return ""
		}
		text = text[:end]
	}
}
