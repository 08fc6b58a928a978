package repositories

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"earshot/repositories/fault"
	"earshot/repositories/template"
)

// Notes says of tools that were just decoded what their author may not expect, each with its
// place in the repository.
func (r *Repository) Notes() fault.List {
	var notes fault.List
	for i := range r.Tools {
		request := r.Tools[i].Request
		if request != nil && request.unsaid && len(request.Headers) > 0 {
			notes.Add(fault.Point("tools", i, "request"), `has headers and no auth: they are all that its calls authenticate with, as with auth "none"; say "none" where that is meant, else give basic, bearer or moduleId`)
		}
		for _, at := range r.Tools[i].Params().Unfillable() {
			notes.Add(fault.Point("tools", i)+at, "hides from models what stands in the path of the url: a message that calls for the tool is rejected, and programs alone can fire it; give a value or a default where messages are to")
		}
		noteOpen(&notes, &r.Tools[i], fault.Point("tools", i))
		noteBraces(&notes, &r.Tools[i], fault.Point("tools", i))
	}
	return notes
}

// minSecret is how long the secret of a module has to be, in characters, for clients to sign in
// by it: nobody finds as many by trying.
const minSecret = 16

// fewDifferent are as few characters as a text of minSecret has that somebody holds a key down for.
const fewDifferent = 3

// Guessable says of the secret of the module why no client may sign in by it; empty where it may, or where
// there is no secret here to judge by.
func (m Module) Guessable() string {
	text := []rune(m.Secret.Reveal())
	different := map[rune]bool{}
	for _, char := range text {
		different[char] = true
	}
	switch {
	case len(text) == 0 || m.Secret.IsMasked():
		return ""
	case len(text) < minSecret:
		return fmt.Sprintf("is too short to sign in with: at least %d characters", minSecret)
	case len(different) <= fewDifferent:
		return fmt.Sprintf("is too easily guessed to sign in with: at least %d characters, more than %d of them different", minSecret, fewDifferent)
	}
	return ""
}

// Notes says of an app that was just decoded what its author may not expect, each with its place.
func (a *App) Notes() fault.List {
	var notes fault.List
	for i, module := range a.Modules {
		if why := module.Guessable(); why != "" {
			notes.Add(fault.Point("modules", i, "secret"), "%s", why)
		}
	}
	return notes
}

// NotesInWords are the Notes.
func (a *App) NotesInWords() []string {
	var words []string
	more := 0
	for _, module := range a.Modules {
		switch why := module.Guessable(); {
		case why == "":
		case len(words) == maxNotes:
			more++
		default:
			words = append(words, fmt.Sprintf("secret of module %q %s", module.ID, why))
		}
	}
	if more > 0 {
		words = append(words, fmt.Sprintf("and the secrets of %d modules more", more))
	}
	return words
}

// openParameter is what decides whether any text gets into a statement.
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

// noteOpen notes the template parameters by which whoever sets off the tool writes a part of
// its statement.
func noteOpen(notes *fault.List, tool *Tool, at string) {
	var pasted []openParameter
	if !tool.RunsStatement() || json.Unmarshal(tool.TemplateParameters, &pasted) != nil {
		return
	}
	for i := range pasted {
		if pasted[i].open() {
			notes.Add(at+fault.Point("templateParameters", i), "has neither allowedValues nor escape: any text becomes a part of the statement, so that whoever sets off the tool can make it another one")
		}
	}
}

// noteBraces notes what looks like a parameter in the address of a call and is none. It may be
// meant as it stands, hence it is no fault.
func noteBraces(notes *fault.List, tool *Tool, at string) {
	field, texts, as := "url", []string{pathAndQuery(tool.URL)}, ":name"
	if tool.Type == ToolHTTP {
		path, err := template.Parse(tool.Path, template.PathEscape, template.QueryEscape)
		if err != nil {
			return // a fault, which is told where the path is checked
		}
		field, texts, as = "path", path.Literals(), "{{.name}}"
	}
	names := tool.Params().Names()
	for _, one := range bracedIn(texts...) {
		if slices.Contains(names, one.name) {
			continue // a fault of today, in a tool of before
		}
		notes.Add(at+fault.Point(field), "has %s, which is no parameter of the tool and is sent as it stands; a parameter is written %s%s", fault.Clip(one.text), as, fault.DidYouMean(one.name, names))
	}
}

// NotesInWords are the Notes, each with the name of its tool.
func (r *Repository) NotesInWords() []string {
	return r.InWords(r.Notes())
}

// InWords are notes on the tools of the repository, each with the name of its tool.
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

// maxNotes is how many tools SameNames names, and how many modules the notes on an app, maxOthers of how many repositories beside the
// one that holds.
const (
	maxNotes  = 20
	maxOthers = 3
)

// SameNames says of the tools of an app's repositories, or of a session's, that stand in
// several under one name, which of them holds: of those of one repository, or of all where
// none is named. Templates are in no scope, and hide nothing.
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
	more := 0
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		same := byName[name]
		its := func(r *Repository) bool { return repositoryID == "" || r.ID == repositoryID }
		switch {
		case len(same) < 2 || !slices.ContainsFunc(same, its):
		case len(notes) == maxNotes:
			more++
		default:
			notes = append(notes, sameName(name, same))
		}
	}
	if more > 0 {
		notes = append(notes, fmt.Sprintf("and %d more tools have one name in several repositories", more))
	}
	return notes
}

// sameName takes the repositories of a name in their rank.
func sameName(name string, same []*Repository) string {
	first, why, where := same[0], "was created first", ""
	if first.Options.Exclusive && !same[1].Options.Exclusive {
		why = "is exclusive"
	}
	if first.Tool(name).AsksForUser() {
		where = " for users that it may be used by"
	}
	others := make([]string, len(same)-1)
	for i, repository := range same[1:] {
		others[i] = strconv.Quote(repository.ID)
	}
	if n := len(others); n > maxOthers {
		others = append(others[:maxOthers], fmt.Sprintf("%d more", n-maxOthers))
	}
	return fmt.Sprintf("tool %q is in repository %q and in %s: that of %q holds%s, which %s",
		name, first.ID, strings.Join(others, ", "), first.ID, where, why)
}
