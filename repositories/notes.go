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
	"earshot/repositories/template"
)

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
			notes.Add(at+"/request", `has headers and no auth: they are all that its calls authenticate with, as with auth "none"; say "none" where that is meant, else give basic, bearer or moduleId`)
		}
		for _, place := range tool.Params().Unfillable() {
			notes.Add(at+place, "hides from models what stands in the path of the url: a message that calls for the tool is rejected, and programs alone can fire it; give a value or a default where messages are to")
		}
		listed, more := tool.Params().Odd().Listed()
		for _, one := range listed {
			notes.Add(at+one.Pointer, "%s", one)
		}
		notes.Skip(more)
		var checkNames []openParameter
		if tool.RunsStatement() && json.Unmarshal(tool.TemplateParameters, &checkNames) == nil {
			for j := range checkNames {
				if checkNames[j].open() {
					notes.Add(at+fault.Point("templateParameters", j), "has neither allowedValues nor escape: any text becomes a part of the statement, so that anyone who fires the tool can turn it into another one")
				}
			}
		}

		if odd := tool.withoutProperties(); odd != "" {
			notes.Add(at+"/parameters", `is a JSON Schema without "properties": the tool takes no value; write {"type": "object", "properties": {%s: {"type": "string"}}}`, fault.Show(odd))
		}
		for j, example := range tool.Examples {
			read := annotations.Parse(example, func(string, string) (any, bool) { return nil, true })
			if strings.Contains(read.Text, "](") {
				notes.Add(at+fault.Point("examples", j), `has "](" and marks nothing with it; a mark is [words](parameter), with both brackets closed`)
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
				notes.Add(at+fault.Point(field), "has %s, which is no parameter of the tool and is sent as it stands; a parameter is written %s%s", fault.Clip(one.text), as, fault.DidYouMean(one.name, names))
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
	switch {
	case p == nil || p.Value != nil || p.Escape != "" || p.AllowedValues != nil:
		return false
	case p.Type == "array":
		return p.Items.open()
	default:
		return p.Type == "string"
	}
}

// NotesInWords returns the Notes as sentences with the names of the tools.
func (r *Repository) NotesInWords() []string {
	return r.InWords(r.Notes())
}

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
