package house_test

import (
	"go/ast"
	"testing"
)

// maxMethods is what a reader can hold of one type.
const maxMethods = 40

// wide are the types that have more, and how many they may have. Who makes one smaller writes its
// number down here; no other is added.
var wide = map[string]int{}

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
		switch most := max(wide[of], maxMethods); {
		case n > most:
			found.add(of, "%s has %d methods, %d is the limit: cut it where one part only calls the other", of, n, most)
		case n < wide[of]:
			found.add(of, "%s has %d methods now: write that in the place of %d, or take it out", of, n, wide[of])
		}
	}
	for of := range wide {
		if methods[of] == 0 {
			found.add(of, "%s is gone: take it out of the list", of)
		}
	}
	found.report(t)
}
