package files

import (
	"slices"

	"earshot/repositories"
	"earshot/repositories/fault"
)

// defaultRepository holds the tools that no repository names.
const defaultRepository = "default"

// assemble merges the documents of all files into one app and its repositories.
func (c *collector) assemble(options Options) *Set {
	c.dropDuplicates()
	c.dropNeedy()
	set := &Set{AppID: options.AppID, App: &Definition{}, missing: c.missing}
	set.App.tree = c.app(set)
	set.Repositories = c.repositories()
	return set
}

// dropDuplicates names documents that are there twice. A source may repeat where it says
// the same, as files that are used one by one repeat it; a group wins over a toolset of
// its name, as in Toolbox.
func (c *collector) dropDuplicates() {
	seen := map[[2]string]*document{}
	c.documents = slices.DeleteFunc(c.documents, func(d *document) bool {
		key := [2]string{kindOf(d), d.name}
		if d.kind == kindTest {
			key[0] += " " + d.at.file // each file names its own
		}
		first, twice := seen[key]
		if d.kind == kindSettings || d.name == "" {
			return false
		}
		if !twice {
			seen[key] = d
			return false
		}
		switch {
		case d.kind == kindSource && d.at.file != first.at.file && d.body.equal(first.body):
		case d.word == "toolset" && first.word == "group":
		case d.word == "group" && first.word == "toolset":
			first.body, first.at, first.word = d.body, d.at, d.word
		default:
			c.faults.add(d.at, "%s is defined twice, first in %s on line %d", d.label(), first.at.file, first.at.line)
		}
		return true
	})
}

func kindOf(d *document) string {
	if d.kind == kindGroup {
		return kindRepository
	}
	return d.kind
}

func (c *collector) of(kind string) []*document {
	var found []*document
	for _, d := range c.documents {
		if d.kind == kind {
			found = append(found, d)
		}
	}
	return found
}

// app makes the body of the app: its own fields, and the lists of what has a document
// of its own.
func (c *collector) app(set *Set) *node {
	body := newObject(c.start())
	if apps := c.of(kindApp); len(apps) > 0 {
		for _, other := range apps[1:] {
			c.faults.add(other.at, "%s is a second app, after the one in %s on line %d; files are for one app",
				other.label(), apps[0].at.file, apps[0].at.line)
		}
		body = apps[0].body.without()
		body.at = apps[0].at
		c.takeID(apps[0], set)
	}
	c.lists(body)
	c.settings(body)
	return body
}

// start is where a fault stands that belongs to nothing in particular.
func (c *collector) start() position {
	if len(c.documents) == 0 {
		return position{}
	}
	return position{c.documents[0].at.file, 1, 1}
}

func (c *collector) takeID(app *document, set *Set) {
	switch {
	case app.name == "":
	case repositories.CheckID("the name of the app", app.name) != nil:
		c.faults.add(app.at, "%s", repositories.CheckID("the name of the app", app.name))
	case set.AppID != "" && set.AppID != app.name:
		c.faults.add(app.at, "the file is for the app %q, and --app says %q", app.name, fault.Clip(set.AppID))
	default:
		set.AppID = app.name
	}
}

// lists adds modules, sources and services to those that the app itself lists.
func (c *collector) lists(body *node) {
	for _, part := range []struct{ kind, field string }{
		{kindModule, "modules"}, {kindAuthService, "authServices"}, {kindSource, "sources"},
	} {
		documents := c.of(part.kind)
		if part.kind == kindModule {
			documents = c.usable(documents)
		}
		if len(documents) == 0 {
			continue
		}
		members := body.get(part.field)
		if members == nil {
			members = &node{kind: list, at: documents[0].at}
			body.add(part.field, members.at, members)
		}
		if members.kind != list {
			continue // is named as a fault
		}
		for _, d := range documents {
			members.items = append(members.items, d.named())
		}
	}
}

// named is the body with its name as the first field.
func (d *document) named() *node {
	if d.name == "" {
		return d.body
	}
	next := d.body.with(nameFields[d.kind], newText(d.name, d.at))
	next.at = d.at
	return next
}

// usable leaves out the modules of a SERMAS app that no tool calls with and that lack
// a secret, by which clients sign in: SERMAS keeps that in its own Keycloak.
func (c *collector) usable(modules []*document) []*document {
	used := map[string]bool{}
	for _, tool := range c.of(kindTool) {
		if id, ok := tool.body.get("request").get("moduleId").scalarText(); ok {
			used[id] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(modules), func(d *document) bool {
		complete := d.body.get("secret") != nil
		if !d.sermas || complete || used[d.name] {
			return false
		}
		c.notes.add(d.at, "%s is left out: no tool calls with it, and it has no secret", d.label())
		return true
	})
}

// settings takes the file of settings, unless the app has some itself.
func (c *collector) settings(body *node) {
	for _, d := range c.of(kindSettings) {
		if first := body.field("settings"); first != nil {
			c.faults.add(d.at, "settings are given twice, first in %s on line %d", first.at.file, first.at.line)
			continue
		}
		body.add("settings", d.at, d.body)
	}
}

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
	if rest = c.defaultRepository(rest, taken); rest != nil {
		found = append(found, rest)
	}
	return found
}

// defaultRepository completes the default repository, or makes it where it is needed. Tools without
// a name are in it as well, so that their other faults are found.
func (c *collector) defaultRepository(rest *Definition, taken map[string]bool) *Definition {
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

func newRepository(id string, at position) *Definition {
	tree := newObject(at)
	tree.add("tools", at, &node{kind: list, at: at})
	return &Definition{ID: id, tree: tree}
}

// The fields of the documents that name tools.
var (
	repositoryFields = []string{"tools", "from", "options", "description"}
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
		case d.kind == kindGroup && slices.Contains(repositoryFields, f.name) && !slices.Contains(groupFields, f.name):
			c.faults.add(f.at, "%s: %s is for a repository: write kind: repository in place of kind: %s", d.label(), f.name, d.word)
		case !slices.Contains(known, f.name):
			c.faults.add(f.at, "%s: unknown field %q%s", d.label(), fault.Clip(f.name), fault.DidYouMean(f.name, known))
		case f.name == "options" || f.name == "from":
			made.tree.fields = append(made.tree.fields, f)
		case f.name == "tools":
			c.members(d, f.value, made.tree.get("tools"), tools, names, taken)
		}
	}
	if d.body.field("tools") == nil && made.tree.field("from") == nil {
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
		name, ok := item.scalarText()
		tool := tools[name]
		switch {
		case !ok:
			c.faults.add(item.at, "%s: a tool is %s; write its name, and the tool as a document of kind: tool", d.label(), item.kind)
		case tool == nil && c.missing[kindTool+" "+name]:
			taken[name] = true
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
