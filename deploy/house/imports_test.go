package house_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// imports says what of the house a folder may import. Adapters meet in cmd only.
var imports = map[string][]string{
	"repositories": {"repositories"},
	"matcher":      {"matcher", "repositories"},
	"trigger":      {"trigger", "matcher", "repositories"},
	"emitter":      {"emitter", "trigger", "repositories"},
	"httpcall":     {"httpcall", "trigger", "repositories"},
	"api":          {"api", "trigger", "matcher", "repositories"},
	"cmd":          folders,
	"deploy":       folders,
}

func TestFoldersImportOnlyWhatTheyMay(t *testing.T) {
	for _, s := range production(t) {
		for _, other := range s.ours() {
			require.Contains(t, imports[s.folder()], topOf(other), "%s imports %s", s.path, other)
		}
	}
}

// delivering are the packages that deliver effects. They need no matcher, not even to compile.
var delivering = []string{"emitter", "httpcall", "trigger/sqlquery"}

// adapters connect to other systems. They do not know each other, and only the wiring knows them.
var adapters = slices.Concat(delivering, []string{"api"})

func TestAdaptersAreKnownToTheWiringAlone(t *testing.T) {
	for _, s := range production(t) {
		if s.folder() == "cmd" || s.folder() == "deploy" {
			continue
		}
		for _, other := range s.ours() {
			adapter := adapterOf(other)
			require.False(t, adapter != "" && adapter != adapterOf(s.pkg()), "%s imports %s", s.path, other)
		}
	}
}

func adapterOf(pkg string) string {
	for _, adapter := range adapters {
		if pkg == adapter || strings.HasPrefix(pkg, adapter+"/") {
			return adapter
		}
	}
	return ""
}

func TestWhatDeliversCompilesNoMatcher(t *testing.T) {
	graph := importGraph(t)
	for _, pkg := range delivering {
		require.Contains(t, graph, pkg)
		for _, reached := range reachable(graph, pkg) {
			require.NotEqual(t, "matcher", topOf(reached), "%s imports %s, if not by itself", pkg, reached)
		}
	}
}

func importGraph(t *testing.T) map[string][]string {
	graph := map[string][]string{}
	for _, s := range production(t) {
		graph[s.pkg()] = append(graph[s.pkg()], s.ours()...)
	}
	return graph
}

func reachable(graph map[string][]string, pkg string) []string {
	seen, next := map[string]bool{}, []string{pkg}
	for len(next) > 0 {
		pkg, next = next[0], next[1:]
		if !seen[pkg] {
			seen[pkg] = true
			next = append(next, graph[pkg]...)
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// ofModels are the libraries that only those who ask models need.
var ofModels = []string{"golang.org/x/oauth2/google"}

func TestWhatAsksModelsIsBelowThePackageForModels(t *testing.T) {
	for _, s := range sources(t) {
		for _, spec := range s.file.Imports {
			of := slices.Contains(ofModels, importPath(spec))
			require.False(t, of && !strings.HasPrefix(s.path, "matcher/llm/"), "%s imports %s", s.path, importPath(spec))
		}
	}
}

// floors are the packages of the matcher, each with those that it may import. "" is the contract that all others import.
var floors = map[string][]string{
	"text":           {},
	"datetime":       {"text"},
	"":               {"text"},
	"retrieval":      {"", "text"},
	"evidence":       {"", "text", "datetime"},
	"values":         {"", "text", "datetime"},
	"offline":        {"", "text", "datetime", "retrieval", "values"},
	"llm":            {"", "text", "retrieval", "evidence"},
	"llm/embeddings": {"", "text", "llm"},
	"chain":          {"", "text", "retrieval", "llm", "offline", "evidence"},
	// What tests share.
	"llm/llmtest": {},
	"evaldata":    {"", "llm/llmtest", "matchertest"},
	"matchertest": {""},
}

func TestTheMatcherIsBuiltFromTheGroundUp(t *testing.T) {
	for _, s := range production(t) {
		own, is := inMatcher(s.pkg())
		if !is {
			continue
		}
		require.Contains(t, floors, own, "%s: say in floors what the package may import", s.path)
		for _, other := range s.ours() {
			if below, is := inMatcher(other); is {
				require.Contains(t, floors[own], below, "%s imports %s", s.path, other)
			}
		}
	}
}

// inMatcher is the path of a package below the matcher's folder.
func inMatcher(pkg string) (string, bool) {
	below, is := strings.CutPrefix(pkg, "matcher")
	return strings.TrimPrefix(below, "/"), is
}

func TestTheContractOfTheMatcherIsAllThatOthersImport(t *testing.T) {
	for _, s := range production(t) {
		if slices.Contains([]string{"matcher", "cmd", "deploy"}, s.folder()) {
			continue
		}
		for _, other := range s.ours() {
			below, is := inMatcher(other)
			require.False(t, is && below != "", "%s imports %s: the wiring in cmd brings the two together", s.path, other)
		}
	}
}

func topOf(pkg string) string { return strings.SplitN(pkg, "/", 2)[0] }
