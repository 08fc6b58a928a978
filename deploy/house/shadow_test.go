package house_test

import (
	"go/ast"
	"go/token"
	"testing"
)

// TestNoLocalHidesANameOfItsPackage also looks at parameters, results and receivers.
// Packages that a file imports are no names of its own package, and may be hidden where
// the local is what the package is about (url, path).
func TestNoLocalHidesANameOfItsPackage(t *testing.T) {
	names := map[string]map[string]bool{}
	for _, s := range production(t) {
		if names[s.pkg()] == nil {
			names[s.pkg()] = map[string]bool{}
		}
		for _, name := range packageNames(s.file) {
			names[s.pkg()][name.Name] = true
		}
	}
	found := findings{}
	for _, s := range production(t) {
		for _, local := range locals(s.file) {
			if local.Name != "_" && names[s.pkg()][local.Name] {
				found.add(s.pkg(), "%s: %s hides a name of the package", s.at(local), local.Name)
			}
		}
	}
	found.report(t)
}

// packageNames lists the names that a file declares for its package, methods aside.
func packageNames(file *ast.File) []*ast.Ident {
	var names []*ast.Ident
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name != "init" {
				names = append(names, d.Name)
			}
		case *ast.GenDecl:
			names = append(names, declared(d)...)
		}
	}
	return names
}

// declared lists the types, variables and constants of a declaration.
func declared(d *ast.GenDecl) []*ast.Ident {
	var names []*ast.Ident
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			names = append(names, s.Name)
		case *ast.ValueSpec:
			names = append(names, s.Names...)
		}
	}
	return names
}

// locals lists the names that the functions of a file declare.
func locals(file *ast.File) []*ast.Ident {
	var found []*ast.Ident
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			found = append(found, namesOf(d.Recv)...)
			found = append(found, inside(d)...)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if s, is := spec.(*ast.ValueSpec); is {
					for _, value := range s.Values {
						found = append(found, inside(value)...)
					}
				}
			}
		}
	}
	return found
}

// inside lists what a function, or an expression with functions, declares.
func inside(root ast.Node) []*ast.Ident {
	var found []*ast.Ident
	add := func(expressions ...ast.Expr) {
		for _, expression := range expressions {
			if name, is := expression.(*ast.Ident); is && name.Name != "_" {
				found = append(found, name)
			}
		}
	}
	ast.Inspect(root, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				add(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				add(n.Key, n.Value)
			}
		case *ast.GenDecl:
			found = append(found, declared(n)...)
		case *ast.FuncType:
			found = append(append(found, namesOf(n.Params)...), namesOf(n.Results)...)
		}
		return true
	})
	return found
}

// namesOf lists the names of parameters, results or a receiver.
func namesOf(list *ast.FieldList) []*ast.Ident {
	if list == nil {
		return nil
	}
	var names []*ast.Ident
	for _, field := range list.List {
		names = append(names, field.Names...)
	}
	return names
}
