package files

import (
	"strings"

	"earshot/repositories/fault"
)

// flatKinds are the words that a document may begin with, in the singular and in the
// plural that Toolbox had for a while, and what they mean.
var flatKinds = map[string]string{
	"app": kindApp, "module": kindModule, "repository": kindRepository,
	"authService": kindAuthService, "authServices": kindAuthService,
	"source": kindSource, "sources": kindSource,
	"tool": kindTool, "tools": kindTool,
	"toolset": kindGroup, "toolsets": kindGroup, "group": kindGroup, "groups": kindGroup,
	"prompt": "prompt", "prompts": "prompt",
	"embeddingModel": "embeddingModel", "embeddingModels": "embeddingModel",
	"resource": "resource", "resources": "resource",
	"resourceTemplate": "resourceTemplate", "resourceTemplates": "resourceTemplate",
}

// ownKinds are the words that a fault suggests.
var ownKinds = []string{"app", "module", "authService", "source", "tool", "repository", "toolset", "group"}

// flat takes a document that says of what kind it is.
func (c *collector) flat(value *node) {
	given := value.field("kind")
	word, ok := given.value.word()
	kind := flatKinds[word]
	switch {
	case !ok:
		c.faults.add(given.value.at, "kind is %s; it must be a word, as in kind: tool", given.value.kind)
		return
	case kind == "":
		c.faults.add(given.value.at, "unknown kind %q: %s%s", fault.Clip(word), strings.Join(ownKinds, ", "), fault.DidYouMean(word, ownKinds))
		return
	}
	as := strings.TrimSuffix(word, "s")
	name := value.get("name")
	body := value.without("kind", "name")
	if as == kindGroup && name == nil && body.field("tools") == nil {
		return // describes the group of all tools, which has no name
	}
	d := c.named(kind, as, name, body)
	d.older = word != kind
	if kind == kindApp {
		d.body = c.appBody(body)
	}
	c.typed(d)
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
