package house_test

import (
	"go/ast"
	"go/token"
	"go/types"
	"testing"
)

// TestNoLocalHidesANameOfItsPackage includes parameters, results and receivers, but not names of imported packages (url, path).
func TestNoLocalHidesANameOfItsPackage(t *testing.T) {
	files := map[string][]*ast.File{}
	for _, s := range production(t) {
		files[s.pkg()] = append(files[s.pkg()], s.file)
	}
	found := findings{}
	for pkg, list := range files {
		for _, local := range hiding(list) {
			found.add(pkg, "%s: %s hides a name of the package", at(local), local.Name)
		}
	}
	found.report(t)
}

// hiding lists what the functions of a package declare by the name of something that the package declares.
func hiding(files []*ast.File) (locals []*ast.Ident) {
	info := types.Info{Defs: map[*ast.Ident]types.Object{}}
	config := types.Config{Error: func(error) {}} // no import is resolved: scopes are known without
	pkg, _ := config.Check("", set, files, &info)
	for _, file := range files {
		delete(info.Defs, file.Name)
		for _, declaration := range file.Decls {
			if d, is := declaration.(*ast.GenDecl); is && d.Tok == token.TYPE { // the parameters that it names have no body
				ast.Inspect(d, func(node ast.Node) bool {
					if name, is := node.(*ast.Ident); is {
						delete(info.Defs, name)
					}
					return true
				})
			}
		}
	}
	for name, object := range info.Defs {
		if pkg.Scope().Lookup(name.Name) == nil {
			continue
		}
		switch object := object.(type) {
		case nil: // of a type switch
			locals = append(locals, name)
		case *types.Label, *types.PkgName:
		default:
			if scope := object.Parent(); scope != nil && scope != pkg.Scope() { // neither a field or method, nor the package's
				locals = append(locals, name)
			}
		}
	}
	return locals
}
