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
func forFiles(from keywords, needed bool) keywords {
	made := maps.Clone(from)
	for _, word := range []string{"format", "writeOnly", "readOnly", "x-go-name", "x-doc", "x-default"} {
		delete(made, word)
	}
	required, _ := from["required"].([]any)
	if fields, ok := from["properties"].(keywords); ok {
		next := maps.Clone(fields)
		for name, given := range fields {
			if inner, ok := given.(keywords); ok {
				next[name] = forFiles(inner, slices.Contains(required, any(name)))
			}
		}
		made["properties"] = next
	}
	for _, word := range []string{"items", "additionalProperties"} {
		if inner, ok := from[word].(keywords); ok {
			made[word] = forFiles(inner, true)
		}
	}

	format, _ := from["format"].(string)
	allowed, _ := from["enum"].([]any)
	if of := typesOf[format]; of != nil {
		for _, word := range of() {
			allowed = append(allowed, word)
		}
	}
	if allowed != nil { // an enumerated text may also be a placeholder
		delete(made, "type")
		delete(made, "enum")
		choice := []any{keywords{"enum": allowed}, keywords{"type": "string", "pattern": placeholderPattern}}
		if !needed {
			choice = append(choice, keywords{"enum": []any{nil, ""}})
		}
		made["anyOf"] = choice
		return made
	}
	widen(made, needed)
	if pattern := textFormats[format]; pattern != "" && made["type"] != nil {
		made["pattern"] = pattern + "|" + placeholderPattern + map[bool]string{true: "", false: "|^$"}[needed]
	}
	return made
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

type schemaMaker struct{ defs keywords }

func (m *schemaMaker) definition(name string) keywords { return m.defs[name].(keywords) }

func (m *schemaMaker) copyOf(name string) (made, fields keywords) {
	made = maps.Clone(m.definition(name))
	fields = maps.Clone(made["properties"].(keywords))
	made["properties"] = fields
	return made, fields
}

// root returns the schema of any document. Those without a kind are recognised by a field.
func (m *schemaMaker) root() keywords {
	var known, otherForms []any
	for _, word := range ownKinds {
		known = append(known, word)
	}
	for _, word := range sortedKeys(kindWords) {
		if !slices.Contains(ownKinds, word) {
			known = append(known, word)
		}
	}
	fields := slices.Concat(sectionNames, []string{"authSources", "appId", "modules", "chat"}, appFields[1:], settingsFields)
	for _, one := range slices.Compact(slices.Sorted(slices.Values(fields))) {
		otherForms = append(otherForms, keywords{"required": []any{one}})
	}
	ways := []any{keywords{
		"if":   keywords{"type": "object", "required": []any{"kind"}},
		"then": keywords{"properties": keywords{"kind": keywords{"enum": known}}},
		"else": keywords{"if": keywords{"type": "object"}, "then": keywords{"anyOf": otherForms}},
	}}
	for _, one := range describedKinds {
		made, fields := keywords{"type": "object"}, keywords{}
		if one.of != "" {
			made, fields = m.copyOf(one.of)
		}
		for _, name := range one.without {
			delete(fields, name)
		}
		if one.id != "" {
			fields["name"] = fields[one.id]
			delete(fields, one.id)
		}
		maps.Copy(fields, one.also)
		fields["kind"] = keywords{"enum": wordsOf(one.kind)}
		made["description"], made["additionalProperties"], made["properties"] = one.about, false, fields
		made["required"] = append([]any{"kind"}, one.required...)
		name := "Document of " + one.kind
		m.defs[name] = made
		ways = append(ways, keywords{
			"if":   keywords{"type": "object", "required": []any{"kind"}, "properties": keywords{"kind": keywords{"enum": wordsOf(one.kind)}}},
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
		"allOf": ways, "$defs": m.defs,
	}
}

// listed returns the schema of a SERMAS list's member, which may lack fields that are filled in elsewhere.
func (m *schemaMaker) listed(name string, also ...string) keywords {
	made, fields := m.copyOf(name)
	for _, left := range also {
		if fields[left] == nil {
			fields[left] = anything
		}
	}
	delete(made, "required")
	return made
}

type describedKind struct {
	kind, of string // of is the definition; empty if fields are complete
	id       string // field of the definition with the document's name
	without  []string
	also     keywords // additional fields of files
	required []any
	about    string
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
	{kind: kindTool, of: "Tool", about: "A tool that a user's words can fire."},
	{kind: kindRepository, of: "Repository", id: "repositoryId", without: []string{"appId", "sessionId", "created", "updated", "notes"},
		also: keywords{"tools": textsSchema, "description": anything}, required: []any{"name"}, about: "A named group of tools: tools lists their names, or from names a source of type mcp."},
	{kind: kindGroup, also: keywords{"name": keywords{"type": []any{"string", "number"}}, "tools": textsSchema, "description": anything}, about: "A repository in Toolbox's words."},
	{kind: kindApp, of: "App", id: "appId", without: []string{"name", "notes"}, required: []any{"name"},
		also: keywords{"displayName": keywords{"description": "What people call it.", "type": []any{"string", "number", "boolean", "null"}}, "description": anything, "public": anything}, about: "A tenant; its name is the appId."},
	{kind: kindModule, of: "Module", id: "moduleId", required: []any{"name", "secret"}, about: "An OAuth2 client of the app."},
	{kind: kindAuthService, of: "AuthService", required: []any{"name", "type"},
		also: keywords{"description": anything, "type": keywords{"enum": []any{"google", "oidc", "generic"}}, "authorizationServer": keywords{"type": "string", "description": "Of Toolbox's generic: the issuer."}}, about: "How ID tokens are verified."},
	{kind: kindSource, of: "Source", required: []any{"name", "type"},
		also: keywords{"description": anything, "project": anything, "region": anything, "instance": anything, "cluster": anything, "ipType": anything}, about: "A database, an HTTP API or an MCP server that tools work on."},
	{kind: kindTest, required: []any{"name", "chat"}, about: "A conversation and what it should fire, for earshot eval.", also: keywords{
		"name": scalarSchema, "app": scalarSchema, "tools": namesSchema, "now": scalarSchema, "timeZone": scalarSchema, "language": scalarSchema,
		"chat": keywords{"type": "array", "minItems": 1, "items": keywords{
			"type": "object", "additionalProperties": false, "minProperties": 1,
			"properties": keywords{"user": scalarSchema, "agent": scalarSchema, "expect": keywords{"anyOf": []any{expectationSchema, keywords{"type": "array", "items": expectationSchema}}}},
		}},
	}},
}

func wordsOf(kind string) (begin []any) {
	for _, word := range sortedKeys(kindWords) {
		if kindWords[word] == kind {
			begin = append(begin, word)
		}
	}
	return begin
}
