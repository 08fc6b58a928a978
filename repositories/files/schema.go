package files

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"earshot/repositories"
)

type keywords = map[string]any

// SchemaFile is the schema that generated files name: a file in their folder, written by earshot schema.
const SchemaFile = "earshot.schema.json"

const modeline = "yaml-language-server:"

// forEditors adds the schema as the first line of a file, unless it names one already.
func forEditors(source string) string {
	if strings.Contains(source, modeline) {
		return source
	}
	return "# " + modeline + " $schema=" + SchemaFile + "\n" + source
}

// Schema returns the JSON Schema (draft 2020-12) of one document of a file, for editors: of Earshot's kinds, and
// mostly of Toolbox's first form and of SERMAS. It extends the schema of bodies by the features of files: kinds,
// names, placeholders for values, and numbers for texts. Rules across documents are only checked by validate.
func Schema() json.RawMessage { return slices.Clone(buildSchema()) }

var buildSchema = sync.OnceValue(func() json.RawMessage {
	m := &schemaBuilder{defs: keywords{}}
	var given struct {
		Definitions map[string]keywords `json:"$defs"`
	}
	if err := json.Unmarshal(repositories.DefinitionSchema(), &given); err != nil {
		panic("an embedded schema: " + err.Error())
	}
	for name, definition := range given.Definitions {
		m.defs[name] = forFiles(definition, true)
	}

	// A tool may have another format's form: schema as a JSON Schema, the name in function.
	tool := m.definition("Tool")
	fields := tool["properties"].(keywords)
	fields["schema"].(keywords)["type"] = []any{"array", "object", "null"}
	fields["request"] = keywords{"anyOf": []any{fields["request"], keywords{"type": "null"}}}
	delete(tool, "required")
	tool["anyOf"] = []any{keywords{"required": []any{"name"}}, keywords{"required": []any{"function"}}}

	made, err := json.MarshalIndent(m.root(), "", " ")
	if err != nil {
		panic("an embedded schema: " + err.Error())
	}
	return append(made, '\n')
})

// placeholderPattern matches a text with a variable.
const placeholderPattern = `\$\{`

// textFormats are formats that a pattern can express.
var textFormats = map[string]string{
	"earshot-id":        `^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`,
	"earshot-tool-name": `^[A-Za-z0-9_-]{1,64}$`,
	"earshot-emitter":   `^[A-Za-z0-9][A-Za-z0-9_-]{0,127}\.[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`,
}

// typesOf are formats with a list of values.
var typesOf = map[string]func() []string{
	"earshot-source-type": func() []string { return slices.Concat(repositories.SourceTypes(), sortedKeys(clouds)) },
	"earshot-tool-type":   func() []string { return append(repositories.ToolTypes(), openAIFunction) },
}

// forFiles converts the schema of a body to that of a file: optional fields may be null, values may be
// placeholders.
func forFiles(source keywords, isRequired bool) keywords {
	result := maps.Clone(source)
	for _, keyword := range []string{"format", "writeOnly", "readOnly", "x-go-name", "x-doc", "x-default"} {
		delete(result, keyword)
	}
	required, _ := source["required"].([]any)
	if fields, ok := source["properties"].(keywords); ok {
		next := maps.Clone(fields)
		for name, given := range fields {
			if inner, ok := given.(keywords); ok {
				next[name] = forFiles(inner, slices.Contains(required, any(name)))
			}
		}
		result["properties"] = next
	}
	for _, keyword := range []string{"items", "additionalProperties"} {
		if inner, ok := source[keyword].(keywords); ok {
			result[keyword] = forFiles(inner, true)
		}
	}

	format, _ := source["format"].(string)
	allowed, _ := source["enum"].([]any)
	if values := typesOf[format]; values != nil {
		for _, keyword := range values() {
			allowed = append(allowed, keyword)
		}
	}
	if allowed != nil { // an enumerated text may also be a placeholder
		delete(result, "type")
		delete(result, "enum")
		choice := []any{keywords{"enum": allowed}, keywords{"type": "string", "pattern": placeholderPattern}}
		if !isRequired {
			choice = append(choice, keywords{"enum": []any{nil, ""}})
		}
		result["anyOf"] = choice
		return result
	}
	widen(result, isRequired)
	if pattern := textFormats[format]; pattern != "" && result["type"] != nil {
		result["pattern"] = pattern + "|" + placeholderPattern + map[bool]string{true: "", false: "|^$"}[isRequired]
	}
	return result
}

// widen lets a schema accept the alternatives of files for its types.
func widen(made keywords, needed bool) {
	var kinds []any
	switch given := made["type"].(type) {
	case string:
		kinds = []any{given}
	case []any:
		kinds = slices.Clone(given)
	default:
		return
	}
	has := func(kind string) bool { return slices.Contains(kinds, any(kind)) }
	switch {
	case has("string"): // an unquoted text may look like another type
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

type schemaBuilder struct{ defs keywords }

func (m *schemaBuilder) definition(name string) keywords { return m.defs[name].(keywords) }

func (m *schemaBuilder) copyOf(name string) (made, fields keywords) {
	made = maps.Clone(m.definition(name))
	fields = maps.Clone(made["properties"].(keywords))
	made["properties"] = fields
	return made, fields
}

// root returns the schema of any document. Those without a kind are recognised by a field.
func (m *schemaBuilder) root() keywords {
	var kinds, otherForms []any
	for _, word := range ownKinds {
		kinds = append(kinds, word)
	}
	for _, word := range sortedKeys(kindWords) {
		if !slices.Contains(ownKinds, word) {
			kinds = append(kinds, word)
		}
	}
	fields := slices.Concat(sectionNames, []string{"authSources", "appId", "modules", "chat"}, appFields[1:], settingsFields)
	for _, kind := range slices.Compact(slices.Sorted(slices.Values(fields))) {
		otherForms = append(otherForms, keywords{"required": []any{kind}})
	}
	branches := []any{keywords{
		"if":   keywords{"type": "object", "required": []any{"kind"}},
		"then": keywords{"properties": keywords{"kind": keywords{"enum": kinds}}},
		"else": keywords{"if": keywords{"type": "object"}, "then": keywords{"anyOf": otherForms}},
	}}
	for _, kind := range describedKinds {
		definition, fields := keywords{"type": "object"}, keywords{}
		if kind.definition != "" {
			definition, fields = m.copyOf(kind.definition)
		}
		for _, name := range kind.omitted {
			delete(fields, name)
		}
		if kind.nameField != "" {
			fields["name"] = fields[kind.nameField]
			delete(fields, kind.nameField)
		}
		maps.Copy(fields, kind.fields)
		fields["kind"] = keywords{"enum": wordsOf(kind.kind)}
		definition["description"], definition["additionalProperties"], definition["properties"] = kind.description, false, fields
		definition["required"] = append([]any{"kind"}, kind.required...)
		name := "Document of " + kind.kind
		m.defs[name] = definition
		branches = append(branches, keywords{
			"if":   keywords{"type": "object", "required": []any{"kind"}, "properties": keywords{"kind": keywords{"enum": wordsOf(kind.kind)}}},
			"then": keywords{"$ref": "#/$defs/" + name},
		})
	}
	m.defs["Listed tool"], m.defs["Listed module"] = m.listed("Tool", "public", "supports"), m.listed("Module", "description", "supports", "config", "public")
	return keywords{
		"$schema":     "https://json-schema.org/draft/2020-12/schema",
		"title":       "A file of Earshot",
		"description": "One document of a file for earshot apply. Several stand in one file with --- between them.",
		"type":        []any{"object", "array", "null"},
		"properties":  keywords{"kind": keywords{"description": "What the document is."}},
		"items": keywords{
			"type": "object",
			"if":   keywords{"required": []any{"moduleId"}}, "then": keywords{"$ref": "#/$defs/Listed module"}, "else": keywords{"$ref": "#/$defs/Listed tool"},
		},
		"allOf": branches, "$defs": m.defs,
	}
}

// listed returns the schema of a SERMAS list's member, which may lack fields that are filled in elsewhere.
func (m *schemaBuilder) listed(name string, optional ...string) keywords {
	made, fields := m.copyOf(name)
	for _, fieldName := range optional {
		if fields[fieldName] == nil {
			fields[fieldName] = anything
		}
	}
	delete(made, "required")
	return made
}

type describedKind struct {
	kind, definition string // the definition is empty if fields are complete
	nameField        string // field of the definition with the document's name
	omitted          []string
	fields           keywords // additional fields of files
	required         []any
	description      string
}

// Parts of the documents. anything is ignored.
var (
	anything          = keywords{}
	scalarSchema      = keywords{"type": []any{"string", "number", "boolean"}}
	textsSchema       = keywords{"type": []any{"array", "null"}, "items": scalarSchema}
	namesSchema       = keywords{"anyOf": []any{textsSchema, scalarSchema}}
	expectationSchema = keywords{
		"type": "object", "additionalProperties": false,
		"properties": keywords{"tool": scalarSchema, "values": keywords{"type": "object"}, "none": keywords{"const": true}, "rejected": scalarSchema, "missing": namesSchema},
	}
)

var describedKinds = []describedKind{
	{kind: kindTool, definition: "Tool", description: "A tool that a user's words can fire."},
	{kind: kindRepository, definition: "Repository", nameField: "repositoryId", omitted: []string{"appId", "sessionId", "created", "updated", "notes"},
		fields: keywords{"tools": textsSchema, "description": anything}, required: []any{"name"}, description: "A named group of tools: tools lists their names, or from names a source of type mcp."},
	{kind: kindGroup, fields: keywords{"name": keywords{"type": []any{"string", "number"}}, "tools": textsSchema, "description": anything}, description: "A repository in Toolbox's words."},
	{kind: kindApp, definition: "App", nameField: "appId", omitted: []string{"name", "notes"}, required: []any{"name"},
		fields: keywords{"displayName": keywords{"description": "What people call it.", "type": []any{"string", "number", "boolean", "null"}}, "description": anything, "public": anything}, description: "A tenant; its name is the appId."},
	{kind: kindModule, definition: "Module", nameField: "moduleId", required: []any{"name", "secret"}, description: "An OAuth2 client of the app."},
	{kind: kindAuthService, definition: "AuthService", required: []any{"name", "type"},
		fields: keywords{"description": anything, "type": keywords{"enum": []any{"google", "oidc", "generic"}}, "authorizationServer": keywords{"type": "string", "description": "Of Toolbox's generic: the issuer."}}, description: "How ID tokens are verified."},
	{kind: kindSource, definition: "Source", required: []any{"name", "type"},
		fields: keywords{"description": anything, "project": anything, "region": anything, "instance": anything, "cluster": anything, "ipType": anything}, description: "A database, an HTTP API or an MCP server that tools work on."},
	{kind: kindTest, required: []any{"name", "chat"}, description: "A conversation and what it should fire, for earshot eval.", fields: keywords{
		"name": scalarSchema, "app": scalarSchema, "tools": namesSchema, "now": scalarSchema, "timeZone": scalarSchema, "language": scalarSchema,
		"chat": keywords{"type": "array", "minItems": 1, "items": keywords{
			"type": "object", "additionalProperties": false, "minProperties": 1,
			"properties": keywords{"user": scalarSchema, "agent": scalarSchema, "expect": keywords{"anyOf": []any{expectationSchema, keywords{"type": "array", "items": expectationSchema}}}},
		}},
	}},
}

func wordsOf(kind string) (terms []any) {
	for _, word := range sortedKeys(kindWords) {
		if kindWords[word] == kind {
			terms = append(terms, word)
		}
	}
	return terms
}
