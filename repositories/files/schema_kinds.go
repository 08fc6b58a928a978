package files

import (
	"maps"
	"slices"
)

// describedKind is how a kind of document is made of what bodies have.
type describedKind struct {
	kind, of string // of is the definition; empty: fields are all there are
	id       string // field of the definition that is the name of the document
	without  []string
	also     keywords // fields that files have beside
	required []any
	about    string
}

// anything is what is read and left.
var anything = keywords{}

func listOfTexts() keywords {
	return keywords{"type": []any{"array", "null"}, "items": keywords{"type": []any{"string", "number", "boolean"}}}
}

// describedKinds are the kinds, each with what its documents may have.
func describedKinds() []describedKind {
	named := keywords{"type": []any{"string", "number"}}
	return []describedKind{
		{kind: kindTool, of: "Tool", about: "What a user's words can set off."},
		{kind: kindRepository, of: "Repository", id: "repositoryId", without: []string{"appId", "sessionId", "created", "updated", "notes"},
			also: keywords{"tools": listOfTexts(), "description": anything}, required: []any{"name"}, about: "A named group of tools: tools lists their names, or from names a source of type mcp."},
		{kind: kindGroup, also: keywords{"name": named, "tools": listOfTexts(), "description": anything}, about: "A repository in Toolbox's words."},
		{kind: kindApp, of: "App", id: "appId", without: []string{"name", "notes"}, required: []any{"name"},
			also: keywords{"displayName": keywords{"description": "What people call it.", "type": []any{"string", "number", "boolean", "null"}}, "description": anything, "public": anything}, about: "A tenant; its name is the appId."},
		{kind: kindModule, of: "Module", id: "moduleId", required: []any{"name", "secret"}, about: "An OAuth2 client of the app."},
		{kind: kindAuthService, of: "AuthService", required: []any{"name", "type"},
			also: keywords{"description": anything, "type": keywords{"enum": []any{"google", "oidc", "generic"}}, "authorizationServer": keywords{"type": "string", "description": "Of Toolbox's generic: the issuer."}}, about: "How ID tokens are verified."},
		{kind: kindSource, of: "Source", required: []any{"name", "type"},
			also: keywords{"description": anything, "project": anything, "region": anything, "instance": anything, "cluster": anything, "ipType": anything}, about: "A database, an HTTP API or an MCP server that tools work on."},
		{kind: kindTest, also: testSchema(), required: []any{"name", "chat"}, about: "A conversation with what it should set off, for earshot eval."},
	}
}

// document is the schema of the documents of a kind.
func (m *schemaMaker) document(of describedKind) keywords {
	made := keywords{"type": "object", "properties": keywords{}}
	if of.of != "" {
		made = maps.Clone(m.definition(of.of))
		made["properties"] = maps.Clone(made["properties"].(keywords))
	}
	fields := made["properties"].(keywords)
	for _, name := range of.without {
		delete(fields, name)
	}
	if of.id != "" {
		fields["name"] = fields[of.id]
		delete(fields, of.id)
	}
	maps.Copy(fields, of.also)
	fields["kind"] = keywords{"enum": wordsOf(of.kind)}
	made["description"], made["additionalProperties"] = of.about, false
	made["required"] = append([]any{"kind"}, of.required...)
	return made
}

// wordsOf are the words that documents of a kind begin with.
func wordsOf(kind string) (begin []any) {
	for _, word := range slices.Sorted(maps.Keys(kindWords)) {
		if kindWords[word] == kind {
			begin = append(begin, word)
		}
	}
	return begin
}

// testSchema has the fields of a test.
func testSchema() keywords {
	scalar := keywords{"type": []any{"string", "number", "boolean"}}
	names := keywords{"anyOf": []any{listOfTexts(), scalar}}
	expectation := keywords{
		"type": "object", "additionalProperties": false,
		"properties": keywords{"tool": scalar, "values": keywords{"type": "object"}, "none": keywords{"const": true}, "rejected": scalar, "missing": names},
	}
	said := keywords{
		"type": "object", "additionalProperties": false, "minProperties": 1,
		"properties": keywords{"user": scalar, "agent": scalar, "expect": keywords{"anyOf": []any{expectation, keywords{"type": "array", "items": expectation}}}},
	}
	return keywords{
		"name": scalar, "app": scalar, "tools": names, "now": scalar, "timeZone": scalar, "language": scalar,
		"chat": keywords{"type": "array", "minItems": 1, "items": said},
	}
}

// root is the schema of any document.
func (m *schemaMaker) root() keywords {
	known := make([]any, 0, len(kindWords))
	for _, word := range ownKinds {
		known = append(known, word)
	}
	for _, word := range slices.Sorted(maps.Keys(kindWords)) {
		if !slices.Contains(ownKinds, word) {
			known = append(known, word)
		}
	}
	ways := []any{keywords{
		"if":   keywords{"type": "object", "required": []any{"kind"}},
		"then": keywords{"properties": keywords{"kind": keywords{"enum": known}}},
		"else": keywords{"if": keywords{"type": "object"}, "then": keywords{"anyOf": otherForms()}},
	}}
	for _, one := range describedKinds() {
		name := "Document of " + one.kind
		m.defs[name] = m.document(one)
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

// listed is a member of a list, as SERMAS has them, which may lack what is filled in elsewhere.
func (m *schemaMaker) listed(name string, also ...string) keywords {
	made := maps.Clone(m.definition(name))
	made["properties"] = maps.Clone(made["properties"].(keywords))
	for _, left := range also {
		if made["properties"].(keywords)[left] == nil {
			made["properties"].(keywords)[left] = anything
		}
	}
	delete(made, "required")
	return made
}

// otherForms are documents without a kind, each known by one of its fields: sections of Toolbox's
// first form, an app, settings or a test of SERMAS.
func otherForms() (forms []any) {
	fields := slices.Concat(sectionNames, []string{"authSources", "appId", "modules", "chat"}, appFields[1:], settingsFields)
	for _, one := range slices.Compact(slices.Sorted(slices.Values(fields))) {
		forms = append(forms, keywords{"required": []any{one}})
	}
	return forms
}
