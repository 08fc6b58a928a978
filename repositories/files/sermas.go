package files

import (
	"slices"
	"strings"

	"github.com/agext/levenshtein"

	"earshot/repositories/fault"
)

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
	settingsFields = []string{"chatModeEnabled", "skipToolResponse", "prompt", "llm", "openai", "offline", "allowedOrigins", "limits"}
	modelFields    = []string{"tools", "when", "mostTools"}
)

// sermasSettings reads the settings of an app, without models of providers that have another name here.
func (c *collector) sermasSettings(value *node) *node {
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
			c.faults.add(kind.at, "a document with a kind stands by itself, with --- before it, and in no list")
			continue
		}
		tool := c.newDocument(kindTool, kindTool, nameOf(kindTool, item), item.without("name", "public", "supports"))
		tool.sermas = true
		c.add(tool)
	}
}
