package files

import (
	"slices"
	"strings"

	"earshot/repositories/fault"
)

// kindWords are the words that a document may begin with, in the singular and in the
// plural that Toolbox had for a while, and what they mean.
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

// ownKinds are the words that a fault suggests.
var ownKinds = []string{"app", "module", "authService", "source", "tool", "repository", "toolset", "group", "test"}

// flat takes a document that says of what kind it is.
func (c *collector) flat(value *node) {
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
	if kind == kindTest && !c.tests && !c.all {
		return // is for earshot eval alone
	}
	as := strings.TrimSuffix(word, "s")
	name := nameOf(kind, value)
	body := value.without("kind", "name")
	if as == kindGroup && name == nil && body.field("tools") == nil {
		return // describes the group of all tools, which has no name
	}
	d := c.named(kind, as, name, body)
	d.legacy = word != kind
	if kind == kindApp {
		d.body = c.appBody(body)
	}
	c.typed(d)
}

// nameOf is the name of a document, which a tool of OpenAI's has in its function.
func nameOf(kind string, value *node) *node {
	name := value.get("name")
	if name == nil && kind == kindTool {
		name = value.get("function").get("name")
	}
	return name
}

// appBody brings the fields of an app to the REST form: in a document, name is the id,
// and displayName is what people read.
func (c *collector) appBody(body *node) *node {
	next := body.without("description", "public")
	for i, f := range next.fields {
		if f.name == "displayName" {
			next.fields[i].name = "name"
		}
	}
	return next
}

// sections are the parts of Toolbox's first format, each a map of names, and the kind
// that their entries have in its newest one.
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

// nestedSection reports whether a map is of Toolbox's first format: it has one of the
// sections. An app of SERMAS has its tools in a list.
func nestedSection(value *node) bool {
	return slices.ContainsFunc(value.fields, func(f field) bool {
		return sections[f.name] != "" && f.value.kind != list
	})
}

// nested takes a document of the first format: every entry of every section becomes a
// document of its own, in the order of the file.
func (c *collector) nested(value *node) {
	for _, section := range value.fields {
		kind, known := sections[section.name]
		switch {
		case !known:
			c.faults.add(section.at, "unknown section %q%s", fault.Clip(section.name), fault.DidYouMean(section.name, sectionNames))
		case section.value.kind != object:
			c.faults.add(section.at, "section %q is %s; it must be a map of names", section.name, section.value.kind)
		default:
			for _, entry := range section.value.fields {
				c.entry(kind, strings.TrimSuffix(section.name, "s"), entry)
			}
		}
	}
}

func (c *collector) entry(kind, as string, entry field) {
	body := entry.value
	if kind == kindGroup && body.kind == list {
		body = newObject(entry.at)
		body.add("tools", entry.at, entry.value)
	}
	if body.kind != object {
		c.faults.add(entry.at, "%s %q is %s; it must be a map", as, fault.Clip(entry.name), body.kind)
		return
	}
	d := c.named(kind, as, newText(entry.name, entry.at), c.renamed(body))
	d.legacy = true
	c.typed(d)
}

// renamed returns a copy in which every key "kind" is "type", at any depth: the first
// format has no other word for it, and Toolbox renames the keys of default values too.
func (c *collector) renamed(value *node) *node {
	next := *value
	next.fields = slices.Clone(value.fields)
	next.items = slices.Clone(value.items)
	for i, f := range next.fields {
		next.fields[i].value = c.renamed(f.value)
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
		next.items[i] = c.renamed(item)
	}
	return &next
}

// typed sorts in a document whose kind is known, and leaves with a note what Earshot
// has no use for.
func (c *collector) typed(d *document) {
	switch d.kind {
	case "prompt", "embeddingModel", "resource", "resourceTemplate":
		if c.all {
			c.add(d)
			return
		}
		c.notes.add(d.at, "%s is left out: Earshot has tools, and no %ss", d.label(), d.kind)
	case kindAuthService:
		d.body = generic(d.body.without("description"))
		c.add(d)
	case kindSource:
		c.source(d)
	case kindTool:
		c.tool(d)
	case kindTest:
		c.test(d)
	default:
		c.add(d)
	}
}

// generic brings Toolbox's generic authentication service to what Earshot calls it:
// any issuer of OpenID Connect.
func generic(body *node) *node {
	if kind := body.get("type"); kind == nil || kind.kind != text || kind.text != "generic" {
		return body
	}
	next := body.without()
	for i, f := range next.fields {
		switch f.name {
		case "type":
			next.fields[i].value = newText("oidc", f.value.at)
		case "authorizationServer":
			next.fields[i].name = "issuer"
		}
	}
	return next
}
