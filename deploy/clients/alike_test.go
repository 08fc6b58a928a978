package clients

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// alone are the names that one client has and another lacks, each with why.
var alone = map[string]string{
	"state": "the earlier name of get", "history": "the earlier name of messages", "request": "the earlier name of call",
	"aclose": "closes connections: Go and fetch do so themselves", "app": "a client for Go speaks to several apps",
	"id": "a property in the others", "post": "say and draft in the others, which take options by their names", "do": "what Call of an app is made of",
	"agenttools": "tools of langchaingo", "list": "typed by the route", "on": "handlers on a page", "ontrigger": "handlers on a page",
	"following": "handlers on a page", "stop": "handlers on a page",
}

// TestTheClientsHaveTheSameNames reads the names of each client, and holds those of an app and of a session against those of
// the others and the table of the documentation. The case is that of the language.
func TestTheClientsHaveTheSameNames(t *testing.T) {
	clients := map[string]map[string][]string{"Go": inGo(t), "TypeScript": inTypeScript(t), "Python": inPython(t)}
	page, err := os.ReadFile("../docs/clients.md")
	require.NoError(t, err)
	for _, of := range []string{"app", "session"} {
		all := map[string]bool{}
		for client, names := range clients {
			require.Greater(t, len(names[of]), 20, "%s of %s", client, of)
			for _, name := range names[of] {
				all[name] = true
			}
		}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if alone[name] != "" {
				continue
			}
			for client, names := range clients {
				require.Contains(t, names[of], name, "the client for %s has no such method of an %s, and others have", client, of)
			}
			require.Regexp(t, "(?i)`"+name+"`", string(page), "the table of deploy/docs/clients.md lacks it")
		}
	}
}

func plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

func inGo(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	of := map[string][]string{"App": {"app"}, "Client": {"app"}, "Session": {"session"}, "scope": {"app", "session"}}
	files, err := filepath.Glob("go/*.go")
	require.NoError(t, err)
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, one := range parsed.Decls {
			function, is := one.(*ast.FuncDecl)
			if !is || function.Recv == nil || !function.Name.IsExported() {
				continue
			}
			receiver := function.Recv.List[0].Type
			if pointer, is := receiver.(*ast.StarExpr); is {
				receiver = pointer.X
			}
			name, _ := receiver.(*ast.Ident)
			for _, kind := range of[name.Name] {
				found[kind] = append(found[kind], plain(function.Name.Name))
			}
		}
	}
	return found
}

func methods(t *testing.T, file string, class, method *regexp.Regexp, of map[string][]string, found map[string][]string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var kinds []string
	for line := range strings.Lines(string(text)) {
		if begins := class.FindStringSubmatch(line); begins != nil {
			kinds = of[begins[1]]
		}
		name := method.FindStringSubmatch(line)
		if name == nil || name[1] == "constructor" {
			continue
		}
		for _, kind := range kinds {
			found[kind] = append(found[kind], plain(name[1]))
		}
	}
}

func inTypeScript(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, file := range []string{"index.ts", "scope.ts", "session.ts"} {
		methods(t, filepath.Join("typescript/src", file), regexp.MustCompile(`^export (?:abstract )?class (\w+)`), regexp.MustCompile(`^  (?:async )?\*?(\w+)[<(].*\{\n?$`),
			map[string][]string{"Earshot": {"app"}, "Scope": {"app", "session"}, "Session": {"session"}}, found)
	}
	return found
}

func inPython(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	methods(t, "python/src/earshot/_async.py", regexp.MustCompile(`^class (\w+)`), regexp.MustCompile(`^    (?:async )?def ([a-z]\w*)\(`),
		map[string][]string{"AsyncClient": {"app"}, "AsyncScope": {"app", "session"}, "AsyncSession": {"session"}}, found)
	return found
}

// TestTheClientsHaveOneVersion reads the version of each client. A release gives all that of the service.
func TestTheClientsHaveOneVersion(t *testing.T) {
	found := map[string]bool{}
	for file, pattern := range map[string]string{
		"typescript/package.json": `"version": "([^"]*)"`, "typescript/src/version.ts": `version = '([^']*)'`,
		"python/pyproject.toml": `(?m)^version = "([^"]*)"`, "python/src/earshot/_version.py": `VERSION = "([^"]*)"`, "go/token.go": `const Version = "([^"]*)"`,
		"../package/chart/Chart.yaml": `(?m)^version: (\S+)`,
	} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		version := regexp.MustCompile(pattern).FindStringSubmatch(string(text))
		require.NotNil(t, version, file)
		found[version[1]] = true
	}
	require.Len(t, found, 1, "all are of the version of the service: %v", slices.Sorted(maps.Keys(found)))
}
