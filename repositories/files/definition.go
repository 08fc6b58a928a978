package files

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"earshot/repositories"
	"earshot/repositories/fault"
)

// Definition is the body of one PUT, with the position of each part in the files.
type Definition struct {
	ID   string // the repositoryId; empty for the app
	tree *node
}

// Body returns the definition in the form of the REST API. It may contain credentials.
func (d *Definition) Body() json.RawMessage { return d.tree.json() }

// namedLists are the lists whose members have their own documents, with the kind of these.
var namedLists = map[string]string{"tools": kindTool, "modules": kindModule, "authServices": kindAuthService, "sources": kindSource}

// nameFields are the fields of the members' names, by kind.
var nameFields = map[string]string{kindTool: "name", kindModule: "moduleId", kindAuthService: "name", kindSource: "name"}

// Has reports whether the body has a field of a name.
func (d *Definition) Has(name string) bool { return d.tree.get(name) != nil }

// Names lists the names of the modules, services, sources or tools of the body.
func (d *Definition) Names(listName string) []string {
	var names []string
	for _, member := range d.tree.itemsOf(listName) {
		if name, ok := member.get(nameFields[namedLists[listName]]).scalarText(); ok {
			names = append(names, name)
		}
	}
	return names
}

// Locate converts faults of the body to faults of the files: at the value, at the key, or at the map around it.
func (d *Definition) Locate(found fault.List) Faults {
	var faults Faults
	for _, reported := range found {
		pos, value := d.tree.at, d.tree
		tokens := fault.Tokens(reported.Pointer)
		for _, token := range tokens {
			if i, ok := value.index(token); ok {
				value = value.items[i]
				pos = value.at
				continue
			}
			f := value.field(token)
			if f == nil {
				break
			}
			value, pos = f.value, f.at
			if !strings.HasPrefix(reported.Detail, "unknown field") && (value.kind == textValue || value.kind == numberValue || value.kind == booleanValue) {
				pos = value.at
			}
		}
		target := d.valueAt(reported.Pointer)
		lacksVariable := target != nil && strings.HasPrefix(reported.Detail, "is missing") && slices.ContainsFunc(target.fields, func(f field) bool { return f.value.unset })
		if value.unset || lacksVariable { // the variable is reported
			continue
		}

		part := &document{term: kindApp}
		if d.ID != "" {
			part = &document{term: kindRepository, name: d.ID}
		}
		if len(tokens) > 1 {
			members, kind := d.tree.get(tokens[0]), namedLists[tokens[0]]
			if i, ok := members.index(tokens[1]); ok && kind != "" {
				part = &document{term: kind, name: members.items[i].textOf(nameFields[kind])}
				tokens = tokens[2:]
			}
		}
		path := " "
		if len(tokens) > 0 {
			path = ": " + fault.Clip(strings.Join(tokens, "/")) + ": "
		}
		faults.add(pos, "%s%s%s", part.label(), path, reported.Detail)
	}
	return faults
}

// valueAt returns the value at a JSON pointer; nil for none.
func (d *Definition) valueAt(pointer string) *node {
	value := d.tree
	for _, token := range fault.Tokens(pointer) {
		if value = value.child(token); value == nil {
			break
		}
	}
	return value
}

// decode runs a decoder on the definition. An unquoted scalar becomes text where text is required: a password may
// be 12345.
func (d *Definition) decode(decoder func(body []byte) error) Faults {
	for {
		var found fault.List
		if !errors.As(decoder(d.Body()), &found) {
			return nil
		}
		converted := false
		for _, reported := range found {
			value := d.valueAt(reported.Pointer)
			if strings.Contains(reported.Detail, ", not a string") && value != nil && value.kind != textValue && value.kind != nullValue && value.unquoted != "" {
				value.kind, value.text, converted = textValue, value.unquoted, true
			}
		}
		if !converted {
			return d.Locate(found)
		}
	}
}

// Locate converts faults or notes of a repository to positions in the files.
func (s *Set) Locate(repositoryID string, found fault.List) Faults {
	for _, definition := range s.Repositories {
		if definition.ID == repositoryID {
			return definition.Locate(found)
		}
	}
	return nil
}

// Position returns the file and the line of a value of a repository, by its JSON Pointer.
func (s *Set) Position(repositoryID, pointer string) (file string, line int) {
	for _, located := range s.Locate(repositoryID, fault.List{{Pointer: pointer}}) {
		return located.File, located.Line
	}
	return "", 0
}

// decode checks every definition like the API, and collects its notes.
func (s *Set) decode(faults, notes *Faults, advise func(*repositories.App, *repositories.Repository) fault.List) {
	checked := &repositories.App{}
	found := s.App.decode(func(body []byte) error {
		app, err := repositories.DecodeApp(s.appID(), body)
		if err == nil {
			checked = app
			*notes = append(*notes, s.App.Locate(app.Notes())...)
		}
		return err
	})
	for _, definition := range s.Repositories {
		found = append(found, definition.decode(func(body []byte) error {
			repository, err := s.repository(definition, body)
			if err != nil {
				return err
			}
			*notes = append(*notes, definition.Locate(repository.Notes())...)
			if advise != nil {
				*notes = append(*notes, definition.Locate(advise(checked, repository))...)
			}
			return nil
		})...)
	}
	*faults = append(*faults, found...)
}

// appID returns the app's id, or a placeholder for checks if it is unknown.
func (s *Set) appID() string { return cmp.Or(s.AppID, "app") }

func (s *Set) repository(definition *Definition, body []byte) (*repositories.Repository, error) {
	return repositories.DecodeRepository(s.scope(), definition.ID, body)
}

func (s *Set) scope() repositories.Scope { return repositories.Scope{AppID: s.appID()} }

// Decoded returns the repositories as a service decodes them, without faulty ones.
func (s *Set) Decoded() []*repositories.Repository {
	var found []*repositories.Repository
	for _, definition := range s.Repositories {
		if repository, err := s.repository(definition, definition.Body()); err == nil {
			found = append(found, repository)
		}
	}
	return found
}

// Check compares the references of tools with the app that the files define. Use CheckWith if the complete app is
// known, as to a server. The error is Faults.
func (s *Set) Check() error {
	app := &repositories.App{} // with only the parts that tools refer to
	for _, m := range s.App.tree.itemsOf("modules") {
		app.Modules = append(app.Modules, repositories.Module{ID: m.textOf("moduleId"), TokenURL: m.textOf("tokenUrl")})
	}
	for _, m := range s.App.tree.itemsOf("authServices") {
		app.AuthServices = append(app.AuthServices, repositories.AuthService{Name: m.textOf("name")})
	}
	for _, m := range s.App.tree.itemsOf("sources") {
		app.Sources = append(app.Sources, repositories.Source{Name: m.textOf("name"), Type: m.textOf("type"), BaseURL: m.textOf("baseUrl")})
	}
	var faults Faults
	for _, definition := range s.Repositories {
		found := repositories.Unresolved(app, s.scope(), definition.ID, definition.Body(), nil)
		faults = append(faults, definition.Locate(slices.DeleteFunc(found, func(one fault.Fault) bool {
			source, _ := definition.valueAt(one.Pointer).scalarText()
			return strings.HasSuffix(one.Pointer, "/source") && s.missing[kindSource+" "+source]
		}))...)
	}
	return faults.sorted(s.Files).err()
}

// JoinCheck joins the faults of Read and of Check; nil if there are none.
func (s *Set) JoinCheck(readErr error) error {
	var faults, more Faults
	if errors.As(readErr, &faults); readErr != nil && faults == nil {
		return readErr
	}
	errors.As(s.Check(), &more)
	return slices.Concat(faults, more).sorted(s.Files).err()
}

// CheckWith compares the references of tools with the body of an app. The error is Faults.
func (s *Set) CheckWith(body []byte) error {
	app, err := repositories.DecodeApp(s.appID(), body)
	if err != nil {
		return err
	}
	var faults Faults
	for _, definition := range s.Repositories {
		repository, err := s.repository(definition, definition.Body())
		if err != nil {
			return err
		}
		if found, ok := errors.AsType[fault.List](repository.Check(app)); ok {
			faults = append(faults, definition.Locate(found)...)
		}
	}
	return faults.sorted(s.Files).err()
}
