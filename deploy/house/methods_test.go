package house_test

import (
	"go/ast"
	"testing"
)

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
