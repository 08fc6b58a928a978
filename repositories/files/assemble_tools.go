package files

import (
	"slices"

	"earshot/repositories"
	"earshot/repositories/fault"
)

// repositories groups the tools: those that a repository names are in it, in its
// order, and in every other that names them; the rest is in the default one.
func (c *collector) repositories() []*Definition {
	tools := map[string]*document{}
	var names []string
	for _, d := range c.of(kindTool) {
		if d.name != "" {
			tools[d.name] = d
			names = append(names, d.name)
		}
	}
	var found []*Definition
	var rest *Definition
	taken := map[string]bool{}
	for _, d := range c.documents {
		if kindOf(d) != kindRepository || d.name == "" {
			continue
		}
		made := c.repository(d, tools, names, taken)
		if d.name == defaultRepository {
			rest = made
			continue
		}
		found = append(found, made)
	}
	if rest = c.rest(rest, taken); rest != nil {
		found = append(found, rest)
	}
	return found
}

// rest completes the default repository, or makes it where it is needed. Tools without
// a name are in it as well, so that their other faults are found.
func (c *collector) rest(rest *Definition, taken map[string]bool) *Definition {
	for _, d := range c.of(kindTool) {
		if taken[d.name] {
			continue
		}
		if rest == nil {
			rest = newRepository(defaultRepository, d.at)
		}
		members := rest.tree.get("tools")
		members.items = append(members.items, d.named())
	}
	return rest
}

func newRepository(id string, at place) *Definition {
	tree := newObject(at)
	tree.add("tools", at, &node{kind: list, at: at})
	return &Definition{ID: id, tree: tree}
}

// The fields of the documents that name tools.
var (
	repositoryFields = []string{"tools", "options", "description"}
	groupFields      = []string{"tools", "description"}
)

// repository makes the body of one that a document defines.
func (c *collector) repository(d *document, tools map[string]*document, names []string, taken map[string]bool) *Definition {
	made := newRepository(d.name, d.at)
	if err := repositories.CheckID("the name", d.name); err != nil {
		c.faults.add(d.at, "%s", err)
		made.ID = defaultRepository // so that its tools are checked
	}
	known := repositoryFields
	if d.kind == kindGroup {
		known = groupFields
	}
	for _, f := range d.body.fields {
		switch {
		case !slices.Contains(known, f.name):
			c.faults.add(f.at, "%s: unknown field %q%s", d.label(), fault.Clip(f.name), fault.DidYouMean(f.name, known))
		case f.name == "options":
			made.tree.fields = append(made.tree.fields, f)
		case f.name == "tools":
			c.members(d, f.value, made.tree.get("tools"), tools, names, taken)
		}
	}
	if d.body.field("tools") == nil {
		c.faults.add(d.at, "%s: tools is missing: a list of the names of its tools", d.label())
	}
	return made
}

// members adds the tools that a list names.
func (c *collector) members(d *document, from, to *node, tools map[string]*document, names []string, taken map[string]bool) {
	if from.kind != list {
		c.faults.add(from.at, "%s: tools is %s; it must be a list of names", d.label(), from.kind)
		return
	}
	here := map[string]bool{}
	for _, item := range from.items {
		name, ok := item.word()
		tool := tools[name]
		switch {
		case !ok:
			c.faults.add(item.at, "%s: a tool is %s; write its name, and the tool as a document of kind: tool", d.label(), item.kind)
		case tool == nil:
			c.faults.add(item.at, "%s: there is no tool %q%s", d.label(), fault.Clip(name), fault.DidYouMean(name, names))
		case here[name]:
			c.faults.add(item.at, "%s: the tool %q is named twice", d.label(), name)
		default:
			here[name], taken[name] = true, true
			to.items = append(to.items, tool.named())
		}
	}
}
