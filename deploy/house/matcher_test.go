package house_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// floors are the packages of the matcher from the ground up: one imports of them only
// those that it lists. The top folder is the contract that everybody else imports.
var floors = map[string][]string{
	"text":          {},
	"moment":        {"text"},
	"shown":         {},
	"":              {"text"},
	"retrieval":     {"", "text", "shown"},
	"evidence":      {"", "text", "moment"},
	"offline":       {"", "text", "moment", "shown", "retrieval"},
	"llm/arguments": {"text"},
	"llm/provider":  {"", "text", "llm/arguments"},
	"llm/openai":    adapter,
	"llm/anthropic": adapter,
	"llm/gemini":    adapter,
	"llm/cohere":    adapter,
	"llm": {
		"", "text", "retrieval", "evidence", "llm/arguments", "llm/provider", "llm/openai", "llm/anthropic", "llm/gemini", "llm/cohere",
	},
	"chain": {"", "text", "llm", "offline", "evidence"},
	// What tests share.
	"llm/llmtest": {},
	"evaldata":    {"llm/llmtest"},
	"matchertest": {""},
}

// adapter is what a provider's package may know: no other provider's.
var adapter = []string{"", "text", "llm/arguments", "llm/provider"}

func TestTheMatcherIsBuiltFromTheGroundUp(t *testing.T) {
	for _, s := range sources(t) {
		own, is := matcherPackage("earshot/" + filepath.ToSlash(filepath.Dir(s.path)))
		if !is || s.isTest() {
			continue
		}
		require.Contains(t, floors, own, "%s: say in floors what the package may import", s.path)
		for _, spec := range s.file.Imports {
			if path, is := matcherPackage(strings.Trim(spec.Path.Value, `"`)); is {
				require.Contains(t, floors[own], path, "%s imports matcher/%s", s.path, path)
			}
		}
	}
}

// matcherPackage is the path of a package below the matcher's folder.
func matcherPackage(path string) (string, bool) {
	below, is := strings.CutPrefix(path, "earshot/matcher")
	return strings.TrimPrefix(below, "/"), is
}

func TestTheContractOfTheMatcherIsAllThatOthersImport(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest() || slices.Contains([]string{"matcher", "cmd", "deploy"}, s.folder()) {
			continue
		}
		for _, spec := range s.file.Imports {
			if below, is := matcherPackage(strings.Trim(spec.Path.Value, `"`)); is {
				require.Empty(t, below, "%s imports matcher/%s: the wiring in cmd brings the two together", s.path, below)
			}
		}
	}
}

// ofModels are the libraries that only those who ask models need.
var ofModels = []string{"github.com/sashabaranov/go-openai", "golang.org/x/oauth2/google"}

func TestLibrariesForModelsAreBelowTheModels(t *testing.T) {
	for _, s := range sources(t) {
		for _, spec := range s.file.Imports {
			if slices.Contains(ofModels, strings.Trim(spec.Path.Value, `"`)) {
				require.True(t, strings.HasPrefix(s.path, "matcher/llm/"), "%s imports %s", s.path, spec.Path.Value)
			}
		}
	}
}
