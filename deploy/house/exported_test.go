package house_test

import (
	"go/ast"
	"slices"
	"testing"
)

func TestEverythingExportedIsDocumented(t *testing.T) {
	for _, s := range production(t) {
		for _, declaration := range s.file.Decls {
			for _, name := range undocumented(declaration) {
				t.Errorf("%s: %s has no comment", s.path, name)
			}
		}
	}
}

// undocumented lists the exported names of a declaration that have no comment, neither
// their own nor that of their group.
func undocumented(declaration ast.Decl) []string {
	var names []string
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && exportedReceiver(d) && d.Doc == nil {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			names = append(names, undocumentedSpec(d, spec)...)
		}
	}
	return names
}

func undocumentedSpec(d *ast.GenDecl, spec ast.Spec) []string {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() && d.Doc == nil && s.Doc == nil {
			return []string{s.Name.Name}
		}
	case *ast.ValueSpec:
		exported := slices.ContainsFunc(s.Names, func(name *ast.Ident) bool { return name.IsExported() })
		if exported && d.Doc == nil && s.Doc == nil && s.Comment == nil {
			return []string{s.Names[0].Name}
		}
	}
	return nil
}

// exportedReceiver reports whether a function is no method of a type that is not
// exported: such a method is there for an interface that documents it.
func exportedReceiver(function *ast.FuncDecl) bool {
	if function.Recv == nil {
		return true
	}
	receiver := function.Recv.List[0].Type
	if star, is := receiver.(*ast.StarExpr); is {
		receiver = star.X
	}
	name, is := receiver.(*ast.Ident)
	return !is || name.IsExported()
}
