package files

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"earshot/repositories"
)

// keywords are a JSON Schema that is being made.
type keywords = map[string]any

// SchemaFile is what the files that are written here call the schema: a file beside them, which
// editors that know the YAML language server read, as earshot schema writes it.
const SchemaFile = "earshot.schema.json"

// modeline is the word by which a file names its schema to the YAML language server.
const modeline = "yaml-language-server:"

// forEditors names the schema in the first line of a file, unless it names one already.
func forEditors(source string) string {
	if strings.Contains(source, modeline) {
		return source
	}
	return "# " + modeline + " $schema=" + SchemaFile + "\n" + source
}

// Schema returns the JSON Schema (draft 2020-12) of one document of a file, for editors: of our
// own kinds, and as far as a document shows what it is of Toolbox's first form and of what SERMAS
// has. It is made of the schema that bodies are decoded by, with what files have beside: kinds,
// names, placeholders such as ${PORT} wherever a value may stand, and a 7 where a text is wanted.
// What takes more than one document to see, such as the name of a tool that there is not, only
// validate finds.
func Schema() json.RawMessage { return slices.Clone(madeSchema()) }

var madeSchema = sync.OnceValue(func() json.RawMessage {
	m := &schemaMaker{defs: keywords{}}
	var given struct {
		Definitions map[string]keywords `json:"$defs"`
	}
	if err := json.Unmarshal(repositories.DefinitionSchema(), &given); err != nil {
		panic("an embedded schema: " + err.Error())
	}
	for name, definition := range given.Definitions {
		m.defs[name] = m.written(definition, true)
	}
	m.tool()
	made, err := json.MarshalIndent(m.root(), "", " ")
	if err != nil {
		panic("an embedded schema: " + err.Error())
	}
	return append(made, '\n')
})

// schemaMaker makes the schema of files out of that of bodies.
type schemaMaker struct{ defs keywords }

// definition is one that was made already.
func (m *schemaMaker) definition(name string) keywords { return m.defs[name].(keywords) }

// placeholderPattern is a variable, or a text with one in it.
const placeholderPattern = `\$\{`

// textFormats are formats of texts that a pattern can say.
var textFormats = map[string]string{
	"earshot-id":        `^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`,
	"earshot-tool-name": `^[A-Za-z0-9_-]{1,64}$`,
	"earshot-emitter":   `^[A-Za-z0-9][A-Za-z0-9_-]{0,127}\.[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`,
}

// typesOf are formats of texts that are one of several words.
var typesOf = map[string]func() []string{
	"earshot-source-type": func() []string {
		return slices.Concat(repositories.SourceTypes(), slices.Sorted(maps.Keys(clouds)))
	},
	"earshot-tool-type": func() []string { return append(repositories.ToolTypes(), openAIFunction) },
}

// written is a schema of a body as that of what is written in a file: what is optional may be
// null, which is absent, and a value may be a placeholder.
func (m *schemaMaker) written(from keywords, needed bool) keywords {
	made := maps.Clone(from)
	for _, word := range []string{"format", "writeOnly", "readOnly", "x-go-name", "x-doc", "x-default"} {
		delete(made, word)
	}
	m.parts(from, made)
	format, _ := from["format"].(string)
	allowed, _ := from["enum"].([]any)
	if of := typesOf[format]; of != nil {
		for _, word := range of() {
			allowed = append(allowed, word)
		}
	}
	switch kinds := typesIn(from); {
	case allowed != nil:
		delete(made, "type")
		made["enum"] = allowed
		return m.orPlaceholder(made, needed)
	case len(kinds) > 0:
		m.widen(made, kinds, needed)
		if pattern := textFormats[format]; pattern != "" {
			made["pattern"] = pattern + "|" + placeholderPattern + map[bool]string{true: "", false: "|^$"}[needed]
		}
	}
	return made
}

// parts writes the schemas inside of one.
func (m *schemaMaker) parts(from, made keywords) {
	required, _ := from["required"].([]any)
	if fields, is := from["properties"].(keywords); is {
		next := keywords{}
		for name, given := range fields {
			next[name] = given
			if inner, is := given.(keywords); is {
				next[name] = m.written(inner, slices.Contains(required, any(name)))
			}
		}
		made["properties"] = next
	}
	for _, word := range []string{"items", "additionalProperties"} {
		if inner, is := from[word].(keywords); is {
			made[word] = m.written(inner, true)
		}
	}
}

// typesIn are the types that a schema names.
func typesIn(from keywords) (kinds []any) {
	switch given := from["type"].(type) {
	case string:
		return []any{given}
	case []any:
		return slices.Clone(given)
	}
	return nil
}

// widen lets a schema take what files may have in the place of a value of these types.
func (m *schemaMaker) widen(made keywords, kinds []any, needed bool) {
	has := func(kind string) bool { return slices.Contains(kinds, any(kind)) }
	switch {
	case has("string"): // a text may look like something else
		kinds = append(kinds, "number", "boolean")
	case has("boolean"), has("integer"), has("number"):
		kinds = append(kinds, "string")
		made["pattern"] = placeholderPattern
	}
	if !needed {
		kinds = append(kinds, "null")
	}
	slices.SortFunc(kinds, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	made["type"] = slices.Compact(kinds)
}

// orPlaceholder lets a word that is one of several be a placeholder as well.
func (m *schemaMaker) orPlaceholder(made keywords, needed bool) keywords {
	choice := []any{keywords{"enum": made["enum"]}, keywords{"type": "string", "pattern": placeholderPattern}}
	if !needed {
		choice = append(choice, keywords{"enum": []any{nil, ""}})
	}
	delete(made, "enum")
	made["anyOf"] = choice
	return made
}

// tool lets a tool be given as others define it: schema as a JSON Schema, the name in function.
func (m *schemaMaker) tool() {
	tool := m.definition("Tool")
	tool["properties"].(keywords)["schema"].(keywords)["type"] = []any{"array", "object", "null"}
	tool["properties"].(keywords)["request"] = keywords{"anyOf": []any{tool["properties"].(keywords)["request"], keywords{"type": "null"}}}
	delete(tool, "required")
	tool["anyOf"] = []any{keywords{"required": []any{"name"}}, keywords{"required": []any{"function"}}}
}
