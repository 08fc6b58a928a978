package files

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"

	"earshot/repositories"
	"earshot/repositories/fault"
	"earshot/repositories/locale"
)

// kindWords are the terms that a document may begin with, including the plurals of some Toolbox versions.
var kindWords = map[string]string{
	"app": kindApp, "module": kindModule, "repository": kindRepository,
	"authService": kindAuthService, "authServices": kindAuthService,
	"source": kindSource, "sources": kindSource,
	"tool": kindTool, "tools": kindTool,
	"toolset": kindGroup, "toolsets": kindGroup, "group": kindGroup, "groups": kindGroup,
	"prompt": "prompt", "prompts": "prompt",
	"embeddingModel": "embeddingModel", "embeddingModels": "embeddingModel",
	"resource": "resource", "resources": "resource",
	"resourceTemplate": "resourceTemplate", "resourceTemplates": "resourceTemplate",
	"test": kindTest,
}

var ownKinds = []string{"app", "module", "authService", "source", "tool", "repository", "toolset", "group", "test"}

func (c *collector) readFlat(value *node) {
	given := value.field("kind")
	word, ok := given.value.scalarText()
	kind := kindWords[word]
	switch {
	case !ok:
		c.faults.add(given.value.at, "kind is %s; it must be a word, as in kind: tool", given.value.kind)
		return
	case kind == "":
		c.faults.add(given.value.at, "unknown kind %q: %s%s", fault.Clip(word), strings.Join(ownKinds, ", "), fault.DidYouMean(word, ownKinds))
		return
	}
	if kind == kindTest && !c.readTests && !c.keepUnused {
		return // used by earshot eval only
	}
	as := strings.TrimSuffix(word, "s")
	name := nameOf(kind, value)
	body := value.without("kind", "name")
	if as == kindGroup && name == nil && body.field("tools") == nil {
		return // describes the group of all tools, which has no name
	}
	d := c.newDocument(kind, as, name, body)
	d.legacy = word != kind
	if kind == kindApp { // a document's name is the id, and its displayName the name
		if id := body.field("appId"); id != nil && !sameText(id.value, d.name) {
			c.faults.add(id.value.at, "the id of an app is its name; write name, and leave appId out")
			body = body.without("appId")
		}
		d.body = renamed(body.without("description", "public"), "displayName", "name")
	}
	c.classify(d)
}

func sameText(value *node, text string) bool {
	given, ok := value.scalarText()
	return ok && given == text
}

func renamed(value *node, from, to string) *node {
	next := value.without()
	for i := range next.fields {
		if next.fields[i].name == from {
			next.fields[i].name = to
		}
	}
	return next
}

// sections are the parts of Toolbox's first format, with the kind of their entries.
var sections = map[string]string{
	"sources":           kindSource,
	"authServices":      kindAuthService,
	"authSources":       kindAuthService, // until version 0.30
	"tools":             kindTool,
	"toolsets":          kindGroup,
	"groups":            kindGroup,
	"prompts":           "prompt",
	"embeddingModels":   "embeddingModel",
	"resources":         "resource",
	"resourceTemplates": "resourceTemplate",
}

var sectionNames = []string{
	"sources", "authServices", "tools", "toolsets", "groups", "prompts", "embeddingModels", "resources", "resourceTemplates",
}

// nestedSection reports whether a map has Toolbox's first format. A SERMAS app has its tools in a list.
func nestedSection(value *node) bool {
	return slices.ContainsFunc(value.fields, func(f field) bool {
		return sections[f.name] != "" && f.value.kind != listValue
	})
}

// readSections reads a document of the first format: every entry becomes a document.
func (c *collector) readSections(value *node) {
	for _, section := range value.fields {
		kind, known := sections[section.name]
		switch {
		case !known:
			c.faults.add(section.at, "unknown section %q%s", fault.Clip(section.name), fault.DidYouMean(section.name, sectionNames))
			continue
		case section.value.kind != objectValue:
			c.faults.add(section.at, "section %q is %s; it must be a map of names", section.name, section.value.kind)
			continue
		}
		as := strings.TrimSuffix(section.name, "s")
		for _, entry := range section.value.fields {
			body := entryBody(kind, entry)
			if body.kind != objectValue {
				c.faults.add(entry.at, "%s %q is %s; it must be a map", as, fault.Clip(entry.name), body.kind)
				continue
			}
			d := c.newDocument(kind, as, newText(entry.name, entry.at), c.withTypes(body))
			d.legacy = true
			c.classify(d)
		}
	}
}

// entryBody returns the body of an entry; a group may be only the list of its tools.
func entryBody(kind string, entry field) *node {
	if kind != kindGroup || entry.value.kind != listValue {
		return entry.value
	}
	body := newObject(entry.at)
	body.add("tools", entry.at, entry.value)
	return body
}

// withTypes renames every key "kind" to "type", at any depth: the first format has no other term, and Toolbox also
// renames the keys of default values.
func (c *collector) withTypes(value *node) *node {
	next := *value
	next.fields = slices.Clone(value.fields)
	next.items = slices.Clone(value.items)
	for i, f := range next.fields {
		next.fields[i].value = c.withTypes(f.value)
		switch f.name {
		case "kind":
			if other := value.field("type"); other != nil {
				c.faults.add(f.at, "kind is the older word for type, and type is given as well on line %d", other.at.line)
				return value.without("kind")
			}
			next.fields[i].name = "type"
		case "authSources": // of a parameter, until version 0.30
			next.fields[i].name = "authServices"
		}
	}
	for i, item := range next.items {
		next.items[i] = c.withTypes(item)
	}
	return &next
}

// openAIFunction is the type of a tool in OpenAI's form, which the decoder knows.
const openAIFunction = "function"

// classify classifies a document of a known kind, and leaves out with a note what Earshot does not use.
func (c *collector) classify(d *document) {
	switch d.kind {
	case "prompt", "embeddingModel", "resource", "resourceTemplate":
		if !c.keepUnused {
			c.notes.add(d.at, "%s is left out: Earshot has tools, and no %ss", d.label(), d.kind)
			return
		}
	case kindAuthService:
		d.body = d.body.without("description")
		if kind := d.body.get("type"); kind != nil && kind.kind == textValue && kind.text == "generic" { // Toolbox's term for any OpenID Connect issuer
			d.body = renamed(d.body, "authorizationServer", "issuer")
			d.body.field("type").value = newText("oidc", kind.at)
		}
	case kindSource:
		d.body = d.body.without("description")
		kind := d.body.textOf("type")
		if served, ok := clouds[kind]; ok && !c.keepUnused { // needs a host: in the file, or in the variable of its name
			variable := strings.ReplaceAll(strings.ToUpper(d.name), "-", "_")
			at := d.body.get("type").at
			body := d.body.without(append(served.connector, "type")...).with("type", newText(served.protocol, at))
			for _, part := range []string{"host", "port"} {
				if body.get(part) != nil || c.lookup == nil {
					continue
				}
				if value, set := c.lookup(variable + "_" + strings.ToUpper(part)); set && value != "" {
					body.add(part, at, newText(value, at))
				}
			}
			if body.get("host") == nil {
				c.unsupported(d, fmt.Errorf("%q is reached by its host, not through a connector: add host (the address of the instance, or 127.0.0.1 with its auth proxy on this machine), or set %s_HOST",
					fault.Clip(kind), variable))
				return
			}
			c.notes.add(at, "%s: %q is read as %s, by host and port: what its connector takes is left out", d.label(), fault.Clip(kind), served.protocol)
			d.body = body
			break
		}
		if err := repositories.CheckSourceType(kind); kind != "" && !c.keepUnused && err != nil {
			c.unsupported(d, err)
			return
		}
	case kindTool:
		kind := d.body.textOf("type")
		if err := repositories.CheckToolType(kind); kind != "" && kind != openAIFunction && !c.keepUnused && err != nil {
			c.unsupported(d, err)
			return
		}
	case kindTest:
		c.readTest(d)
		return
	}
	c.add(d)
}

// cloud is a type of source that Toolbox reaches through a connector and that speaks another type's protocol.
type cloud struct {
	protocol  string
	connector []string // fields of the connector's address
}

var clouds = map[string]cloud{
	"cloud-sql-postgres": {repositories.SourcePostgres, []string{"project", "region", "instance", "ipType"}},
	"alloydb-postgres":   {repositories.SourcePostgres, []string{"project", "region", "cluster", "instance", "ipType"}},
	"cloud-sql-mysql":    {repositories.SourceMySQL, []string{"project", "region", "instance", "ipType"}},
}

// unsupported leaves out an unsupported document, with a note if skip is set, else with a fault.
func (c *collector) unsupported(d *document, err error) {
	c.missing[d.kind+" "+d.name] = true
	at := d.body.get("type").at
	if c.skipUnsupported {
		c.notes.add(at, "%s is skipped: its type %s", d.label(), err)
		return
	}
	c.faults.add(at, "%s: type: %s", d.label(), err)
}

// sermasApp reads the app.yaml of a SERMAS folder, or an export of a whole app. Its name is the display name.
func (c *collector) sermasApp(value *node) {
	d := &document{kind: kindApp, term: kindApp, at: value.at, sermas: true}
	if id := value.get("appId"); id != nil {
		given, ok := id.scalarText()
		if !ok {
			c.faults.add(id.at, "appId is %s; it must be a text", id.kind)
		}
		d.name, d.at = given, id.at
	}
	for _, part := range []string{"tools", "modules"} {
		if listed := value.get(part); listed != nil && listed.kind == listValue {
			c.sermasList(part, listed)
		}
	}
	d.body = c.withoutUnknown("the app's", value.without("appId", "description", "public", "tools", "modules"), appFields)
	if settings := d.body.get("settings"); settings != nil && settings.kind == objectValue {
		c.add(&document{kind: kindSettings, term: kindSettings, at: settings.at, body: c.sermasSettings(settings), sermas: true})
		d.body = d.body.without("settings")
	}
	c.add(d)
}

// The fields of an app, its settings and their models that Earshot reads.
var (
	appFields      = []string{"name", "authServices", "sources", "settings", "signingSecret"}
	settingsFields = []string{"chatModeEnabled", "skipToolResponse", "chatEvents", "language", "timeZone", "prompt", "llm", "openai", "offline", "webhooks", "allowedOrigins", "limits"}
	modelFields    = []string{"tools", "when", "mostTools"}
)

// sermasSettings reads the settings of an app, without models of providers that have another name here.
func (c *collector) sermasSettings(value *node) *node {
	if spoken := value.get("language"); spoken != nil && spoken.kind == textValue {
		if err := locale.CheckLanguage(spoken.text); err != nil { // SERMAS takes any text
			c.notes.add(spoken.at, `the setting "language" is left out: %s`, err)
			value = value.without("language")
		}
	}
	next := c.withoutUnknown("the setting", value.without("description", "public"), settingsFields)
	for i, f := range next.fields {
		if f.name != "llm" || f.value.kind != objectValue {
			continue
		}
		models := c.withoutUnknown("the model for", f.value, modelFields)
		model := models.textOf("tools")
		provider, _, _ := strings.Cut(model, "/")
		if hint := otherProviders[provider]; hint != "" {
			c.notes.add(models.get("tools").at, "the model %q is left out: %s is asked through variables of the service; %s", fault.Clip(model), provider, hint)
			models = models.without("tools")
		}
		next.fields[i].value = models
	}
	return next
}

// otherProviders tells how to use the providers of SERMAS that Earshot does not know by name.
var otherProviders = map[string]string{
	"azure_openai": "set OPENAI_BASE_URL to https://RESOURCE.openai.azure.com/openai/v1, with OPENAI_API_KEY and OPENAI_MODEL",
	"mistral":      "set OPENAI_BASE_URL to https://api.mistral.ai/v1, with OPENAI_API_KEY and OPENAI_MODEL",
	"gcp_mistral":  "set OPENAI_BASE_URL to its endpoint, with OPENAI_API_KEY and OPENAI_MODEL",
	"ollama":       "set OPENAI_BASE_URL to http://127.0.0.1:11434/v1, with OPENAI_MODEL",
	"groq":         "set OPENAI_BASE_URL to https://api.groq.com/openai/v1, with OPENAI_API_KEY and OPENAI_MODEL",
	"huggingface":  "set OPENAI_BASE_URL to https://router.huggingface.co/v1, with OPENAI_API_KEY and OPENAI_MODEL",
	"vertexai":     "set GEMINI_BASE_URL to an address that ends in /projects/P/locations/L, with GEMINI_MODEL",
	"antrophic":    "set ANTHROPIC_API_KEY and ANTHROPIC_MODEL, or write anthropic/ for it",
}

// withoutUnknown removes fields that Earshot does not use. A field similar to a known one stays and becomes a fault, as a
// misspelling.
func (c *collector) withoutUnknown(owner string, value *node, allowed []string) *node {
	var unknown []string
	for _, f := range value.fields {
		near := slices.ContainsFunc(allowed, func(name string) bool {
			return levenshtein.Distance(strings.ToLower(fault.Clip(f.name)), strings.ToLower(name), nil) <= 2
		})
		if !near {
			unknown = append(unknown, f.name)
			c.notes.add(f.at, "%s %q is left out: Earshot has no use for it", owner, fault.Clip(f.name))
		}
	}
	return value.without(unknown...)
}

// sermasList reads tools.yaml, modules.yaml, or a list that its fields identify.
func (c *collector) sermasList(base string, value *node) {
	for _, item := range value.items {
		if item.kind != objectValue {
			c.faults.add(item.at, "is %s; a list holds tools or modules, each a map", item.kind)
			continue
		}
		if base == "modules" || base != "tools" && item.field("moduleId") != nil {
			for _, name := range []string{"secret", "tokenUrl"} {
				if given := item.get(name); given != nil && (given.kind == nullValue || given.kind == textValue && given.text == "" && !given.unset) {
					item = item.without(name)
				}
			}
			module := c.newDocument(kindModule, kindModule, item.get("moduleId"), item.without("moduleId", "description", "supports", "config", "public"))
			module.sermas = true
			c.add(module)
			continue
		}
		if kind := item.field("kind"); kind != nil {
			c.faults.add(kind.at, "a document with a kind cannot be in a list; write it by itself, after a line ---")
			continue
		}
		tool := c.newDocument(kindTool, kindTool, nameOf(kindTool, item), item.without("name", "public", "supports"))
		tool.sermas = true
		c.add(tool)
	}
}
