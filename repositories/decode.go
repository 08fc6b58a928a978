package repositories

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/lists"
	"earshot/repositories/secret"
)

// DecodeApp reads the body of an app; an appId in it must agree with the path's. A credential that is
// secret.Masked stands for the stored one. All faults are returned at once, as a fault.List.
func DecodeApp(id string, body []byte) (*App, error) {
	d, app, err := readApp(id, body)
	if err == nil {
		err = d.Err()
	}
	if err != nil {
		return nil, err
	}
	app.ID = id
	return app, nil
}

// readApp returns the faultless parts of an app's body, beside its faults.
func readApp(id string, body []byte) (*decoding, *App, error) {
	d, err := decode("App", body)
	if err != nil {
		return nil, nil, err
	}
	d.Agree("appId", id)
	sources, _ := d.Object()["sources"].([]any)
	for _, member := range sources { // ports become texts; files have numbers
		source, _ := member.(map[string]any)
		if port, ok := source["port"].(json.Number); ok {
			source["port"] = port.String()
		}
	}
	app := &App{}
	d.Into(app)
	d.app(app)
	return d, app, nil
}

// DecodeRepository reads the body of a repository; ids in it must agree with the path's. If id is empty, the body
// may contain one, else the caller generates it. With From the tools are nil: they are unknown yet. All faults are
// returned at once, as a fault.List.
func DecodeRepository(scope Scope, id string, body []byte) (*Repository, error) {
	d, r, err := readRepository(scope, id, body)
	if err == nil {
		err = d.Err()
	}
	if err != nil {
		return nil, err
	}
	r.AppID, r.SessionID, r.ID = scope.AppID, scope.SessionID, cmp.Or(id, r.ID)
	if r.Tools == nil && r.From == "" {
		r.Tools = []Tool{}
	}
	return r, nil
}

// UnstoredOf returns the masks for which the current app has no credential, in a body that DecodeApp refuses. So a client
// learns both at once.
func UnstoredOf(current *App, body []byte) fault.List {
	d, app, err := readApp(current.ID, body)
	if err != nil {
		return nil
	}
	return d.unstored(app.Credentials(), current.Credentials())
}

// unstored returns the masks without a stored credential in the faultless parts of a body.
func (d *decoding) unstored(given, stored []Credential) (faults fault.List) {
	has := map[string]bool{}
	for _, c := range stored {
		has[c.Name] = !c.Get().Empty()
	}
	for _, c := range given {
		unnamed := strings.Contains(c.Name+"/", "//") // its owner has no name
		if c.Get().IsMasked() && !has[c.Name] && !unnamed && !d.Faulty(c.pointer) {
			faults.Add(c.pointer, noneStored, secret.Masked)
		}
	}
	return faults
}

// Unresolved returns what Check finds in a body that DecodeRepository refuses, without its faulty parts, and the masks for
// which the current repository has no credential; nil if it is not known. So a client learns all at once.
func Unresolved(app *App, scope Scope, id string, body []byte, current *Repository) (found fault.List) {
	d, r, err := readRepository(scope, id, body)
	if err != nil {
		return nil
	}
	r.SessionID = scope.SessionID
	errors.As(r.Check(app), &found)
	found = slices.DeleteFunc(found, func(one fault.Fault) bool { return d.Faulty(one.Pointer) })
	if current != nil {
		found.Join(d.unstored(r.Credentials(), current.Credentials()))
	}
	return found
}

// readRepository returns the faultless parts of a repository's body, beside its faults.
func readRepository(scope Scope, id string, body []byte) (*decoding, *Repository, error) {
	d, err := decodeTools("Repository", scope, id, body)
	if err != nil {
		return nil, nil, err
	}
	d.from()
	r := &Repository{}
	d.Into(r)
	d.tools(r.Tools)
	return d, r, nil
}

// DecodePatch reads the body of a PATCH: tools to add or override, and options that replace the present ones.
func DecodePatch(scope Scope, id string, body []byte) (*Patch, error) {
	d, err := decodeTools("Patch", scope, id, body)
	if err != nil {
		return nil, err
	}
	p := &Patch{}
	d.Into(p)
	d.tools(p.Tools)
	if err := d.Err(); err != nil {
		return nil, err
	}
	return p, nil
}

// decodeTools reads a body with tools and removes the times, which clients may send back.
func decodeTools(name string, scope Scope, id string, body []byte) (*decoding, error) {
	d, err := decode(name, body)
	if err != nil {
		return nil, err
	}
	d.Agree("appId", scope.AppID)
	d.Agree("sessionId", scope.SessionID)
	if id != "" {
		d.Agree("repositoryId", id)
	}
	delete(d.Object(), "created")
	delete(d.Object(), "updated")
	tools, _ := d.Object()["tools"].([]any)
	for i := range tools {
		tool, _ := tools[i].(map[string]any)
		request, _ := tool["request"].(map[string]any)
		if url, given := request["url"]; given && tool["url"] != nil && tool["url"] != url {
			d.Add(fault.Point("tools", i, "request", "url"), "differs from the tool's url, which is also given; give one of them")
		}
	}
	return d, nil
}

// from checks a repository with a source and removes its tools, which a client may send back.
func (d *decoding) from() {
	source, _ := d.Object()["from"].(string)
	tools, given := d.Object()["tools"].([]any)
	if source == "" {
		if !given {
			d.Miss("/tools", "")
		}
		return
	}
	for i, member := range tools {
		tool, _ := member.(map[string]any)
		if tool["type"] != ToolMCP || tool["source"] != source {
			d.Add(fault.Point("tools", i), "%s", ownTools(source, "")[0].Detail)
		}
	}
	delete(d.Object(), "tools")
}

// AppPatch is a JSON merge patch (RFC 7396): null takes a field away, objects are merged, lists replaced.
type AppPatch struct {
	id    string
	patch any
}

// DecodeAppPatch reads the body of a patch, whose parts follow the rules of DecodeApp. The error is a fault.List.
func DecodeAppPatch(id string, body []byte) (*AppPatch, error) {
	_, invalid := DecodeApp(id, body)
	patch, err := exactjson.Decode(body)
	var faults fault.List
	if err == nil && errors.As(invalid, &faults) {
		// Null is valid for any field, but only for one that exists.
		invalid = slices.DeleteFunc(faults, func(one fault.Fault) bool {
			return removes(patch, one.Pointer) && !strings.HasPrefix(one.Detail, "unknown field")
		}).Err()
	}
	if invalid != nil {
		return nil, invalid
	}
	return &AppPatch{id, patch}, err
}

func removes(patch any, pointer string) bool {
	for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		object, _ := patch.(map[string]any)
		value, given := object[name]
		if !given {
			return false
		}
		patch = value
	}
	return patch == nil
}

// Next returns the patched app. Credentials that the patch omits are secret.Masked. Contradictions are returned as
// a fault.List.
func (p *AppPatch) Next(current *App) (*App, error) {
	text, err := exactjson.Encode(current)
	if err != nil {
		return nil, err
	}
	shown, err := exactjson.Decode(text)
	if err != nil {
		return nil, err
	}
	merged, err := exactjson.Encode(mergePatch(shown, p.patch))
	if err != nil {
		return nil, err
	}
	return DecodeApp(p.id, merged)
}

// mergePatch is the function MergePatch of RFC 7396, section 2. It changes the target.
func mergePatch(target, patch any) any {
	fields, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	object, ok := target.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	for name, value := range fields {
		if value == nil {
			delete(object, name)
		} else {
			object[name] = mergePatch(object[name], value)
		}
	}
	return object
}

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
				d.Add(at+"/agents", "is only for services of type oidc: Google's access tokens are not JSON Web Tokens, so that they cannot be verified")
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
			d.Add(at+"/queryTimeout", "is Toolbox's name for timeout, which is also given; give one of them")
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
			d.Add(at+"/baseUrl", "has a query or a fragment; put parameters of every request into queryParams")
		}
		for segment := range strings.SplitSeq(parsed.Path, "/") {
			if segment == "." || segment == ".." {
				d.Add(at+"/baseUrl", "has a segment %q; write the path without it", segment)
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
		d.Add(at, "needs one of basic, bearer and moduleId; put a token that never changes into headers, as Authorization")
	}
	if s.Auth.Bearer != nil {
		d.bearer(s.Auth.Bearer, at+"/bearer")
	}
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") {
			d.Add(at, "conflicts with the header %s, which it would replace; give one of them", name)
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
