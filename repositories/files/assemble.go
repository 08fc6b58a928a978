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
		if d.kind != kindTool || !c.skipUnsupported || !c.missing[kindSource+" "+source] {
			return false
		}
		c.missing[kindTool+" "+d.name] = true
		c.notes.add(d.at, "%s is skipped: its source %q is", d.label(), fault.Clip(source))
		return true
	})

	set := &Set{AppID: options.AppID, App: &Definition{}, missing: c.missing}
	set.App.tree = c.app(set)
	for _, d := range c.ofKind(kindSettings) {
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
		first, isRepeated := seen[key]
		if d.kind == kindSettings || d.name == "" {
			return false
		}
		if !isRepeated {
			seen[key] = d
			return false
		}
		switch {
		case d.kind == kindSource && d.at.file != first.at.file && d.body.equal(first.body):
		case d.term == "toolset" && first.term == "group":
		case d.term == "group" && first.term == "toolset":
			first.body, first.at, first.term = d.body, d.at, d.term
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
	apps := c.ofKind(kindApp)
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
	for _, tool := range c.ofKind(kindTool) {
		if id, ok := tool.body.get("request").get("moduleId").scalarText(); ok {
			used[id] = true
		}
	}
	for _, list := range []string{"modules", "authServices", "sources"} {
		for _, d := range c.ofKind(namedLists[list]) {
			if d.kind == kindModule && d.sermas && d.body.get("secret") == nil && !used[d.name] {
				c.notes.add(d.at, "%s is left out: no tool calls with it, and it has no secret", d.label())
				continue
			}
			members := body.get(list)
			if members == nil {
				members = &node{kind: listValue, at: d.at}
				body.add(list, d.at, members)
			}
			if members.kind == listValue { // else it is reported as a fault
				members.items = append(members.items, d.namedBody())
			}
		}
	}
	return body
}

type grouper struct {
	*collector
	tools     map[string]*document
	toolNames []string        // of tools
	grouped   map[string]bool // tools named by a repository
}

// repositories groups the tools. It includes unnamed ones, so that their other faults are found.
func (c *collector) repositories() []*Definition {
	g := &grouper{collector: c, tools: map[string]*document{}, grouped: map[string]bool{}}
	for _, d := range c.ofKind(kindTool) {
		if d.name != "" {
			g.tools[d.name] = d
			g.toolNames = append(g.toolNames, d.name)
		}
	}
	var found []*Definition
	var ungrouped *Definition
	for _, d := range c.documents {
		if kindOf(d) != kindRepository || d.name == "" {
			continue
		}
		repository := g.repository(d)
		if d.name == defaultRepository {
			ungrouped = repository
			continue
		}
		found = append(found, repository)
	}
	for _, d := range c.ofKind(kindTool) {
		if g.grouped[d.name] {
			continue
		}
		if ungrouped == nil {
			ungrouped = newRepository(defaultRepository, d.at)
		}
		members := ungrouped.tree.get("tools")
		members.items = append(members.items, d.namedBody())
	}
	if ungrouped != nil {
		found = append(found, ungrouped)
	}
	return found
}

func newRepository(id string, at position) *Definition {
	tree := newObject(at)
	tree.add("tools", at, &node{kind: listValue, at: at})
	return &Definition{ID: id, tree: tree}
}

var (
	repositoryFields = []string{"tools", "from", "options", "description"}
	groupFields      = []string{"tools", "description"}
)

func (g *grouper) repository(d *document) *Definition {
	definition := newRepository(d.name, d.at)
	if err := repositories.CheckID("the name", d.name); err != nil {
		g.faults.add(d.at, "%s", err)
		definition.ID = defaultRepository // so that its tools are checked
	}
	known := repositoryFields
	if d.kind == kindGroup {
		known = groupFields
	}
	for _, f := range d.body.fields {
		isKnown := slices.Contains(known, f.name)
		switch {
		case !isKnown && slices.Contains(repositoryFields, f.name):
			g.faults.add(f.at, "%s: %s is for a repository: write kind: repository in place of kind: %s", d.label(), f.name, d.term)
		case !isKnown:
			g.faults.add(f.at, "%s: unknown field %q%s", d.label(), fault.Clip(f.name), fault.DidYouMean(f.name, known))
		case f.name == "options" || f.name == "from":
			definition.tree.fields = append(definition.tree.fields, f)
		}
	}

	toolNames, tools, seen := d.body.get("tools"), definition.tree.get("tools"), map[string]bool{}
	switch {
	case toolNames == nil && definition.tree.field("from") == nil:
		g.faults.add(d.at, "%s: tools is missing: a list of the names of its tools", d.label())
	case toolNames != nil && toolNames.kind != listValue:
		g.faults.add(toolNames.at, "%s: tools is %s; it must be a list of names", d.label(), toolNames.kind)
	}
	for _, item := range d.body.itemsOf("tools") {
		name, ok := item.scalarText()
		tool := g.tools[name]
		switch {
		case !ok:
			g.faults.add(item.at, "%s: a tool is %s; write its name, and the tool as a document of kind: tool", d.label(), item.kind)
		case tool == nil && g.missing[kindTool+" "+name]:
			g.grouped[name] = true
		case tool == nil:
			g.faults.add(item.at, "%s: there is no tool %q%s", d.label(), fault.Clip(name), fault.DidYouMean(name, g.toolNames))
		case seen[name]:
			g.faults.add(item.at, "%s: the tool %q is named twice", d.label(), name)
		default:
			seen[name], g.grouped[name] = true, true
			tools.items = append(tools.items, tool.namedBody())
		}
	}
	return definition
}
