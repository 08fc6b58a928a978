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
	c.dropTwins()
	set := &Set{AppID: options.AppID, App: &Definition{}}
	set.App.tree = c.app(set)
	set.Repositories = c.repositories()
	return set
}

// dropTwins names documents that are there twice. A source may repeat where it says
// the same, as files that are used one by one repeat it; a group wins over a toolset of
// its name, as in Toolbox.
func (c *collector) dropTwins() {
	seen := map[[2]string]*document{}
	c.documents = slices.DeleteFunc(c.documents, func(d *document) bool {
		key := [2]string{kindOf(d), d.name}
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
		case d.as == "toolset" && first.as == "group":
		case d.as == "group" && first.as == "toolset":
			first.body, first.at, first.as = d.body, d.at, d.as
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
func (c *collector) start() place {
	if len(c.documents) == 0 {
		return place{}
	}
	return place{c.documents[0].at.file, 1, 1}
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
	next := d.body.with(idFields[d.kind], newText(d.name, d.at))
	next.at = d.at
	return next
}

// usable leaves out the modules of a SERMAS app that no tool calls with and that lack
// what it takes to call: SERMAS keeps that in its own Keycloak.
func (c *collector) usable(modules []*document) []*document {
	used := map[string]bool{}
	for _, tool := range c.of(kindTool) {
		if id, ok := tool.body.get("request").get("moduleId").word(); ok {
			used[id] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(modules), func(d *document) bool {
		complete := d.body.get("tokenUrl") != nil && d.body.get("secret") != nil
		if !d.sermas || complete || used[d.name] {
			return false
		}
		c.notes.add(d.at, "%s is left out: no tool calls with it, and it has no tokenUrl or no secret", d.label())
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
