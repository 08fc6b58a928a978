package docs

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dustin/go-humanize"
	"github.com/stretchr/testify/require"
)

// tables says which definitions a section of tools.md describes. A section has the fields
// of all of them.
var tables = map[string][]string{
	"Repository": {"Repository", "Patch"}, "Options": {"Options"}, "Tool": {"Tool"},
	"Request": {"Request"}, "Basic": {"Basic"}, "Bearer": {"Bearer"},
	"Parameter": {"Parameter", "ToolboxParameter"}, "Items": {"Items"}, "Claim": {"Claim"},
	"App": {"App"}, "Module": {"Module"}, "Authentication service": {"AuthService"}, "Source": {"Source"}, "Authentication of a source": {"SourceAuth"}, "Settings": {"Settings"},
	"Session": {"SessionRequest"}, "Message": {"Message"}, "Earlier message": {"Earlier"}, "Direct trigger": {"Direct"}, "Finding tools": {"ToolSearch"}, "Answer to a trigger": {"Given"},
	"Yes, no or stop": {"Confirmation", "Denial"}, "Key": {"KeyRequest"}, "Session token": {"TokenRequest"},
}

// property is what the test reads of a property of a JSON Schema.
type property struct {
	refused    bool // the schema is false
	Properties map[string]property
	Enum       []any
	Minimum    json.Number
	Maximum    json.Number
	MaxLength  json.Number
	MaxItems   json.Number
	Items      *property
}

func (p *property) UnmarshalJSON(text []byte) error {
	if string(text) == "true" || string(text) == "false" {
		p.refused = string(text) == "false"
		return nil
	}
	type plain property
	return json.Unmarshal(text, (*plain)(p))
}

func TestEveryFieldIsDescribedAndNoOther(t *testing.T) {
	defined := map[string]property{}
	for _, path := range []string{"../../repositories/definition.schema.json", "../../api/bodies.schema.json"} {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		var schema struct {
			Definitions map[string]property `json:"$defs"`
		}
		require.NoError(t, json.Unmarshal(text, &schema))
		maps.Copy(defined, schema.Definitions)
	}
	sections := describedFields(t)
	for section, names := range tables {
		fields := map[string]property{}
		for _, name := range names {
			require.Contains(t, defined, name)
			flatten("", defined[name].Properties, fields)
			delete(defined, name)
		}
		described := sections[section]
		require.ElementsMatch(t, slices.Collect(maps.Keys(fields)), slices.Collect(maps.Keys(described)), "fields of %s in tools.md", section)
		for name, field := range fields {
			require.Empty(t, field.unsaid(described[name]), "%s: %s in tools.md does not say so", section, name)
		}
	}
	require.Empty(t, slices.Collect(maps.Keys(defined)), "definitions that tools.md does not describe")
}

// flatten lists fields of objects inside as prompt.text.
func flatten(prefix string, properties map[string]property, into map[string]property) {
	for name, field := range properties {
		if len(field.Properties) > 0 {
			flatten(prefix+name+".", field.Properties, into)
			continue
		}
		into[prefix+name] = field
	}
}

// rowField is a field at the beginning of a row of a table.
var rowField = regexp.MustCompile("^\\| `([\\w.]+)` \\|")

// describedFields are the rows of the tables in tools.md, by section and field. What stands
// below a table counts to all its rows.
func describedFields(t *testing.T) map[string]map[string]string {
	text, err := os.ReadFile("tools.md")
	require.NoError(t, err)
	found := map[string]map[string]string{}
	section := ""
	for line := range strings.Lines(string(text)) {
		if title, is := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); is && strings.HasPrefix(line, "#") {
			section = strings.TrimSpace(title)
			found[section] = map[string]string{}
		}
		if field := rowField.FindStringSubmatch(line); field != nil {
			require.NotContains(t, found[section], field[1], "%s is described twice", section)
			found[section][field[1]] = line
		} else if !strings.HasPrefix(line, "|") {
			for name := range found[section] {
				found[section][name] += line
			}
		}
	}
	return found
}

// unsaid lists what the schema says of a field and its row does not: words that it must be
// one of, bounds, that it is refused.
func (p property) unsaid(row string) []string {
	var wanted []string
	if p.refused {
		wanted = append(wanted, "Refused")
	}
	for _, word := range p.Enum {
		wanted = append(wanted, fmt.Sprintf("`%v`", word))
	}
	if p.Items != nil {
		for _, word := range p.Items.Enum {
			wanted = append(wanted, fmt.Sprintf("`%v`", word))
		}
	}
	for _, bound := range []json.Number{p.Minimum, p.Maximum, p.MaxLength, p.MaxItems} {
		if n, err := bound.Int64(); err == nil {
			wanted = append(wanted, humanize.Comma(n))
		}
	}
	return slices.DeleteFunc(wanted, func(text string) bool { return strings.Contains(row, text) })
}

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
