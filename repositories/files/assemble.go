package files

import (
	"slices"

	"earshot/repositories"
	"earshot/repositories/fault"
)

// defaultRepository holds the tools that no repository names.
const defaultRepository = "default"

func (c *collector) assemble(options Options) *Set {
	c.dropDuplicates()
	c.documents = slices.DeleteFunc(c.documents, func(d *document) bool {
		source := d.body.textOf("source")
		if d.kind != kindTool || !c.skip || !c.missing[kindSource+" "+source] {
			return false
		}
		c.missing[kindTool+" "+d.name] = true
		c.notes.add(d.at, "%s is skipped: its source %q is", d.label(), fault.Clip(source))
		return true
	})

	set := &Set{AppID: options.AppID, App: &Definition{}, missing: c.missing}
	set.App.tree = c.app(set)
	for _, d := range c.of(kindSettings) {
		if first := set.App.tree.field("settings"); first != nil {
			c.faults.add(d.at, "settings are given twice, first in %s on line %d", first.at.file, first.at.line)
			continue
		}
		set.App.tree.add("settings", d.at, d.body)
	}
	set.Repositories = c.repositories()
	return set
}

// dropDuplicates drops repetitions: a source may be repeated, and a group takes precedence over a toolset of its
// name.
func (c *collector) dropDuplicates() {
	seen := map[[2]string]*document{}
	c.documents = slices.DeleteFunc(c.documents, func(d *document) bool {
		key := [2]string{kindOf(d), d.name}
		if d.kind == kindTest {
			key[0] += " " + d.at.file // tests need unique names only within a file
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

// app makes the body of the app from the files' modules, sources and services, and finds its id.
func (c *collector) app(set *Set) *node {
	apps := c.of(kindApp)
	if len(apps) == 0 {
		app := &document{body: newObject(position{})}
		if len(c.documents) > 0 {
			app.at = position{c.documents[0].at.file, 1, 1}
		}
		apps = append(apps, app)
	}
	app := apps[0]
	for _, other := range apps[1:] {
		c.faults.add(other.at, "%s is a second app, after the one in %s on line %d; files are for one app", other.label(), app.at.file, app.at.line)
	}
	err := repositories.CheckID("the name of the app", app.name)
	switch {
	case app.name == "":
	case err != nil:
		c.faults.add(app.at, "%s", err)
	case set.AppID != "" && set.AppID != app.name:
		c.faults.add(app.at, "the file is for the app %q, and --app says %q", app.name, fault.Clip(set.AppID))
	default:
		set.AppID = app.name
	}
	body := app.body.without()
	body.at = app.at

	// A module of a SERMAS app without a secret for sign-in is left out unless tools use it: SERMAS keeps the
	// secret in its own Keycloak.
	used := map[string]bool{}
	for _, tool := range c.of(kindTool) {
		if id, ok := tool.body.get("request").get("moduleId").scalarText(); ok {
			used[id] = true
		}
	}
	for _, part := range []struct{ kind, field string }{
		{kindModule, "modules"}, {kindAuthService, "authServices"}, {kindSource, "sources"},
	} {
		for _, d := range c.of(part.kind) {
			if d.kind == kindModule && d.sermas && d.body.get("secret") == nil && !used[d.name] {
				c.notes.add(d.at, "%s is left out: no tool calls with it, and it has no secret", d.label())
				continue
			}
			members := body.get(part.field)
			if members == nil {
				members = &node{kind: list, at: d.at}
				body.add(part.field, members.at, members)
			}
			if members.kind == list { // else it is reported as a fault
				members.items = append(members.items, d.named())
			}
		}
	}
	return body
}

type grouping struct {
	*collector
	tools map[string]*document
	names []string        // of tools
	taken map[string]bool // tools named by a repository
}

// repositories groups the tools. It includes unnamed ones, so that their other faults are found.
func (c *collector) repositories() []*Definition {
	g := &grouping{collector: c, tools: map[string]*document{}, taken: map[string]bool{}}
	for _, d := range c.of(kindTool) {
		if d.name != "" {
			g.tools[d.name] = d
			g.names = append(g.names, d.name)
		}
	}
	var found []*Definition
	var rest *Definition
	for _, d := range c.documents {
		if kindOf(d) != kindRepository || d.name == "" {
			continue
		}
		made := g.repository(d)
		if d.name == defaultRepository {
			rest = made
			continue
		}
		found = append(found, made)
	}
	for _, d := range c.of(kindTool) {
		if g.taken[d.name] {
			continue
		}
		if rest == nil {
			rest = newRepository(defaultRepository, d.at)
		}
		members := rest.tree.get("tools")
		members.items = append(members.items, d.named())
	}
	if rest != nil {
		found = append(found, rest)
	}
	return found
}

func newRepository(id string, at position) *Definition {
	tree := newObject(at)
	tree.add("tools", at, &node{kind: list, at: at})
	return &Definition{ID: id, tree: tree}
}

var (
	repositoryFields = []string{"tools", "from", "options", "description"}
	groupFields      = []string{"tools", "description"}
)

func (g *grouping) repository(d *document) *Definition {
	made := newRepository(d.name, d.at)
	if err := repositories.CheckID("the name", d.name); err != nil {
		g.faults.add(d.at, "%s", err)
		made.ID = defaultRepository // so that its tools are checked
	}
	known := repositoryFields
	if d.kind == kindGroup {
		known = groupFields
	}
	for _, f := range d.body.fields {
		isKnown := slices.Contains(known, f.name)
		switch {
		case !isKnown && slices.Contains(repositoryFields, f.name):
			g.faults.add(f.at, "%s: %s is for a repository: write kind: repository in place of kind: %s", d.label(), f.name, d.word)
		case !isKnown:
			g.faults.add(f.at, "%s: unknown field %q%s", d.label(), fault.Clip(f.name), fault.DidYouMean(f.name, known))
		case f.name == "options" || f.name == "from":
			made.tree.fields = append(made.tree.fields, f)
		}
	}

	named, to, here := d.body.get("tools"), made.tree.get("tools"), map[string]bool{}
	switch {
	case named == nil && made.tree.field("from") == nil:
		g.faults.add(d.at, "%s: tools is missing: a list of the names of its tools", d.label())
	case named != nil && named.kind != list:
		g.faults.add(named.at, "%s: tools is %s; it must be a list of names", d.label(), named.kind)
	}
	for _, item := range d.body.itemsOf("tools") {
		name, ok := item.scalarText()
		tool := g.tools[name]
		switch {
		case !ok:
			g.faults.add(item.at, "%s: a tool is %s; write its name, and the tool as a document of kind: tool", d.label(), item.kind)
		case tool == nil && g.missing[kindTool+" "+name]:
			g.taken[name] = true
		case tool == nil:
			g.faults.add(item.at, "%s: there is no tool %q%s", d.label(), fault.Clip(name), fault.DidYouMean(name, g.names))
		case here[name]:
			g.faults.add(item.at, "%s: the tool %q is named twice", d.label(), name)
		default:
			here[name], g.taken[name] = true, true
			to.items = append(to.items, tool.named())
		}
	}
	return made
}
