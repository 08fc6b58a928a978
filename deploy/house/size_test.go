package house_test

import (
	"go/ast"
	"testing"
)

// maxFunctionLines is what a reader takes in at once.
const maxFunctionLines = 60

func TestFunctionsAreShort(t *testing.T) {
	found := findings{}
	for _, s := range production(t) {
		for _, declaration := range s.file.Decls {
			if function, is := declaration.(*ast.FuncDecl); is && s.lines(function) > maxFunctionLines {
				found.add(s.pkg(), "%s: %s has %d lines, %d is the limit", s.at(function), function.Name.Name, s.lines(function), maxFunctionLines)
			}
		}
	}
	found.report(t)
}
