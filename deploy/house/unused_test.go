package house_test

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"

	"earshot/repositories/lists"
)

// unusedOnPurpose are exported names that no other package needs, with the reason.
var unusedOnPurpose = map[string]string{
	"api.Public":                   ofErrors,
	"emitter.ErrNotReading":        ofErrors,
	"emitter.DefaultCheckInterval": ofDefaults,
}

const (
	ofErrors   = "what an exported function says that its errors are"
	ofDefaults = "what the options say that a zero value means"
)

// forPrograms has the modules that programs of others import.
const forPrograms = "deploy/clients/go"

// TestEverythingExportedIsUsedElsewhere finds exported names, except of methods and clients, that no other package uses by name or
// through what it uses: results of functions, fields of structs, constants of an enumeration. Its own tests do not count.
func TestEverythingExportedIsUsedElsewhere(t *testing.T) {
	found, excuses := findings{}, newReasons("unusedOnPurpose", unusedOnPurpose)
	used, own := usedElsewhere(t), exportsOf(t)
	for pkg, exports := range own {
		if pkg == forPrograms || strings.HasPrefix(pkg, forPrograms+"/") {
			continue
		}
		needed := exports.needed(used[pkg])
		for name, export := range exports {
			if !needed[name] && !excuses.has(pkg+"."+name) {
				found.add(pkg, "%s: no other package uses %s: unexport it, or remove it", export.at, name)
			}
		}
	}
	found.report(t)
	excuses.report(t)
}

type export struct {
	at    string
	shows []string // names of its package that whoever uses it meets
	group []string // constants that are one enumeration with it
}

type exports map[string]*export

// needed are the names in use, and what those show.
func (e exports) needed(used []string) map[string]bool {
	needed, next := map[string]bool{}, slices.Clone(used)
	for len(next) > 0 {
		name := next[0]
		next = next[1:]
		if found := e[name]; found != nil && !needed[name] {
			needed[name] = true
			next = append(append(next, found.shows...), found.group...)
		}
	}
	return needed
}

// usedElsewhere lists, by package, the names that files of other packages take from it.
func usedElsewhere(t *testing.T) map[string][]string {
	used := map[string][]string{}
	for _, s := range sources(t) {
		imported := map[string]string{}
		for _, spec := range s.file.Imports {
			if below, is := strings.CutPrefix(importPath(spec), module); is && below != s.pkg() {
				name := path.Base(below)
				if spec.Name != nil {
					name = spec.Name.Name
				}
				imported[name] = below
			}
		}
		ast.Inspect(s.file, func(node ast.Node) bool {
			if selector, is := node.(*ast.SelectorExpr); is {
				if from, is := selector.X.(*ast.Ident); is && imported[from.Name] != "" {
					used[imported[from.Name]] = append(used[imported[from.Name]], selector.Sel.Name)
				}
			}
			return true
		})
	}
	return used
}

func exportsOf(t *testing.T) map[string]exports {
	all := map[string]exports{}
	for _, s := range production(t) {
		if s.file.Name.Name == "main" {
			continue
		}
		if all[s.pkg()] == nil {
			all[s.pkg()] = exports{}
		}
		for _, declaration := range s.file.Decls {
			all[s.pkg()].read(declaration)
		}
	}
	return all
}

func (e exports) read(declaration ast.Decl) {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			e.add(d.Name, mentioned(d.Type))
		} else if d.Name.IsExported() {
			e.add(ast.NewIdent(receiverName(d)), mentioned(d.Type))
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				e.add(spec.Name, mentioned(spec.Type))
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					e.add(name, mentioned(spec.Type))
				}
			}
		}
		if d.Tok == token.CONST {
			e.enumerate(d)
		}
	}
}

// add notes an exported name and what it shows; a type may be added by its methods first.
func (e exports) add(name *ast.Ident, shows []string) {
	if !name.IsExported() {
		return
	}
	if e[name.Name] == nil {
		e[name.Name] = &export{}
	}
	e[name.Name].shows = append(e[name.Name].shows, shows...)
	if name.Pos().IsValid() {
		e[name.Name].at = at(name)
	}
}

func (e exports) enumerate(group *ast.GenDecl) {
	names := lists.Map(declared(group), func(name *ast.Ident) string { return name.Name })
	for _, name := range names {
		if e[name] != nil {
			e[name].group = names
		}
	}
}

// mentioned lists the exported names in a type, without those of unexported fields.
func mentioned(of ast.Node) []string {
	var names []string
	var visit func(ast.Node) bool
	visit = func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.SelectorExpr:
			return false // of another package
		case *ast.StructType:
			for _, field := range n.Fields.List {
				if len(field.Names) == 0 || slices.ContainsFunc(field.Names, (*ast.Ident).IsExported) {
					ast.Inspect(field.Type, visit)
				}
			}
			return false
		case *ast.Field:
			ast.Inspect(n.Type, visit)
			return false
		case *ast.Ident:
			if n.IsExported() {
				names = append(names, n.Name)
			}
		}
		return true
	}
	if of != nil {
		ast.Inspect(of, visit)
	}
	return names
}
