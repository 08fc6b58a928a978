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
			lines := set.Position(declaration.End()).Line - set.Position(declaration.Pos()).Line + 1
			if function, is := declaration.(*ast.FuncDecl); is && lines > maxFunctionLines {
				found.add(s.pkg(), "%s: %s has %d lines, %d is the limit", at(function), function.Name.Name, lines, maxFunctionLines)
			}
		}
	}
	found.report(t)
}

// maxMethods is what a reader can hold of one type.
const maxMethods = 40

func TestTypesAreWhatAReaderCanHold(t *testing.T) {
	methods := map[string]int{}
	for _, s := range production(t) {
		for _, declaration := range s.file.Decls {
			if function, is := declaration.(*ast.FuncDecl); is && function.Recv != nil {
				methods[s.pkg()+"."+receiverName(function)]++
			}
		}
	}
	found := findings{}
	for of, n := range methods {
		if n > maxMethods {
			found.add(of, "%s has %d methods, %d is the limit: split it where one part only calls the other", of, n, maxMethods)
		}
	}
	found.report(t)
}
