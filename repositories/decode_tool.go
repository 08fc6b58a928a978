package repositories

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"earshot/repositories/annotations"
	"earshot/repositories/fault"
	"earshot/repositories/parameters"
	"earshot/repositories/template"
)

func (d *decoding) tools(tools []Tool) {
	var given struct {
		Tools []map[string]json.RawMessage `json:"tools"`
	}
	if d.Faultless() {
		_ = json.Unmarshal(d.Raw(), &given) // it was read before
	}
	seen := map[string]int{}
	for i := range tools {
		t, at := &tools[i], fault.Point("tools", i)
		if t.Request != nil && t.URL == "" && t.Type == "" && t.Answer == nil {
			d.Miss(at+"/url", ": request says how to call, and there is nothing to call")
		}
		if d.Full() {
			continue
		}
		if len(given.Tools) == len(tools) && d.Faultless() {
			t.restore(given.Tools[i])
		}
		d.unique(seen, t.Name, i, at+"/name", "%q is the name of tool %d as well; each has its own")
		d.parameters(t, at)
		d.marks(t, at)
		d.typed(t, at)
		d.held(t, at)
		if t.Request != nil {
			d.request(t.Request, at+"/request")
		}
	}
}

func (d *decoding) parameters(t *Tool, at string) {
	compiled, faults := t.compile(&d.patterns)
	if compiled != nil {
		faults.Join(compiled.Unfit())
	}
	listed, more := faults.Listed()
	for _, one := range listed {
		d.Add(at+one.Pointer, "%s", one)
	}
	d.Skip(more)
	at += "/url"
	if compiled == nil || d.Faulty(at) {
		return
	}

	known := append(compiled.Names(), "appId")
	unknown := map[string]bool{}
	for _, name := range urlParameter.FindAllString(pathAndQuery(t.URL), -1) {
		if parameterNamed(name[1:], known) != "" || unknown[name] {
			continue
		}
		unknown[name] = true
		if d.Full() {
			d.Skip(1) // a hint for each would cost quadratic time
			continue
		}
		meant, way := fault.DidYouMean(strings.TrimPrefix(name, ":"), known), ""
		if meant.Suggestion == "" {
			way = "; write %3A for a colon that is meant as it is"
		}
		d.Another(at, "%s is not a parameter of the tool%s%s", fault.Clip(name), meant, way)
	}
	for _, found := range bracedIn(pathAndQuery(t.URL)) { // braces are never filled
		switch {
		case !slices.Contains(known, found.name):
		case d.Full():
			d.Skip(1)
		default:
			way := "a parameter is written :name, and its name has A-Z a-z 0-9 _ - alone"
			if pathParameter.FindString(":"+found.name) == ":"+found.name {
				way = "write :" + fault.Clip(found.name)
			}
			d.Another(at, "%s is not filled in: %s"+asItIs, fault.Clip(found.text), way)
		}
	}
}

const asItIs = "; write %%7B and %%7D for braces that are meant as they are"

// marks reports marks without a value in examples, after the faults of the parameters.
func (d *decoding) marks(t *Tool, at string) {
	if t.params == nil {
		return
	}
	names, left := t.params.Names(), maxMarks
	for i, given := range t.Examples {
		annotations.Parse(given, func(parameter, words string) (any, bool) {
			if left--; d.Full() || left < 0 {
				return nil, false
			}
			if flaw := t.markFlaw(names, parameter, words); flaw != nil {
				d.Another(at+fault.Point("examples", i), "%s", flaw)
			}
			return nil, false
		})
	}
	if left < 0 {
		d.Add(at+"/examples", "mark %d values; a tool marks at most %d", maxMarks-left, maxMarks)
	}
}

func (t *Tool) markFlaw(names []string, parameter, words string) error {
	if words == "" {
		return errors.New("has a mark without words for " + fault.Show(parameter))
	}
	_, why, known := t.params.Said(parameter, words)
	switch {
	case known && why == "":
		return nil
	case known:
		return errors.New(fault.Show(words) + " is marked as " + parameter + ": " + why)
	}
	hint := ""
	if strings.ContainsAny(parameter, "/. ") || parameter == "" {
		hint = `; write \[ for a bracket that is meant as it is`
	}
	return fault.New("", "%s is marked as %s, which is not a parameter of the tool%s%s", fault.Show(words), fault.Show(parameter), fault.DidYouMean(parameter, names), hint)
}

var (
	httpTypes  = []string{ToolHTTP}
	mcpTypes   = []string{ToolMCP}
	untyped    = []string{""}
	plainLists = slices.Concat(statementTypes, mcpTypes, untyped)
)

var toolFields = []typedField[*Tool]{
	{"source", toolTypes, toolTypes, func(t *Tool) bool { return t.Source != "" }},
	{"remoteName", mcpTypes, nil, func(t *Tool) bool { return t.RemoteName != "" }},
	{"statement", statementTypes, statementTypes, func(t *Tool) bool { return t.Statement != "" }},
	{"readOnly", slices.Concat(statementTypes, executeTypes, httpTypes, mcpTypes, untyped), nil, func(t *Tool) bool { return t.ReadOnly != nil }},
	{"method", httpTypes, httpTypes, func(t *Tool) bool { return t.Method != "" }},
	{"path", httpTypes, httpTypes, func(t *Tool) bool { return t.Path != "" }},
	{"headers", httpTypes, nil, func(t *Tool) bool { return len(t.Headers) > 0 }},
	{"requestBody", httpTypes, nil, func(t *Tool) bool { return t.RequestBody != "" }},
	{"pathParams", httpTypes, nil, func(t *Tool) bool { return parameters.Present(t.PathParams) }},
	{"queryParams", httpTypes, nil, func(t *Tool) bool { return parameters.Present(t.QueryParams) }},
	{"bodyParams", httpTypes, nil, func(t *Tool) bool { return parameters.Present(t.BodyParams) }},
	{"headerParams", httpTypes, nil, func(t *Tool) bool { return parameters.Present(t.HeaderParams) }},
	{"schema", plainLists, nil, func(t *Tool) bool { return parameters.Present(t.Schema) }},
	{"parameters", plainLists, nil, func(t *Tool) bool { return parameters.Present(t.Parameters) }},
	{"templateParameters", slices.Concat(statementTypes, untyped), nil, func(t *Tool) bool { return parameters.Present(t.TemplateParameters) }},
	{"url", untyped, nil, func(t *Tool) bool { return t.URL != "" }},
}

func (d *decoding) typed(t *Tool, at string) {
	t.Method = strings.ToUpper(t.Method)
	if d.Faulty(at + "/type") {
		return // its required fields are unknown
	}
	for _, field := range toolFields {
		exists, applies := field.given(t), slices.Contains(field.of, t.Type)
		switch {
		case exists && !applies && t.Type == "":
			hint := ""
			if field.name == "method" || field.name == "headers" {
				hint = "; of a tool without a type it stands in its request"
			}
			d.Add(at+fault.Point(field.name), "is for tools of type %s%s", fault.OneOf(field.of), hint)
		case exists && !applies:
			d.Add(at+fault.Point(field.name), "is not for tools of type %s%s", t.Type, alternativeTo(field.name, t.Type))
		case !exists && slices.Contains(field.needed, t.Type):
			d.needs(false, at+fault.Point(field.name), t.Type)
		}
	}
	if t.Type == "" {
		return
	}
	d.limitedRequest(t, at+"/request")
	switch {
	case t.RunsStatement():
		d.statement(t, at+"/statement")
	case t.Type == ToolHTTP:
		d.headers(t.Headers, at+"/headers")
		d.httpParameters(t, at)
		d.path(t, at+"/path")
		d.requestBody(t, at)
	}
}

func alternativeTo(field, toolType string) string {
	switch {
	case field == "url":
		return "; what they reach is their source"
	case field == "readOnly" && slices.Contains(tablesTypes, toolType):
		return "; they change nothing"
	case slices.Contains(executeTypes, toolType):
		return "; they have one parameter, " + SQLParameter
	case slices.Contains(tablesTypes, toolType):
		return "; they have the parameters " + TablesParameter + " and " + FormatParameter
	case toolType == ToolHTTP:
		return "; they have pathParams, queryParams, bodyParams and headerParams"
	}
	return ""
}

// limitedRequest checks the request of a tool with a source: timeouts, idempotence, and an http tool's auth.
func (d *decoding) limitedRequest(t *Tool, at string) {
	r := t.Request
	if r == nil {
		return
	}
	refuse := func(given bool, field, reason string) {
		if given {
			d.Add(at+fault.Point(field), "is only for calls of a url; %s", reason)
		}
	}
	const stands = "of a tool with a source it stands on the tool"
	refuse(r.Method != "", "method", stands)
	refuse(len(r.Headers) > 0, "headers", stands)
	refuse(parameters.Present(r.Body), "body", stands+", as requestBody")
	if t.Type == ToolHTTP {
		return
	}
	sourceHas := "the source has the credentials"
	if t.RunsStatement() {
		sourceHas = "the source of a statement has the credentials"
	}
	if r.Auth != "" && r.Auth != AuthNone {
		refuse(true, "auth", sourceHas)
		return
	}
	for _, way := range r.ways() {
		refuse(true, fieldOf[way], sourceHas)
	}
}

// statement checks the names pasted into a statement. Without template parameters, braces are plain text.
func (d *decoding) statement(t *Tool, at string) {
	if strings.ContainsRune(t.Statement, 0) {
		d.Add(at, "has a NUL byte, at which a database stops reading; remove it")
	}
	parsed, err := template.Parse(t.Statement, template.Array)
	names := ParameterNames(t.TemplateParameters)
	if err != nil {
		if len(names) > 0 {
			d.Add(at, "%s", err)
		}
		return
	}
	bound := t.BoundNames()
	for _, name := range parsed.Names() {
		number := 1 + slices.Index(bound, name)
		switch {
		case slices.Contains(names, name):
		case number > 0:
			mark := fmt.Sprintf("$%d", number)
			if t.Type == ToolMySQL {
				mark = "?"
			}
			d.Add(at, "pastes %s, which is in parameters: write %s to bind it, or move it to templateParameters", fault.Show(name), mark)
		default:
			d.Add(at, "pastes %s, which is not in templateParameters%s", fault.Show(name), fault.DidYouMean(name, names))
		}
	}
}

func (d *decoding) httpParameters(t *Tool, at string) {
	for _, p := range t.Params().Placed() {
		place := at + p.Place
		switch list, _, _ := strings.Cut(p.Place[1:], "/"); {
		case list == parameters.PathList.Field && (p.Type == "array" || p.Type == "object"):
			d.Add(place+"/type", "is %s; a parameter of a path must be a string, a number or a boolean", p.Kind)
		case list == parameters.HeaderList.Field:
			if p.Type != "string" {
				d.Add(place+"/type", "is %s; a header must be a string", p.Kind)
			}
			if err := checkHeaderName(p.Name); err != nil {
				d.Add(place+"/name", "%s", err)
			}
			if strings.EqualFold(p.Name, "Content-Type") {
				d.Add(place+"/name", "decides how values in the body are escaped: put it into headers")
			}
		}
	}
}

// identifier is a name that a template reads after a point.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// path checks the template of a path, and finds names in single braces, which are never filled.
func (d *decoding) path(t *Tool, at string) {
	if t.Path == "" || d.Faulty(at) {
		return
	}
	parsed, err := template.Parse(t.Path, template.PathEscape, template.QueryEscape)
	if err != nil {
		d.Add(at, "%s", err)
		return
	}
	d.checkNames(parsed.Names(), ParameterNames(t.PathParams), parameters.PathList.Field, at)
	if found := bracedIn(parsed.Literals()...); len(found) > 0 {
		fields := map[string]string{} // of the lists of the parameters
		for _, list := range t.lists() {
			for _, name := range ParameterNames(list.Raw) {
				fields[name] = list.Field
			}
		}
		for _, one := range found {
			field, action := fields[one.name], "{{index . "+fault.Show(one.name)+"}}"
			if identifier.MatchString(one.name) {
				action = "{{." + fault.Clip(one.name) + "}}"
			}
			switch {
			case field == "":
			case d.Full():
				d.Skip(1)
			case field == parameters.PathList.Field:
				d.Another(at, "%s is not filled in: write %s"+asItIs, fault.Clip(one.text), action)
			default:
				d.Another(at, "%s is not filled in: it is one of the %s, but a path takes only pathParams, as {{.name}}", fault.Clip(one.text), field)
			}
		}
	}
	if err := checkResolves(t.Path, "http://h/"); err != nil {
		d.Add(at, "%s", err)
	}
}

func (d *decoding) requestBody(t *Tool, at string) {
	names := ParameterNames(t.BodyParams)
	if t.RequestBody == "" {
		if len(names) > 0 {
			d.Miss(at+"/requestBody", ": bodyParams are pasted into it")
		}
		return
	}
	parsed, err := template.Parse(t.RequestBody, template.ToJSON)
	if err != nil {
		d.Add(at+"/requestBody", "%s", err)
		return
	}
	d.checkNames(parsed.Names(), names, parameters.BodyList.Field, at+"/requestBody")
	if BodyType(t.Headers) == "" && len(parsed.Names()) > 0 {
		d.Add(at+"/headers/Content-Type", "is not supported with values in the body: use JSON, application/x-www-form-urlencoded, XML or text/plain")
	}
}

// checkNames reports names that a template uses and its parameters lack.
func (d *decoding) checkNames(asked, known []string, field, at string) {
	for _, name := range asked {
		if !slices.Contains(known, name) {
			d.Add(at, "pastes %s, which is not in %s%s", fault.Show(name), field, fault.DidYouMean(name, known))
		}
	}
}

// Limits of durations of tools: settle, dedupe and answer.
const (
	maxSettle = 60 * time.Second
	maxDedupe = 168 * time.Hour
	maxAnswer = 24 * time.Hour
)

func (d *decoding) held(t *Tool, at string) {
	t.Settle = t.Settle.inMilliseconds()
	if t.CancelOnNext && t.Settle == 0 && !d.Faulty(at+"/settle") {
		d.Add(at+"/cancelOnNext", "needs settle, the time in which a next message can cancel, as \"800ms\"")
	}
	if t.Answer != nil {
		t.Answer.Within = t.Answer.Within.inMilliseconds()
		d.answered(t, at+"/answer")
	}
	if t.Dedupe == nil {
		return
	}
	t.Dedupe.Within = t.Dedupe.Within.inMilliseconds()
	t.Dedupe.Scope = cmp.Or(t.Dedupe.Scope, DedupeSession)
	var known []string
	for _, list := range t.lists() { // also faulty ones
		names := ParameterNames(list.Raw)
		if d.Faulty(at+fault.Point(list.Field)) || len(list.Raw) > 0 && names == nil || slices.Contains(names, "") {
			return // it may be one that cannot be read
		}
		known = append(known, names...)
	}
	for i, name := range t.Dedupe.By {
		if d.Full() {
			d.Skip(len(t.Dedupe.By) - i)
			return
		}
		if !slices.Contains(known, name) {
			d.Add(at+fault.Point("dedupe", "by", i), "%s is not a parameter of the tool%s", fault.Show(name), fault.DidYouMean(name, known))
		}
	}
}

// inMilliseconds rounds up to the ledger's unit, so that no positive duration becomes 0.
func (d Duration) inMilliseconds() Duration {
	const most = Duration(time.Millisecond - 1)
	return (d + most) / Duration(time.Millisecond) * Duration(time.Millisecond)
}

// answered refuses the fields of a call in a tool with an answer, except the time that a message waits.
func (d *decoding) answered(t *Tool, at string) {
	r := t.Request
	if r == nil {
		r = &Request{}
	}
	var beside []string
	for _, field := range []struct {
		name  string
		given bool
	}{
		{"type", t.Type != ""},
		{"url", t.URL != ""},
		{"request.auth", r.Auth != "" && r.Auth != AuthNone},
		{"request.basic", r.Basic != nil},
		{"request.bearer", r.Bearer != nil},
		{"request.moduleId", r.ModuleID != ""},
		{"request.headers", len(r.Headers) > 0},
		{"request.method", r.Method != ""},
		{"request.retryFor", r.RetryFor != 0},
		{"request.body", parameters.Present(r.Body)},
		{"request.idempotent", r.Idempotent != nil},
	} {
		if field.given {
			beside = append(beside, field.name)
		}
	}
	if len(beside) > 0 {
		d.Add(at, "excludes %s: with answer, a subscriber answers and nothing is called; leave out one of them (request.timeout may stay: it is how long a message waits)", strings.Join(beside, ", "))
	}
}

// request checks and completes a call's configuration. Without auth, the credentials decide.
func (d *decoding) request(r *Request, at string) {
	r.Method = strings.ToUpper(r.Method)
	d.headers(r.Headers, at+"/headers")
	ways := r.ways()
	switch {
	case r.Auth == "" && len(ways) > 1:
		d.Miss(at+"/auth", ", and the credentials of several ways are given; say which is meant: basic, bearer or module")
	case r.Auth == "" && len(ways) == 1:
		r.Auth = ways[0]
	case r.Auth == "":
		r.Auth, r.inferredNone = AuthNone, true
	case r.Auth != AuthNone && !slices.Contains(ways, r.Auth):
		d.Miss(at+fault.Point(fieldOf[r.Auth]), ": auth is "+r.Auth+", which needs "+needs[r.Auth])
	}
	if r.Bearer != nil {
		d.bearer(r.Bearer, at+"/bearer")
	}
}
