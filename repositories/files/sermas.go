package files

import (
	"slices"
	"strings"

	"github.com/agext/levenshtein"

	"earshot/repositories/fault"
)

// sermasApp takes the app.yaml of a SERMAS folder: its name is for people, and its
// appId, where it has one, is the app's. An export of a whole app has its parts here.
func (c *collector) sermasApp(value *node) {
	d := &document{kind: kindApp, word: kindApp, at: value.at, sermas: true}
	if id := value.field("appId"); id != nil {
		given, ok := id.value.scalarText()
		if !ok {
			c.faults.add(id.value.at, "appId is %s; it must be a text", id.value.kind)
		}
		d.name, d.at = given, id.value.at
	}
	for _, part := range []string{"tools", "modules"} {
		if f := value.field(part); f != nil && f.value.kind == list {
			c.sermasList(part, f.value)
		}
	}
	d.body = c.left("the app's", value.without("appId", "description", "public", "tools", "modules"), appFields)
	if settings := d.body.get("settings"); settings != nil && settings.kind == object {
		c.add(&document{kind: kindSettings, word: kindSettings, at: settings.at, body: c.sermasSettings(settings), sermas: true})
		d.body = d.body.without("settings")
	}
	c.add(d)
}

// What Earshot reads of an app, its settings and their models.
var (
	appFields      = []string{"name", "authServices", "sources", "settings", "signingSecret"}
	settingsFields = []string{"chatModeEnabled", "skipToolResponse", "prompt", "llm", "openai", "allowedOrigins", "limits"}
	modelFields    = []string{"tools", "when", "mostTools"}
)

func (c *collector) sermasSettings(value *node) *node {
	next := c.left("the setting", value.without("description", "public"), settingsFields)
	for i, f := range next.fields {
		if f.name == "llm" && f.value.kind == object {
			next.fields[i].value = c.left("the model for", f.value, modelFields)
		}
	}
	return next
}

// left takes out what SERMAS has beside what Earshot knows, as avatars and voices, with
// a note. A field that is nearly a known one stays: it is misspelt, and a fault.
func (c *collector) left(what string, value *node, known []string) *node {
	var out []string
	for _, f := range value.fields {
		near := slices.ContainsFunc(known, func(name string) bool {
			return levenshtein.Distance(strings.ToLower(fault.Clip(f.name)), strings.ToLower(name), nil) <= 2
		})
		if !near {
			out = append(out, f.name)
			c.notes.add(f.at, "%s %q is left out: Earshot has no use for it", what, fault.Clip(f.name))
		}
	}
	return value.without(out...)
}

// sermasList takes a list: tools.yaml or modules.yaml, or one of another name that
// shows by its fields what it is.
func (c *collector) sermasList(base string, value *node) {
	for _, item := range value.items {
		if item.kind != object {
			c.faults.add(item.at, "is %s; a list holds tools or modules, each a map", item.kind)
			continue
		}
		if base == "modules" || base != "tools" && item.field("moduleId") != nil {
			c.sermasModule(item)
			continue
		}
		if item.field("kind") != nil {
			c.faults.add(item.field("kind").at, "a document with a kind stands by itself, with --- before it, and in no list")
			continue
		}
		tool := c.named(kindTool, kindTool, nameOf(kindTool, item), item.without("name", "public", "supports"))
		tool.sermas = true
		c.add(tool)
	}
}

func (c *collector) sermasModule(item *node) {
	module := c.named(kindModule, kindModule, item.get("moduleId"), item.without("moduleId", "description", "supports", "config", "public"))
	module.sermas = true
	c.add(module)
}

// sermasFolder reports whether the files of a folder are those of a SERMAS app.
func sermasFolder(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		base := baseName(name)
		return base == kindApp || base == "modules" || base == kindSettings
	})
}
