// Command lint has the analyzers of go vet and those of staticcheck in one tool for go vet:
//
//	go build -C deploy/check/lint -o /tmp/lint
//	go vet -vettool=/tmp/lint ./...
//
// So go vet reads each package once for both, and keeps what was found in the build cache. staticcheck alone reads all
// again, the standard library too. The module is one of its own, so that the program's needs nothing of it.
// It knows no comment that silences a finding.
package main

import (
	"encoding/gob"
	"encoding/json"
	"fmt"
	"go/token"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/scannererr"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/analysis/unitchecker"
	"honnef.co/go/tools/analysis/facts/deprecated"
	"honnef.co/go/tools/analysis/lint"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
	"honnef.co/go/tools/unused"
)

// known are the packages of the standard library of which staticcheck knows functions that are pure or take pairs.
var known = []string{"errors", "fmt", "log/slog", "sort", "strings", "time"}

func main() {
	unitchecker.Main(analyzers(isForeign(os.Args[len(os.Args)-1]))...)
}

// analyzers are all for a package of ours. Of another module, only facts are asked for: what it deprecates, and the
// facts that go vet needs. The other facts of staticcheck take most of its time: which functions of others are pure,
// never return nil or take pairs. At night, staticcheck itself has them.
func analyzers(foreign bool) []*analysis.Analyzer {
	vets := slices.DeleteFunc(slices.Clone(vet.Suite), func(one *analysis.Analyzer) bool {
		return one == scannererr.Analyzer // a stream of events that breaks off is read again, whatever the error
	})
	all := append(slices.Clone(vets), reportsUnused)
	for _, ones := range [][]*lint.Analyzer{simple.Analyzers, staticcheck.Analyzers, stylecheck.Analyzers} {
		for _, one := range ones {
			if !one.Doc.NonDefault {
				all = append(all, one.Analyzer)
			}
		}
	}
	if foreign {
		for _, one := range all {
			register(one) // a known package may be among what this one imports
		}
		return append(vets, asksDeprecated)
	}
	return all
}

// register makes the facts of an analyzer, and of those that it asks, readable.
func register(one *analysis.Analyzer) {
	for _, fact := range one.FactTypes {
		gob.Register(fact)
	}
	for _, asked := range one.Requires {
		register(asked)
	}
}

// isForeign says whether the unit that go vet describes in a file belongs to another module or to the standard library.
func isForeign(file string) bool {
	text, err := os.ReadFile(file)
	if err != nil || !strings.HasSuffix(file, ".cfg") {
		return false
	}
	var unit unitchecker.Config
	return json.Unmarshal(text, &unit) == nil && !strings.HasPrefix(unit.ModulePath, "earshot") && !slices.Contains(known, unit.ImportPath)
}

// asksDeprecated has no findings: it only asks for the facts.
var asksDeprecated = &analysis.Analyzer{
	Name:     "deprecated",
	Doc:      "which functions, types and packages are deprecated",
	Requires: []*analysis.Analyzer{deprecated.Analyzer},
	Run:      func(*analysis.Pass) (any, error) { return nil, nil },
}

// reportsUnused reports U1000, which staticcheck leaves to its command. go vet hands over a package with its tests,
// so that what is used by tests alone is used.
var reportsUnused = &analysis.Analyzer{
	Name:     "U1000",
	Doc:      "unused code",
	Requires: []*analysis.Analyzer{unused.Analyzer.Analyzer},
	Run: func(pass *analysis.Pass) (any, error) {
		files := map[string]*token.File{}
		for _, file := range pass.Files {
			of := pass.Fset.File(file.FileStart)
			files[of.Name()] = of
		}
		for _, object := range pass.ResultOf[unused.Analyzer.Analyzer].(unused.Result).Unused {
			at := files[object.Position.Filename]
			if at == nil {
				return nil, fmt.Errorf("%s %s is unused, and no file has its place %s", object.Kind, object.Name, object.Position)
			}
			pass.Reportf(at.Pos(object.Position.Offset), "%s %s is unused", object.Kind, object.Name)
		}
		return nil, nil
	},
}
