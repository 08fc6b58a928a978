package house_test

import (
	"go/ast"
	"testing"
)

// Limits of size, in lines. What reaches the upper ones has more than one idea; a file below
// the lower one makes the reader jump. How many files a package has follows from its ideas.
const (
	maxFunctionLines = 60
	maxFileLines     = 600
	minFileLines     = 40
)

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

func TestFilesAreOneIdeaLong(t *testing.T) {
	found, alone := findings{}, aloneInPackage(t)
	for _, s := range production(t) {
		lines := s.lines(s.file)
		if lines > maxFileLines {
			found.add(s.pkg(), "%s has %d lines, %d is the limit: it has more than one idea", s.path, lines, maxFileLines)
		}
		// The documentation of a package may be a file of its own, and what is built on some
		// systems has to be.
		reason := len(s.file.Decls) == 0 || s.forSomeBuilds() || alone[s.path]
		if lines < minFileLines && !reason {
			found.add(s.pkg(), "%s has %d lines: move them to the file that they belong to", s.path, lines)
		}
	}
	found.report(t)
}

// aloneInPackage are the files that have no other to belong to.
func aloneInPackage(t *testing.T) map[string]bool {
	files := map[string][]string{}
	for _, s := range production(t) {
		files[s.pkg()] = append(files[s.pkg()], s.path)
	}
	alone := map[string]bool{}
	for _, list := range files {
		if len(list) == 1 {
			alone[list[0]] = true
		}
	}
	return alone
}
