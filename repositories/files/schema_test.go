package files_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"earshot/repositories/files"
)

// compiled compiles the schema like an editor.
func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(files.Schema()))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("file:///earshot.schema.json", tree))
	made, err := compiler.Compile("file:///earshot.schema.json")
	require.NoError(t, err)
	return made
}

// documentsOf reads the documents of a file like an editor, with placeholders.
func documentsOf(t *testing.T, text []byte) (documents []any) {
	t.Helper()
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var one any
		err := decoder.Decode(&one)
		if errors.Is(err, io.EOF) {
			return documents
		}
		require.NoError(t, err)
		plain, err := json.Marshal(one)
		require.NoError(t, err)
		read, err := jsonschema.UnmarshalJSON(bytes.NewReader(plain))
		require.NoError(t, err)
		documents = append(documents, read)
	}
}

// shipped lists all files of definitions and tests in the project.
func shipped(t *testing.T) (paths []string) {
	t.Helper()
	for _, pattern := range []string{
		"testdata/*.yaml", "testdata/*.golden", "testdata/openapi/*.golden", "prebuilt/*.yaml",
		"../../deploy/conversations/*.yaml", "../../deploy/examples/*/*.yaml",
	} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, found, pattern)
		paths = append(paths, found...)
	}
	return slices.DeleteFunc(paths, func(path string) bool {
		// Layouts are only for migrate, and the agent's is an OpenAPI document.
		return strings.HasPrefix(path, "testdata/layouts.") || path == "../../deploy/examples/agent/shop.yaml"
	})
}

func TestAllFilesOfTheProjectFitTheSchema(t *testing.T) {
	t.Parallel()
	fits := compiled(t)
	for _, path := range shipped(t) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, document := range documentsOf(t, text) {
			require.NoError(t, fits.Validate(document), path)
		}
	}
}

// TestTheExamplesNameTheSchemaOfToday checks the copy of the schema beside the examples.
func TestTheExamplesNameTheSchemaOfToday(t *testing.T) {
	t.Parallel()
	kept, err := os.ReadFile("../../deploy/examples/earshot.schema.json")
	require.NoError(t, err)
	require.Equal(t, string(files.Schema()), string(kept), "write it anew: go run ./cmd/earshot schema > deploy/examples/earshot.schema.json")
	for _, path := range []string{"clinic/clinic.yaml", "home/home.yaml"} {
		text, err := os.ReadFile("../../deploy/examples/" + path)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(text), "# yaml-language-server: $schema=../earshot.schema.json\n"), path)
	}
}

func TestWhatFilesMayWriteFitsTheSchema(t *testing.T) {
	t.Parallel()
	fits := compiled(t)
	for name, text := range map[string]string{
		"placeholders":      "kind: source\nname: crm\ntype: ${TYPE:postgres}\nhost: ${HOST}\nport: ${PORT:5432}\ndatabase: d\nuser: u\npassword: 12345\nreadOnly: ${RO:true}",
		"nothing given":     "kind: tool\nname: ring\ndescription:\nurl: \nexamples:\nemitter: \"\"",
		"an OpenAI tool":    "kind: tool\ntype: function\nfunction: {name: ring, strict: true, parameters: {type: object}}\nurl: https://example.org",
		"an object schema":  "kind: tool\nname: ring\nschema: {type: object, properties: {}}",
		"Toolbox's plural":  "kind: toolsets\nname: all\ntools: [a, b]",
		"what it leaves":    "kind: prompt\nname: p\nmessages: [hello]",
		"a generic service": "kind: authService\nname: corp\ntype: generic\nauthorizationServer: https://example.org\naudience: a",
		"a cloud's source":  "kind: source\nname: crm\ntype: cloud-sql-postgres\nproject: p\nregion: r\ninstance: i\nhost: h\ndatabase: d\nuser: u",
		"a list of SERMAS":  "- name: ring\n  public: true\n- moduleId: calendar\n  config: {}",
		"settings alone":    "chatModeEnabled: true\navatar: {}",
	} {
		for _, document := range documentsOf(t, []byte(text)) {
			require.NoError(t, fits.Validate(document), name)
		}
	}
}

func TestFaultsThatOneDocumentShowsAreSeenByTheSchema(t *testing.T) {
	t.Parallel()
	fits := compiled(t)
	for _, text := range []string{
		"kind: tol\nname: ring", "name: ring\ndescription: no kind", "kind: tool", "kind: tool\nname: ring\ndescripton: Ring the bell",
		"kind: tool\nname: two words", "kind: tool\nname: ring\nschema: [{parameter: times, type: int}]", "kind: tool\nname: ring\nexamples: ring",
		"kind: tool\nname: ring\nrequest: {auth: digest}", "kind: tool\nname: ring\nemitter: alone", "kind: tool\nname: ring\ntype: postgres-sq",
		"kind: tool\nname: ring\nconfirm: sometimes", "kind: tool\nname: ring\ndedupe: {by: [a]}", "kind: module\nname: calendar", "kind: repository\nname: desk\ntools: [{name: ring}]",
		"kind: repository\nname: desk\noptions: {once: true}", "kind: toolset\nname: desk\noptions: {}", "kind: app\nname: clinic\nsettings: {limits: {messagesPerMinute: many}}",
		"kind: source\nname: crm\ntype: oracle", "kind: source\nname: crm\ntype: postgres\nallowPrivateNetworks: true", "kind: authService\nname: a\ntype: saml",
		"kind: test\nname: t", "kind: test\nname: t\nchat: [{users: hello}]", "- {name: ring, urls: x}",
	} {
		for _, document := range documentsOf(t, []byte(text)) {
			require.Error(t, fits.Validate(document), text)
		}
	}
}

// TestTheSchemaRefusesNothingThatValidateTakes spoils every value of the files in three ways. If the schema refuses
// the result, validate must report it as well.
func TestTheSchemaRefusesNothingThatValidateTakes(t *testing.T) {
	t.Parallel()
	fits, refused := compiled(t), 0
	for _, path := range []string{"../../deploy/examples/clinic/clinic.yaml", "testdata/seed-v1.golden"} {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		documents := documentsOf(t, text)
		for i := range documents {
			spoil(documents[i], func(what string) {
				if fits.Validate(documents[i]) != nil {
					refused++
					require.Error(t, validated(t, documents), "%s: %s of document %d", path, what, i+1)
				}
			})
		}
	}
	require.Greater(t, refused, 100, "of what is spoilt the schema sees most")
}

func validated(t *testing.T, documents []any) error {
	t.Helper()
	var text strings.Builder
	for _, one := range documents {
		written, err := json.Marshal(one)
		require.NoError(t, err)
		text.WriteString("---\n" + string(written) + "\n")
	}
	set, err := files.Read([]string{files.Stdin}, files.Options{
		AppID: "clinic", Stdin: strings.NewReader(text.String()), Tests: true,
		Lookup: func(string) (string, bool) { return "1", true },
	})
	return set.JoinCheck(err)
}

// spoil changes a tree in one place at a time, and calls look for each.
func spoil(tree any, look func(what string)) {
	switch value := tree.(type) {
	case map[string]any:
		value["unheardOf"] = true
		look("a field that there is not")
		delete(value, "unheardOf")
		for name, inner := range value {
			delete(value, name)
			look("without " + name)
			value[name] = []any{[]any{}}
			look(name + " a list of lists")
			value[name] = inner
			spoil(inner, look)
		}
	case []any:
		for i, inner := range value {
			value[i] = map[string]any{"unheardOf": 1}
			look("another member")
			value[i] = inner
			spoil(inner, look)
		}
	}
}
