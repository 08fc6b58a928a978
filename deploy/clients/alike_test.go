package clients

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
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
	clients := map[string]map[string][]string{}
	for client := range sources {
		clients[client] = methodsOf(t, client)
	}
	page := testbed.Read(t, "../docs/clients.md")
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
			require.Regexp(t, "(?i)`"+name+"`", page, "the table of deploy/docs/clients.md lacks it")
		}
	}
}

func plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// sources are the files of the clients, how a class and a method begin there, and what the classes are.
var sources = map[string]struct {
	files, class, method string
	of                   map[string][]string
}{
	"Go": {"go/*.go", `^func \(\w+ \*?(\w+)\)`, `^func \(\w+ \*?\w+\) ([A-Z]\w*)\(`,
		map[string][]string{"App": {"app"}, "Client": {"app"}, "Session": {"session"}, "scope": {"app", "session"}}},
	"TypeScript": {"typescript/src/[is]*.ts", `^export (?:abstract )?class (\w+)`, `^  (?:async )?\*?(\w+)[<(].*\{\n?$`,
		map[string][]string{"Earshot": {"app"}, "Scope": {"app", "session"}, "Session": {"session"}}},
	"Python": {"python/src/earshot/_async.py", `^class (\w+)`, `^    (?:async )?def ([a-z]\w*)\(`,
		map[string][]string{"AsyncClient": {"app"}, "AsyncScope": {"app", "session"}, "AsyncSession": {"session"}}},
}

// methodsOf are the methods of an app and of a session in a client.
func methodsOf(t *testing.T, client string) map[string][]string {
	source, found := sources[client], map[string][]string{}
	class, method := regexp.MustCompile(source.class), regexp.MustCompile(source.method)
	files := testbed.Got(filepath.Glob(source.files))(t)
	for _, file := range files {
		text := testbed.Read(t, file)
		var kinds []string
		for line := range strings.Lines(text) {
			if begins := class.FindStringSubmatch(line); begins != nil {
				kinds = source.of[begins[1]]
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
		version := regexp.MustCompile(pattern).FindStringSubmatch(testbed.Read(t, file))
		require.NotNil(t, version, file)
		found[version[1]] = true
	}
	require.Len(t, found, 1, "all are of the version of the service: %v", slices.Sorted(maps.Keys(found)))
}
