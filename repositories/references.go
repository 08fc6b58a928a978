package repositories

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"earshot/repositories/annotations"
	"earshot/repositories/fault"
	"earshot/repositories/lists"
	"earshot/repositories/parameters"
	"earshot/repositories/template"
)

// Check returns a fault.List of the modules, sources and authentication services that tools name and the app lacks.
func (r *Repository) Check(app *App) error {
	var faults fault.List
	if r.SessionID != "" && r.Options.Template {
		faults.Add("/options/template", "is only for repositories of an app; sessions get copies of those")
	}
	if r.From != "" {
		checkSourceType(&faults, "/from", r.From, app, SourceMCP, "the tools of a repository are those of a source")
	}
	service := func(at, name string) {
		known := lists.Map(app.AuthServices, func(one AuthService) string { return one.Name })
		if !slices.Contains(known, name) {
			faults.Add(at, "%s", unknownName(kindService, name, known))
		}
	}
	for i := range r.Tools {
		tool := &r.Tools[i]
		at := fault.Point("tools", i)
		if tool.Request != nil && tool.Request.ModuleID != "" {
			if reason := app.lacksModule(tool.Request.ModuleID); reason != nil {
				faults.Add(at+"/request/moduleId", "%s", reason)
			}
		}
		if tool.Type != "" && checkSourceType(&faults, at+"/source", tool.Source, app, tool.SourceType(), "a tool of type "+tool.Type+" needs one") && tool.Type == ToolHTTP {
			source, _ := app.Source(tool.Source)
			if err := checkResolves(tool.Path, source.BaseURL); err != nil {
				faults.Add(at+"/path", "%s", err)
			}
		}
		for j, name := range tool.AuthRequired {
			service(at+fault.Point("authRequired", j), name)
		}
		for _, p := range tool.Params().Placed() {
			for j, c := range p.Claims {
				service(at+p.Place+fault.Point("authServices", j, "name"), c.Service)
			}
		}
	}
	return faults.Err()
}

// checkSourceType checks that a source exists and has a type. reason tells what requires the type.
func checkSourceType(faults *fault.List, at, name string, app *App, want, reason string) bool {
	source, known := app.Source(name)
	switch {
	case !known:
		names := lists.Map(app.Sources, func(one Source) string { return one.Name })
		faults.Add(at, "%s", unknownName("source", name, names))
	case source.Type != want:
		faults.Add(at, "%s is of type %s; %s of type %s", fault.Show(name), source.Type, reason, want)
	}
	return known && source.Type == want
}

// lacksModule returns why a module cannot be used for calls; nil if it can.
func (a *App) lacksModule(id string) error {
	module, ok := a.Module(id)
	switch {
	case !ok:
		return unknownName("module", id, lists.Map(a.Modules, func(one Module) string { return one.ID }))
	case module.TokenURL == "":
		return fmt.Errorf("module %s has no tokenUrl, so that no token can be obtained; add tokenUrl to the module", fault.Show(id))
	}
	return nil
}

const kindService = "authentication service"

// listsOfApp maps kinds that tools name to the app's fields that list them.
var listsOfApp = map[string]string{"module": "modules", "source": "sources", kindService: "authServices"}

// unknownName describes a name that the app lacks, and lists its present ones.
func unknownName(what, name string, known []string) error {
	meant, more := fault.DidYouMean(name, known), ""
	switch {
	case meant.Suggestion != "": // it stands in the text
	case len(known) == 0:
		more = "; it has none: add one to the " + listsOfApp[what] + " of the app"
	default:
		more = "; it has " + fault.Clip(fault.OneOf(known))
	}
	return fault.New("", "the app has no %s %s%s%s", what, fault.Show(name), meant, more)
}

// Dropped are the modules, sources and authentication services that an app's next state lacks, and the tools that name them.
type Dropped struct {
	parts []*droppedPart
	found int // tools and repositories
}

type droppedPart struct {
	kind, name string
	by         []string // the tools and repositories that name it
}

// Limits of the reported tools that name a dropped part.
const (
	maxNamers = 3
	maxFound  = 1000
)

// Drops returns the parts that the next state lacks, or nil.
func (a *App) Drops(next *App) *Dropped {
	dropped := &Dropped{}
	compare := func(kind, name string, stays bool) {
		if !stays {
			dropped.parts = append(dropped.parts, &droppedPart{kind: kind, name: name})
		}
	}
	for _, module := range a.Modules {
		_, stays := next.Module(module.ID)
		compare("module", module.ID, stays)
	}
	for _, source := range a.Sources {
		_, stays := next.Source(source.Name)
		compare("source", source.Name, stays)
	}
	for _, service := range a.AuthServices {
		compare(kindService, service.Name, slices.ContainsFunc(next.AuthServices, func(other AuthService) bool { return other.Name == service.Name }))
	}
	if len(dropped.parts) == 0 {
		return nil
	}
	return dropped
}

// MayBeIn reports whether the stored form of a repository contains a dropped name.
func (d *Dropped) MayBeIn(stored string) bool {
	return slices.ContainsFunc(d.parts, func(part *droppedPart) bool { return strings.Contains(stored, strconv.Quote(part.name)) })
}

// Look records which of the dropped parts the repository names.
func (d *Dropped) Look(r *Repository) {
	where := "repository " + fault.Show(r.ID)
	if r.SessionID != "" {
		where += " of session " + fault.Show(r.SessionID)
	}
	for _, part := range d.parts {
		if part.kind == "source" && r.From == part.name {
			part.by = append(part.by, where)
			d.found++
			continue
		}
		for i := range r.Tools {
			tool := &r.Tools[i]
			named := part.kind == "source" && tool.Source == part.name ||
				part.kind == "module" && tool.Request != nil && tool.Request.ModuleID == part.name ||
				part.kind == kindService && slices.Contains(tool.services(), part.name)
			if named {
				part.by = append(part.by, "tool "+fault.Show(tool.Name)+" of "+where)
				d.found++
			}
		}
	}
}

// services lists the authentication services that a tool names.
func (t *Tool) services() []string {
	names := slices.Clone(t.AuthRequired)
	for _, p := range t.Params().Placed() {
		names = append(names, lists.Map(p.Claims, func(c parameters.Claim) string { return c.Service })...)
	}
	return names
}

// Enough reports whether the search can stop.
func (d *Dropped) Enough() bool { return d.found >= maxFound }

// Err returns an *InUseError if any tool names a dropped part.
func (d *Dropped) Err() error {
	var faults fault.List
	for _, part := range d.parts {
		if len(part.by) > 0 {
			by := clipped(part.by, maxNamers, "%d more")
			faults.Add(fault.Point(listsOfApp[part.kind]), "lacks the %s %s, which is named by %s", part.kind, fault.Show(part.name), strings.Join(by, ", "))
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return &InUseError{Faults: faults}
}

// clipped returns the first most of a list, and a line with the number of the others.
func clipped(list []string, most int, more string) []string {
	if len(list) <= most {
		return list
	}
	return append(list[:most:most], fmt.Sprintf(more, len(list)-most))
}

// InUseError means that an app would lose modules, sources or authentication services that tools name.
type InUseError struct {
	Faults fault.List // one for each, with the tools that name it
}

// Error explains the consequence and how to force the change.
func (e *InUseError) Error() string {
	return "tools name what the app would lose, and their calls would fail: change or remove them first, or send it with ?force=true"
}

// Limits of notes: tools of SameNames, modules of an app, further repositories with the name.
const (
	maxNotes  = 20
	maxOthers = 3
)

// Notes returns surprises in a decoded app for its author, each with its place.
func (a *App) Notes() fault.List {
	var notes fault.List
	for i, module := range a.Modules {
		if why := module.Guessable(); why != "" {
			notes.Add(fault.Point("modules", i, "secret"), "%s", why)
		}
	}
	return notes
}

// NotesInWords returns the Notes as sentences.
func (a *App) NotesInWords() []string {
	var words []string
	for _, module := range a.Modules {
		if why := module.Guessable(); why != "" {
			words = append(words, fmt.Sprintf("secret of module %q %s", module.ID, why))
		}
	}
	return clipped(words, maxNotes, "and the secrets of %d modules more")
}

// Notes returns surprises in decoded tools for their author, each with its place.
func (r *Repository) Notes() fault.List {
	var notes fault.List
	for i := range r.Tools {
		tool, at := &r.Tools[i], fault.Point("tools", i)
		if request := tool.Request; request != nil && request.inferredNone && len(request.Headers) > 0 {
			notes.Add(at+"/request", `has headers and no auth: its calls authenticate with these headers only, as with auth "none"; set auth to "none" to confirm that, or give basic, bearer or moduleId`)
		}
		for _, place := range tool.Params().Unfillable() {
			notes.Add(at+place, "hides from models a parameter in the path of the url: messages that match the tool are rejected, and only programs can fire it; to fire it by messages, give a value or a default")
		}
		listed, more := tool.Params().Odd().Listed()
		for _, one := range listed {
			notes.Add(at+one.Pointer, "%s", one)
		}
		notes.Skip(more)
		var pasted []openParameter
		if tool.RunsStatement() && json.Unmarshal(tool.TemplateParameters, &pasted) == nil {
			for j := range pasted {
				if pasted[j].open() {
					notes.Add(at+fault.Point("templateParameters", j), "has neither allowedValues nor escape: any text becomes a part of the statement, so that anyone who fires the tool can change the statement")
				}
			}
		}

		if odd := tool.withoutProperties(); odd != "" {
			notes.Add(at+"/parameters", `is a JSON Schema without "properties": the tool takes no value; write {"type": "object", "properties": {%s: {"type": "string"}}}`, fault.Show(odd))
		}
		for j, example := range tool.Examples {
			read := annotations.Parse(example, func(string, string) (any, bool) { return nil, true })
			if strings.Contains(read.Text, "](") {
				notes.Add(at+fault.Point("examples", j), `has "](" without a valid mark; a mark is [words](parameter), with both brackets closed`)
			}
		}

		// A pseudo-parameter in an address may be intended as a parameter.
		field, texts, as := "url", []string{pathAndQuery(tool.URL)}, ":name"
		if tool.Type == ToolHTTP {
			path, err := template.Parse(tool.Path, template.PathEscape, template.QueryEscape)
			if err != nil {
				continue // a fault, reported by the check of the path
			}
			field, texts, as = "path", path.Literals(), "{{.name}}"
		}
		names := tool.Params().Names()
		for _, one := range bracedIn(texts...) {
			if !slices.Contains(names, one.name) { // else a fault, possible in a tool from an earlier version
				notes.Add(at+fault.Point(field), "has %s, which is not a parameter of the tool and is sent unchanged; a parameter is written %s%s", fault.Clip(one.text), as, fault.DidYouMean(one.name, names))
			}
		}
	}
	return notes
}

// withoutProperties returns the first unknown keyword of a JSON Schema without properties, which may be meant as a
// value's name; "" if there is none.
func (t *Tool) withoutProperties() string {
	var given map[string]any
	if json.Unmarshal(t.Parameters, &given) != nil || len(t.Params().Names()) > 0 {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(schemaWords, name) && !strings.HasPrefix(name, "$") {
			return name
		}
	}
	return ""
}

// schemaWords are the keywords of JSON Schema for a schema without properties.
var schemaWords = []string{
	"type", "properties", "additionalProperties", "patternProperties", "propertyNames", "required", "title", "description", "default", "examples",
	"minProperties", "maxProperties", "allOf", "anyOf", "oneOf", "not", "definitions", "strict",
}

type openParameter struct {
	Type, Escape         string
	Value, AllowedValues any
	Items                *openParameter
}

func (p *openParameter) open() bool {
	if p == nil || p.Value != nil || p.Escape != "" || p.AllowedValues != nil {
		return false
	}
	return p.Type == "string" || p.Type == "array" && p.Items.open()
}

// NotesInWords returns the Notes as sentences with the names of the tools.
func (r *Repository) NotesInWords() []string { return r.InWords(r.Notes()) }

// InWords returns notes on tools of the repository as sentences with the tools' names.
func (r *Repository) InWords(notes fault.List) []string {
	var words []string
	listed, more := notes.Listed()
	for _, note := range listed {
		parts := strings.SplitN(note.Pointer, "/", 4) // of /tools/0/request
		i, _ := strconv.Atoi(parts[2])
		words = append(words, fmt.Sprintf("tool %q: %s %s", r.Tools[i].Name, parts[3], note.Detail))
	}
	if more > 0 {
		words = append(words, fmt.Sprintf("and %d notes more", more))
	}
	return words
}

// SameNames tells which tools share a name among repositories of an app or a session, and which one is used: of one
// repository, or of all if none is named. Templates hide nothing.
func SameNames(list []*Repository, repositoryID string) []string {
	byName := map[string][]*Repository{}
	for _, repository := range slices.SortedFunc(slices.Values(list), Rank) {
		for i := range repository.Tools {
			name := repository.Tools[i].Name
			if !repository.Options.Template {
				byName[name] = append(byName[name], repository)
			}
		}
	}
	var notes []string
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		same := byName[name]
		selected := func(r *Repository) bool { return repositoryID == "" || r.ID == repositoryID }
		if len(same) < 2 || !slices.ContainsFunc(same, selected) {
			continue
		}
		first, why, users := same[0], "was created first", ""
		if first.Options.Exclusive && !same[1].Options.Exclusive {
			why = "is exclusive"
		}
		if first.Tool(name).AsksForUser() {
			users = " for users that it may be used by"
		}
		others := lists.Map(same[1:], func(repository *Repository) string { return strconv.Quote(repository.ID) })
		notes = append(notes, fmt.Sprintf("tool %q is in repository %q and in %s: that of %q holds%s, which %s",
			name, first.ID, strings.Join(clipped(others, maxOthers, "%d more"), ", "), first.ID, users, why))
	}
	return clipped(notes, maxNotes, "and %d more tools have one name in several repositories")
}
