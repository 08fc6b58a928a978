package docs

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryRouteIsListedAndNoOther(t *testing.T) {
	text, err := os.ReadFile("../../api/docs/openapi.json")
	require.NoError(t, err)
	var description struct{ Paths map[string]json.RawMessage }
	require.NoError(t, json.Unmarshal(text, &description))
	short := strings.NewReplacer("/v1/apps/{appId}/sessions/{sessionId}", "{session}", "/v1/apps/{appId}", "{app}")
	var routes, listed []string
	for path := range description.Paths {
		if strings.HasPrefix(path, "/v1/") {
			routes = append(routes, strings.TrimPrefix(short.Replace(path), "/v1/"))
		}
	}
	document, err := os.ReadFile("tools.md")
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(document), "\n## All calls\n")
	for _, row := range regexp.MustCompile(`(?m)^\| (.+?) \|`).FindAllStringSubmatch(table, -1) {
		for _, call := range regexp.MustCompile("`(?:[A-Z]+ )?([a-z{][^`]*)`").FindAllStringSubmatch(row[1], -1) {
			if !slices.Contains(listed, call[1]) {
				listed = append(listed, call[1])
			}
		}
	}
	require.ElementsMatch(t, routes, listed)
}
