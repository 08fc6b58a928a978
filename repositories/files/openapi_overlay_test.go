package files_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/files"
)

const library = `openapi: 3.1.0
info: {title: Library}
servers: [{url: "https://api.example"}]
paths:
  /books:
    get:
      operationId: listBooks
      tags: [read]
      parameters:
      - &page {name: page, in: query, schema: {type: integer}}
      - {name: debug, in: query, schema: {type: boolean}}
    post: {operationId: addBook, requestBody: {required: true, content: {application/json: {schema: {type: object, properties: {title: {type: string}}}}}}}
  /loans:
    get:
      operationId: listLoans
      parameters: [*page]
    delete: {operationId: dropLoans}
`

// overlays writes overlays of version 1.1 with these actions, in files named 0.yaml and so on.
func overlays(t *testing.T, actions ...string) (paths []string) {
	t.Helper()
	folder := t.TempDir()
	for i, of := range actions {
		path := filepath.Join(folder, fmt.Sprintf("%d.yaml", i))
		require.NoError(t, os.WriteFile(path, []byte("overlay: 1.1.0\ninfo: {title: Ours, version: 1.0.0}\nactions:\n"+of), 0o600))
		paths = append(paths, path)
	}
	return paths
}

func TestOverlaysChangeTheDocumentBeforeItIsRead(t *testing.T) {
	made, set := imported(t, library, files.OpenAPIOptions{Overlays: overlays(t, `
- {target: "$.servers[0].url", update: "https://eu.example"}
- {target: "$.paths['/books'].get.parameters[?@.name == 'debug']", remove: true}
- {target: $.paths.*.get.parameters, update: {name: limit, in: query, schema: {type: integer}}}
- target: $.paths.*[?@.operationId == 'addBook']
  description: people are asked
  update: {x-earshot-confirm: always, requestBody: {content: {application/json: {schema: {required: [title]}}}}}
- {target: $.paths.*.delete, remove: true, update: ignored}
- {target: "$.paths['/nowhere']", remove: true}
`, `
- {target: $.paths, update: {/old: {}}}
- {target: "$.paths['/old']", copy: "$.paths['/books']"}
- {target: "$.paths['/old'][?@.operationId]", update: {description: of before}}
- {target: "$.paths['/old'].post", remove: true}
- {target: "$.paths['/old'].get.operationId", update: listOldBooks}
- {target: "$.paths['/books'].get.parameters[0].name", update: sheet}
`)})
	require.Contains(t, string(set.App.Body()), "https://eu.example")
	tools := toolsOf(t, set)
	require.Len(t, tools, 4)
	named := func(tool string) (names []string) {
		list, _ := tools[tool]["queryParams"].([]any)
		for _, one := range list {
			names = append(names, one.(map[string]any)["name"].(string))
		}
		return names
	}
	require.Equal(t, []string{"sheet", "limit"}, named("listBooks"))
	require.Equal(t, []string{"page", "limit"}, named("listOldBooks"))
	require.Equal(t, []string{"page", "limit"}, named("listLoans"), "an alias has what was changed elsewhere no more")
	require.Equal(t, "of before", tools["listOldBooks"]["description"])
	require.Equal(t, "always", tools["addBook"]["confirm"])
	require.NotContains(t, tools["addBook"]["bodyParams"].([]any)[0], "required", "title is required")
	require.Len(t, made.Notes, 1)
	require.Contains(t, made.Notes[0].String(), `0.yaml:12:12: actions[5]: the target "$.paths['/nowhere']" matches nothing in the document`)
}

func TestNestedTargetsAreEachChangedAndRemoved(t *testing.T) {
	_, set := imported(t, library, files.OpenAPIOptions{Overlays: overlays(t, `
- {target: "$..[?@.name || @.operationId]", update: {description: changed}}
- {target: "$.paths['/books']..*", remove: true}
- {target: "$.paths['/loans'].get.parameters[*]", copy: "$.paths['/loans'].get.parameters[0].schema"}
`)})
	tools := toolsOf(t, set)
	require.Len(t, tools, 2)
	require.Equal(t, "changed", tools["listLoans"]["description"])
}

func TestFaultsOfOverlaysNameTheActionAndItsTarget(t *testing.T) {
	paths := overlays(t, `
- {target: $.paths, update: [a]}
- {target: $.info.title, update: {a: b}}
- {target: "$.paths[", remove: true}
- {update: {}}
- {target: $.info}
- {target: $, remove: true}
- {target: $.info, copy: "$.paths.*"}
- {target: $.info, copy: $.info, update: {}}
- {target: $.info, remove: 1}
- {traget: $.info, target: $.info, update: {}}
- nothing
`)
	folder := filepath.Dir(paths[0])
	for name, content := range map[string]string{
		"later.yaml": "overlay: 1.2.0\ninfo: {}\nactions: []\n", "none.json": `{"overlay":"1.0.0","actions":[]}`, "else.yaml": "openapi: 3.1.0\n", "broken.yaml": "a: [\n",
		"many.yaml":  "overlay: 1.0.0\nactions:\n" + strings.Repeat("- {target: $.info, update: {}}\n", 1001),
		"grows.yaml": "overlay: 1.1.0\nactions:\n- {target: $, update: {x: {}}}\n" + strings.Repeat("- {target: $.info, copy: $}\n- {target: $.x, update: {}}\n", 40),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
		paths = append(paths, filepath.Join(folder, name))
	}
	paths = append(paths, filepath.Join(folder, "missing.yaml"))
	_, err := files.FromOpenAPI(files.Stdin, files.OpenAPIOptions{Stdin: strings.NewReader(library), Overlays: paths})
	require.IsType(t, files.Faults{}, err)
	for _, want := range []string{
		`0.yaml:5:29: actions[0]: the target "$.paths" selects a map at /paths, and is updated by a list: give a map`,
		`0.yaml:6:34: actions[1]: the target "$.info.title" selects a text at /info/title, and is updated by a map: target the map that has it`,
		`0.yaml:7:12: actions[2]: the target "$.paths[" is not a JSONPath of RFC 9535: unexpected eof`,
		`0.yaml:8:3: actions[3] has no target, a JSONPath`,
		`0.yaml:9:3: actions[4]: the target "$.info" has neither an update nor a copy nor remove: true`,
		`0.yaml:10:3: actions[5]: the target "$" is the whole document, which cannot be removed`,
		`0.yaml:11:26: actions[6]: the copy "$.paths.*" selects 2 values, and one is copied`,
		`0.yaml:12:3: actions[7]: the target "$.info" has both an update and a copy; give one of them`,
		`0.yaml:13:28: actions[8]: remove is a number and no boolean`,
		`0.yaml:14:4: unknown field "traget" of actions[9]; did you mean "target"?`,
		`0.yaml:15:3: actions[10] is a text and no map`,
		`later.yaml:1:10: has overlay "1.2.0"; versions 1.0 and 1.1 are read`,
		`none.json:1:1: has no actions`,
		`else.yaml:1:1: is no OpenAPI Overlay`,
		`broken.yaml:1:4: malformed YAML`,
		`many.yaml:3:1: has 1001 actions; at most 1000 are read`,
		`values by now, and is read no further`,
		`missing.yaml: no such file`,
	} {
		require.ErrorContains(t, err, want)
	}
}
