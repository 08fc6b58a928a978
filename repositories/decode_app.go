package repositories

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"earshot/repositories/fault"
	"earshot/repositories/lists"
)

func (d *decoding) app(app *App) {
	seen := map[string]int{}
	for i, module := range app.Modules {
		d.unique(seen, module.ID, i, fault.Point("modules", i, "moduleId"), "%q is the id of module %d as well")
	}

	seen = map[string]int{}
	for i, service := range app.AuthServices {
		at := fault.Point("authServices", i)
		switch service.Type {
		case "google":
			d.needs(service.ClientID != "", at+"/clientId", "google")
			if service.Agents != "" {
				d.Add(at+"/agents", "is for services of type oidc: the access tokens of Google are no JSON Web Tokens, which could be verified")
			}
		case "oidc":
			d.needs(service.Issuer != "", at+"/issuer", "oidc")
			d.needs(service.Audience != "", at+"/audience", "oidc")
			if service.Agents == "*" {
				d.Add(at+"/agents", "names one origin: that of the URLs at which agents reach this service, as https://earshot.example")
			}
		}
		d.unique(seen, service.Name, i, at+"/name", "%q is the name of service %d as well")
	}

	d.webhooks(app)
	seen = map[string]int{}
	for i, source := range app.Sources {
		at := fault.Point("sources", i)
		d.unique(seen, source.Name, i, at+"/name", "%q is the name of source %d as well")
		if slices.Contains(sourceTypes, source.Type) { // else its required fields are unknown
			d.source(source, at)
		}
		if source.Auth == nil || source.Auth.ModuleID == "" {
			continue
		}
		if reason := app.lacksModule(source.Auth.ModuleID); reason != nil {
			d.Add(at+"/auth/moduleId", "%s", reason)
		}
	}
}

var sourceTypes = []string{SourcePostgres, SourceMySQL, SourceSQLite, SourceHTTP, SourceMCP}

// SourceTypes lists the types that a source may have.
func SourceTypes() []string { return slices.Clone(sourceTypes) }

var (
	serverSources   = []string{SourcePostgres, SourceMySQL}
	databaseSources = []string{SourcePostgres, SourceMySQL, SourceSQLite}
	httpSources     = []string{SourceHTTP}
	mcpSources      = []string{SourceMCP}
)

var sourceFields = []typedField[Source]{
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

func (d *decoding) source(s Source, at string) {
	for _, field := range sourceFields {
		current := field.given(s)
		switch {
		case current && !slices.Contains(field.of, s.Type):
			d.Add(at+fault.Point(field.name), "is for sources of type %s, and this is of type %s", fault.OneOf(field.of), s.Type)
		case slices.Contains(field.needed, s.Type):
			d.needs(current, at+fault.Point(field.name), s.Type)
		}
	}
	if s.DisableSSLVerification {
		d.Add(at+"/disableSslVerification", "is not supported: certificates are always verified; leave it out, or set it to false")
	}
	switch s.Type {
	case SourcePostgres, SourceMySQL:
		if n, err := strconv.ParseUint(s.DatabasePort(), 10, 16); err != nil || n == 0 {
			d.Add(at+"/port", "%q is not a port: 1 to 65535", fault.Clip(s.Port))
		}
		d.connectionSettings(s.QueryParams, settingsOf[s.Type], at+"/queryParams")
		if s.Type == SourceMySQL && s.Timeout != 0 && s.QueryTimeout != 0 {
			d.Add(at+"/queryTimeout", "is Toolbox's name for timeout, which is given as well; one is enough")
		}
	case SourceSQLite:
		if s.Database == ":memory:" || strings.HasPrefix(s.Database, "file:") {
			d.Add(at+"/database", "%q is not the path of a file; a database in memory would be empty for every tool", fault.Clip(s.Database))
		}
	case SourceHTTP:
		d.headers(s.Headers, at+"/headers")
		parsed, err := url.Parse(s.BaseURL)
		if err != nil {
			return // reported by its format
		}
		if parsed.RawQuery != "" || parsed.ForceQuery || parsed.Fragment != "" { // resolving a path would lose it
			d.Add(at+"/baseUrl", "holds a query or a fragment; what every request asks for stands in queryParams")
		}
		for segment := range strings.SplitSeq(parsed.Path, "/") {
			if segment == "." || segment == ".." {
				d.Add(at+"/baseUrl", "holds a segment %q; write the path that is meant", segment)
				return
			}
		}
	case SourceMCP:
		d.headers(s.Headers, at+"/headers")
		d.sourceAuth(s, at+"/auth")
	}
}

func (d *decoding) sourceAuth(s Source, at string) {
	if s.Auth == nil {
		return
	}
	if len(s.Request(nil).ways()) != 1 {
		d.Add(at, "needs one of basic, bearer and moduleId; a token that never changes stands in headers, as Authorization")
	}
	if s.Auth.Bearer != nil {
		d.bearer(s.Auth.Bearer, at+"/bearer")
	}
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") {
			d.Add(at, "stands beside the header %s, which it would replace; give one of them", name)
		}
	}
}

// connectionSetting is a setting of a database's connections, with the values that it may have.
type connectionSetting struct {
	name   string
	values []string
	like   *regexp.Regexp
}

// settingsOf are the settings that concern neither files nor the service's own machine.
var settingsOf = map[string][]connectionSetting{
	SourcePostgres: {
		{name: "application_name"}, {name: "search_path"},
		{name: "sslmode", values: []string{"disable", "allow", "prefer", "require", "verify-ca", "verify-full"}}, // of libpq (PostgreSQL documentation, section 34.19)
		{name: "timezone"},
	},
	SourceMySQL: {
		{name: "charset", values: []string{"utf8mb4", "utf8"}}, // texts are UTF-8
		{name: "collation", like: regexp.MustCompile(`^[A-Za-z0-9_]{1,64}$`)},
		{name: "parseTime", values: []string{"true", "false"}}, // of Toolbox's driver; times are RFC 3339 in any case
		{name: "time_zone", like: regexp.MustCompile(`^'?[A-Za-z0-9_+:/-]{1,64}'?$`)},
		{name: "tls", values: []string{"true", "false", "preferred", "skip-verify"}},
	},
}

func (d *decoding) connectionSettings(given Headers, settings []connectionSetting, at string) {
	names := lists.Map(settings, func(setting connectionSetting) string { return setting.name })
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
