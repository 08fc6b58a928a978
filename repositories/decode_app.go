package repositories

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"earshot/repositories/fault"
)

// DecodeApp reads the body of an app. The id is that of the path; an appId in the body must
// agree with it. A credential that is secret.Masked stands for the stored one. All faults
// are returned at once, as a fault.List.
func DecodeApp(id string, body []byte) (*App, error) {
	d, err := decode("App", body)
	if err != nil {
		return nil, err
	}
	d.Agree("appId", id)
	d.prepareSources()
	app := &App{}
	d.Into(app)
	d.modules(app.Modules)
	d.services(app.AuthServices)
	d.sources(app.Sources)
	d.sourceModules(app)
	if err := d.Err(); err != nil {
		return nil, err
	}
	app.ID = id
	return app, nil
}

func (d *decoding) modules(modules []Module) {
	seen := map[string]int{}
	for i, module := range modules {
		if first, twice := seen[module.ID]; twice && module.ID != "" {
			d.Add(fault.Point("modules", i, "moduleId"), "%q is the id of module %d as well", module.ID, first)
			continue
		}
		seen[module.ID] = i
	}
}

func (d *decoding) services(services []AuthService) {
	seen := map[string]int{}
	for i, service := range services {
		at := fault.Point("authServices", i)
		switch service.Type {
		case "google":
			d.needs(service.ClientID != "", at+fault.Point("clientId"), "google")
		case "oidc":
			d.needs(service.Issuer != "", at+fault.Point("issuer"), "oidc")
			d.needs(service.Audience != "", at+fault.Point("audience"), "oidc")
		}
		if first, twice := seen[service.Name]; twice && service.Name != "" {
			d.Add(at+fault.Point("name"), "%q is the name of service %d as well", service.Name, first)
			continue
		}
		seen[service.Name] = i
	}
}

// SourceTypes lists the types of sources that CheckSourceType takes.
func SourceTypes() []string { return slices.Clone(sourceTypes) }

// sourceTypes are the supported types of sources.
var sourceTypes = []string{SourcePostgres, SourceMySQL, SourceSQLite, SourceHTTP, SourceMCP}

// elsewhereTypes begin the types of Toolbox's that are not served here, of sources and of
// tools. None of them is a type of ours that is misspelt.
var elsewhereTypes = []string{
	"alloydb", "bigquery", "bigtable", "cassandra", "clickhouse", "cloud-", "cockroachdb", "conversational-", "couchbase", "dataform", "dataplex", "dataproc", "dgraph",
	"elasticsearch", "firebird", "firestore", "gemini", "looker", "mariadb", "mindsdb", "mongodb", "mssql", "neo4j", "oceanbase", "oracle", "redis", "scylladb", "serverless-",
	"singlestore", "snowflake", "spanner", "tidb", "trino", "valkey", "wait", "yugabyte",
}

// hintOfType is the hint at a type that is misspelt.
func hintOfType(text string, known []string) string {
	if slices.ContainsFunc(elsewhereTypes, func(begin string) bool { return strings.HasPrefix(text, begin) }) {
		return ""
	}
	return fault.DidYouMean(text, known)
}

// CheckSourceType returns an error that says what to write in place of a type of sources that
// is not served.
func CheckSourceType(text string) error {
	if slices.Contains(sourceTypes, text) {
		return nil
	}
	if strings.HasSuffix(text, "-postgres") {
		return fmt.Errorf("%q is not supported: it needs its vendor's own connector; a database that is reached by host and port is of type %s", fault.Clip(text), SourcePostgres)
	}
	return fmt.Errorf("%q is not a supported type of source: %s%s", fault.Clip(text), fault.OneOf(sourceTypes), hintOfType(text, sourceTypes))
}

// hostPattern is a host name (RFC 1123); a list of hosts and the path of a socket are
// none.
var hostPattern = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,252})$`)

func checkHost(text string) error {
	if _, err := netip.ParseAddr(text); err != nil && !hostPattern.MatchString(text) {
		return fmt.Errorf("%q is not a host: one name or one IP address, without a port", fault.Clip(text))
	}
	return nil
}

func checkDatabase(text string) error {
	switch {
	case text == "":
		return errors.New("is empty")
	case strings.ContainsRune(text, 0):
		return errors.New("holds a NUL")
	}
	return nil
}

// prepareSources writes the ports of a body as texts: files have them as numbers, or
// as strings when they come from the environment.
func (d *decoding) prepareSources() {
	sources, _ := d.Object()["sources"].([]any)
	for _, member := range sources {
		source, _ := member.(map[string]any)
		if port, is := source["port"].(json.Number); is {
			source["port"] = port.String()
		}
	}
}

// sourceField is a field that not every type of source has.
type sourceField struct {
	name   string
	of     []string
	needed []string // the types that cannot be without it
	given  func(Source) bool
}

var (
	serverSources   = []string{SourcePostgres, SourceMySQL}
	databaseSources = []string{SourcePostgres, SourceMySQL, SourceSQLite}
	httpSources     = []string{SourceHTTP}
	mcpSources      = []string{SourceMCP}
)

var sourceFields = []sourceField{
	{"host", serverSources, serverSources, func(s Source) bool { return s.Host != "" }},
	{"port", serverSources, nil, func(s Source) bool { return s.Port != "" }},
	{"database", databaseSources, []string{SourcePostgres, SourceSQLite}, func(s Source) bool { return s.Database != "" }},
	{"user", serverSources, serverSources, func(s Source) bool { return s.User != "" }},
	{"password", serverSources, nil, func(s Source) bool { return !s.Password.Empty() }},
	{"readOnly", databaseSources, nil, func(s Source) bool { return s.ReadOnly != nil && *s.ReadOnly }},
	{"queryTimeout", []string{SourceMySQL}, nil, func(s Source) bool { return s.QueryTimeout != 0 }},
	{"baseUrl", httpSources, httpSources, func(s Source) bool { return s.BaseURL != "" }},
	{"headers", []string{SourceHTTP, SourceMCP}, nil, func(s Source) bool { return len(s.Headers) > 0 }},
	{"returnFullError", httpSources, nil, func(s Source) bool { return s.ReturnFullError }},
	{"queryParams", slices.Concat(httpSources, serverSources), nil, func(s Source) bool { return len(s.QueryParams) > 0 }},
	{"url", mcpSources, mcpSources, func(s Source) bool { return s.URL != "" }},
	{"auth", mcpSources, nil, func(s Source) bool { return s.Auth != nil }},
	{"allow", mcpSources, nil, func(s Source) bool { return len(s.Allow) > 0 }},
	{"refresh", mcpSources, nil, func(s Source) bool { return s.Refresh != 0 }},
}

// sources checks the sources of an app.
func (d *decoding) sources(sources []Source) {
	seen := map[string]int{}
	for i, source := range sources {
		at := fault.Point("sources", i)
		if first, twice := seen[source.Name]; twice && source.Name != "" {
			d.Add(at+fault.Point("name"), "%q is the name of source %d as well", source.Name, first)
		} else {
			seen[source.Name] = i
		}
		if !slices.Contains(sourceTypes, source.Type) {
			continue // named already; nobody knows what it needs
		}
		d.sourceFields(source, at)
		d.sourceValues(source, at)
	}
}

func (d *decoding) sourceFields(source Source, at string) {
	for _, field := range sourceFields {
		there, its := field.given(source), slices.Contains(field.of, source.Type)
		switch {
		case there && !its:
			d.Add(at+fault.Point(field.name), "is for sources of type %s, and this is of type %s", fault.OneOf(field.of), source.Type)
		case slices.Contains(field.needed, source.Type):
			d.needs(there, at+fault.Point(field.name), source.Type)
		}
	}
}

func (d *decoding) sourceValues(source Source, at string) {
	if source.DisableSSLVerification {
		d.Add(at+fault.Point("disableSslVerification"), "is not supported: certificates are always verified; leave it out, or set it to false")
	}
	switch source.Type {
	case SourcePostgres:
		d.port(source.Port, at+fault.Point("port"))
		d.connectionSettings(source.QueryParams, postgresSettings, at+fault.Point("queryParams"))
	case SourceMySQL:
		d.port(source.Port, at+fault.Point("port"))
		d.connectionSettings(source.QueryParams, mysqlSettings, at+fault.Point("queryParams"))
		if source.Timeout != 0 && source.QueryTimeout != 0 {
			d.Add(at+fault.Point("queryTimeout"), "is Toolbox's name for timeout, which is given as well; one is enough")
		}
	case SourceSQLite:
		if source.Database == ":memory:" || strings.HasPrefix(source.Database, "file:") {
			d.Add(at+fault.Point("database"), "%q is not the path of a file; a database in memory would be empty for every tool", fault.Clip(source.Database))
		}
	case SourceHTTP:
		d.headers(source.Headers, at+fault.Point("headers"))
		d.baseURL(source.BaseURL, at+fault.Point("baseUrl"))
	case SourceMCP:
		d.headers(source.Headers, at+fault.Point("headers"))
		d.sourceAuth(source, at)
	}
}

func (d *decoding) port(text, at string) {
	if text == "" {
		return
	}
	if n, err := strconv.ParseUint(text, 10, 16); err != nil || n == 0 {
		d.Add(at, "%q is not a port: 1 to 65535", fault.Clip(text))
	}
}

// baseURL refuses what a path that is resolved against it would lose.
func (d *decoding) baseURL(text, at string) {
	parsed, err := url.Parse(text)
	if err != nil {
		return // a fault of its format
	}
	if parsed.RawQuery != "" || parsed.ForceQuery || parsed.Fragment != "" {
		d.Add(at, "holds a query or a fragment; what every request asks for stands in queryParams")
	}
	for _, segment := range strings.Split(parsed.Path, "/") {
		if segment == "." || segment == ".." {
			d.Add(at, "holds a segment %q; write the path that is meant", segment)
			return
		}
	}
}

// connectionSetting is a setting of the connections to a database, with the values that it
// may have: one of a list, what a pattern matches, or any.
type connectionSetting struct {
	name   string
	values []string
	like   *regexp.Regexp
}

// The settings are those that say nothing of files or of the service's own machine.
var (
	postgresSettings = []connectionSetting{
		{name: "application_name"}, {name: "search_path"},
		{name: "sslmode", values: []string{"disable", "allow", "prefer", "require", "verify-ca", "verify-full"}}, // of libpq (PostgreSQL documentation, section 34.19)
		{name: "timezone"},
	}
	mysqlSettings = []connectionSetting{
		{name: "charset", values: []string{"utf8mb4", "utf8"}}, // texts are UTF-8
		{name: "collation", like: regexp.MustCompile(`^[A-Za-z0-9_]{1,64}$`)},
		{name: "parseTime", values: []string{"true", "false"}}, // of Toolbox's driver; times are RFC 3339 in any case
		{name: "time_zone", like: regexp.MustCompile(`^'?[A-Za-z0-9_+:/-]{1,64}'?$`)},
		{name: "tls", values: []string{"true", "false", "preferred", "skip-verify"}},
	}
)

func (d *decoding) connectionSettings(given Headers, settings []connectionSetting, at string) {
	names := make([]string, len(settings))
	for i, setting := range settings {
		names[i] = setting.name
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		i, value := slices.Index(names, name), given[name].Reveal()
		switch {
		case i < 0:
			d.Add(at+fault.Point(name), "is not a supported setting of a connection: %s%s", fault.OneOf(names), fault.DidYouMean(name, names))
		case settings[i].values != nil && !slices.Contains(settings[i].values, value):
			d.Add(at+fault.Point(name), "%q is not a value of %s: %s%s", fault.Clip(value), name, fault.OneOf(settings[i].values), fault.DidYouMean(value, settings[i].values))
		case settings[i].like != nil && !settings[i].like.MatchString(value):
			d.Add(at+fault.Point(name), "%q is not a value of %s", fault.Clip(value), name)
		}
	}
}
