package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"earshot/repositories"
	"earshot/repositories/fault"
)

// Definition is the body of one PUT, and knows where in the files each part stands.
type Definition struct {
	// ID is the repositoryId; empty for the app.
	ID   string
	tree *node
}

// Body is the definition in the form of the REST API. It may hold credentials.
func (d *Definition) Body() json.RawMessage { return d.tree.json() }

// Given reports whether the files say anything of the field.
func (d *Definition) Given(name string) bool { return d.tree.field(name) != nil }

// Locate turns faults of the body into faults of the files.
func (d *Definition) Locate(found fault.List) Faults {
	var faults Faults
	for _, one := range found {
		here, at := d.find(one)
		if !here.unset {
			faults.add(at, "%s%s", d.label(tokensOf(one.Pointer)), one.Detail)
		}
	}
	return faults
}

// Locate turns what is to be said of a repository into what is said of the files.
func (s *Set) Locate(repositoryID string, found fault.List) Faults {
	for _, definition := range s.Repositories {
		if definition.ID == repositoryID {
			return definition.Locate(found)
		}
	}
	return nil
}

// Place is where a value of a repository stands in the files, by its JSON Pointer.
func (s *Set) Place(repositoryID, pointer string) (file string, line int) {
	for _, at := range s.Locate(repositoryID, fault.List{{Pointer: pointer}}) {
		return at.File, at.Line
	}
	return "", 0
}

// find follows a pointer into the files: to the value that is at fault, to the key of
// one that should not be there, or to the map that lacks one.
func (d *Definition) find(of fault.Fault) (*node, position) {
	at, here := d.tree.at, d.tree
	for _, token := range tokensOf(of.Pointer) {
		if i, ok := index(token, here.items); ok {
			here = here.items[i]
			at = here.at
			continue
		}
		f := here.field(token)
		if f == nil {
			break
		}
		here, at = f.value, f.at
		if !strings.HasPrefix(of.Detail, "unknown field") && (here.kind == text || here.kind == number || here.kind == boolean) {
			at = here.at
		}
	}
	return here, at
}

// owners are the lists of a body whose members have a document of their own, with the
// word for one and the field that names it.
var owners = map[string][2]string{
	"tools": {kindTool, "name"}, "modules": {kindModule, "moduleId"},
	"authServices": {kindAuthService, "name"}, "sources": {kindSource, "name"},
}

// label names the definition and the way inside it.
func (d *Definition) label(tokens []string) string {
	prefix := kindApp
	if d.ID != "" {
		prefix = (&document{word: kindRepository, name: d.ID}).label()
	}
	if len(tokens) > 1 {
		members := d.tree.get(tokens[0])
		owner, known := owners[tokens[0]]
		if members != nil && known {
			if i, ok := index(tokens[1], members.items); ok {
				name, _ := members.items[i].get(owner[1]).scalarText()
				prefix = (&document{word: owner[0], name: name}).label()
				tokens = tokens[2:]
			}
		}
	}
	if len(tokens) == 0 {
		return prefix + " "
	}
	return prefix + ": " + fault.Clip(strings.Join(tokens, "/")) + ": "
}

// tokensOf takes a JSON pointer (RFC 6901) apart.
func tokensOf(pointer string) []string {
	if pointer == "" {
		return nil
	}
	tokens := strings.Split(pointer[1:], "/")
	for i := range tokens {
		tokens[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(tokens[i])
	}
	return tokens
}

// decode holds the definition against a decoder. An unquoted scalar that YAML reads as
// a number or a boolean, where a text is wanted, becomes the text that is written
// there: a password may be 12345, and so may be what ${PASSWORD} stands for.
func (d *Definition) decode(by func(body []byte) error) Faults {
	for {
		err := by(d.Body())
		var found fault.List
		if !errors.As(err, &found) {
			return nil
		}
		if !d.asTexts(found) {
			return d.Locate(found)
		}
	}
}

// asTexts reports whether it could mend any of the faults.
func (d *Definition) asTexts(found fault.List) bool {
	mended := false
	for _, one := range found {
		if !strings.HasSuffix(one.Detail, ", not a string") {
			continue
		}
		here := d.tree
		for _, token := range tokensOf(one.Pointer) {
			if i, ok := index(token, here.items); ok {
				here = here.items[i]
			} else {
				here = here.get(token)
			}
			if here == nil {
				break
			}
		}
		mended = here.asText() || mended
	}
	return mended
}

// decode checks every definition as the API would, and collects what the API would note.
func (s *Set) decode(faults, notes *Faults, advise func(*repositories.App, *repositories.Repository) fault.List) {
	id, of := s.appID(), &repositories.App{}
	found := s.App.decode(func(body []byte) error {
		app, err := repositories.DecodeApp(id, body)
		if err == nil {
			of = app
			*notes = append(*notes, s.App.Locate(app.Notes())...)
		}
		return err
	})
	for _, definition := range s.Repositories {
		found = append(found, definition.decode(func(body []byte) error {
			repository, err := repositories.DecodeRepository(repositories.Scope{AppID: id}, definition.ID, body)
			if err == nil {
				*notes = append(*notes, definition.Locate(repository.Notes())...)
			}
			if err == nil && advise != nil {
				*notes = append(*notes, definition.Locate(advise(of, repository))...)
			}
			return err
		})...)
	}
	*faults = append(*faults, found...)
}

// appID is the app's id, or one to check with where it is not known.
func (s *Set) appID() string {
	if s.AppID == "" {
		return "app"
	}
	return s.AppID
}

// Check holds what the tools refer to, such as modules, against the app that the files
// themselves define, whatever else is wrong with either. Where the app is known in full, as
// to a server, use CheckWith. The error is Faults.
func (s *Set) Check() error {
	app := s.App.names()
	var faults Faults
	for _, definition := range s.Repositories {
		found := definition.dangling(s.appID(), app)
		faults = append(faults, definition.Locate(slices.DeleteFunc(found, func(one fault.Fault) bool {
			return strings.HasSuffix(one.Pointer, "/source") && s.missing[kindSource+" "+definition.textAt(one.Pointer)]
		}))...)
	}
	return faults.sorted(s.Files).err()
}

// names is an app with no more than what others refer to.
func (d *Definition) names() *repositories.App {
	app := &repositories.App{}
	said := func(member *node, name string) string {
		value, _ := member.get(name).scalarText()
		return value
	}
	for part, add := range map[string]func(member *node){
		"modules": func(m *node) {
			app.Modules = append(app.Modules, repositories.Module{ID: said(m, "moduleId"), TokenURL: said(m, "tokenUrl")})
		},
		"authServices": func(m *node) {
			app.AuthServices = append(app.AuthServices, repositories.AuthService{Name: said(m, "name")})
		},
		"sources": func(m *node) {
			app.Sources = append(app.Sources, repositories.Source{Name: said(m, "name"), Type: said(m, "type"), BaseURL: said(m, "baseUrl")})
		},
	} {
		if members := d.tree.get(part); members != nil {
			for _, member := range members.items {
				add(member)
			}
		}
	}
	return app
}

// dangling finds what the definition's tools refer to and the app has not. Where the whole is
// at fault, its tools are looked at one by one, and those at fault for their source alone.
func (d *Definition) dangling(id string, app *repositories.App) fault.List {
	scope := repositories.Scope{AppID: id}
	var found fault.List
	if repository, err := repositories.DecodeRepository(scope, d.ID, d.Body()); err == nil {
		errors.As(repository.Check(app), &found)
		return found
	}
	for i, tool := range d.tree.get("tools").items {
		repository, err := repositories.DecodeRepository(scope, d.ID, fmt.Appendf(nil, `{"tools":[%s]}`, tool.json()))
		if err != nil {
			name, named := tool.get("source").scalarText()
			if _, there := app.Source(name); named && !there {
				found.Add(fault.Point("tools", i, "source"), "the app has no source %s", fault.Show(name))
			}
			continue
		}
		var its fault.List
		errors.As(repository.Check(app), &its)
		for _, one := range its {
			found.Add(fault.Point("tools", i)+strings.TrimPrefix(one.Pointer, fault.Point("tools", 0)), "%s", one.Detail)
		}
	}
	return found
}

// textAt is the text in a place of the definition.
func (d *Definition) textAt(pointer string) string {
	here := d.tree
	for _, token := range tokensOf(pointer) {
		if i, ok := index(token, here.items); ok {
			here = here.items[i]
		} else if here = here.get(token); here == nil {
			return ""
		}
	}
	value, _ := here.scalarText()
	return value
}

// All joins the faults of Read with those of Check; nil if there are none.
func (s *Set) All(read error) error {
	var faults, more Faults
	if errors.As(read, &faults); read != nil && faults == nil {
		return read
	}
	errors.As(s.Check(), &more)
	return slices.Concat(faults, more).sorted(s.Files).err()
}

// CheckWith holds what the tools refer to against the body of an app. The error is
// Faults.
func (s *Set) CheckWith(body []byte) error {
	app, err := repositories.DecodeApp(s.appID(), body)
	if err != nil {
		return err
	}
	var faults Faults
	for _, definition := range s.Repositories {
		repository, err := repositories.DecodeRepository(repositories.Scope{AppID: s.appID()}, definition.ID, definition.Body())
		if err != nil {
			return err
		}
		var found fault.List
		if errors.As(repository.Check(app), &found) {
			faults = append(faults, definition.Locate(found)...)
		}
	}
	return faults.sorted(s.Files).err()
}

// Names lists the names of the members of a list of the body: of modules, services,
// sources or tools.
func (d *Definition) Names(of string) []string {
	members := d.tree.get(of)
	if members == nil {
		return nil
	}
	var names []string
	for _, member := range members.items {
		if name, ok := member.get(owners[of][1]).scalarText(); ok {
			names = append(names, name)
		}
	}
	return names
}
