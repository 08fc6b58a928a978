package files

import (
	"fmt"
	"slices"
	"strings"

	"earshot/repositories"
	"earshot/repositories/fault"
)

// cloud is a type of source that Toolbox reaches through its vendor's connector, and that
// speaks the protocol of a type which is reached by host and port.
type cloud struct {
	speaks    string
	connector []string // the fields by which the connector finds it
}

var clouds = map[string]cloud{
	"cloud-sql-postgres": {repositories.SourcePostgres, []string{"project", "region", "instance", "ipType"}},
	"alloydb-postgres":   {repositories.SourcePostgres, []string{"project", "region", "cluster", "instance", "ipType"}},
	"cloud-sql-mysql":    {repositories.SourceMySQL, []string{"project", "region", "instance", "ipType"}},
}

// source takes a source of a type that is served. One of a cloud's needs a host: in the file,
// or in the variable of its name.
func (c *collector) source(d *document) {
	d.body = d.body.without("description")
	kind, _ := d.body.get("type").scalarText()
	served, is := clouds[kind]
	switch {
	case c.all || kind == "":
		c.add(d)
	case is:
		c.cloud(d, kind, served)
	case repositories.CheckSourceType(kind) != nil:
		c.unsupported(d, repositories.CheckSourceType(kind))
	default:
		c.add(d)
	}
}

func (c *collector) cloud(d *document, kind string, served cloud) {
	variable := strings.Map(func(r rune) rune {
		if r == '-' {
			return '_'
		}
		return r
	}, strings.ToUpper(d.name))
	at := d.body.field("type").value.at
	body := d.body.without(append(served.connector, "type")...).with("type", newText(served.speaks, at))
	for _, part := range []string{"host", "port"} {
		if body.get(part) != nil || c.lookup == nil {
			continue
		}
		if value, set := c.lookup(variable + "_" + strings.ToUpper(part)); set && value != "" {
			body.add(part, at, newText(value, at))
		}
	}
	if body.get("host") == nil {
		c.unsupported(d, fmt.Errorf("%q is reached by its host here, and not through a connector: add host (the address of the instance, or 127.0.0.1 where its auth proxy runs), or set %s_HOST",
			fault.Clip(kind), variable))
		return
	}
	c.notes.add(at, "%s: %q is read as %s, by host and port: what its connector takes is left out", d.label(), fault.Clip(kind), served.speaks)
	d.body = body
	c.add(d)
}

// openAIFunction is the type of a tool in OpenAI's form, which the decoder knows.
const openAIFunction = "function"

// tool takes a tool of a type that is served.
func (c *collector) tool(d *document) {
	kind, _ := d.body.get("type").scalarText()
	if err := repositories.CheckToolType(kind); kind != "" && kind != openAIFunction && !c.all && err != nil {
		c.unsupported(d, err)
		return
	}
	c.add(d)
}

// unsupported leaves out what is of a type that is not served: a fault, which is the only one
// of it, or a note where the caller has it skipped.
func (c *collector) unsupported(d *document, err error) {
	c.missing[d.kind+" "+d.name] = true
	at := d.body.field("type").value.at
	if c.skip {
		c.notes.add(at, "%s is skipped: its type %s", d.label(), err)
		return
	}
	c.faults.add(at, "%s: type: %s", d.label(), err)
}

// dropNeedy leaves out the tools whose source was skipped.
func (c *collector) dropNeedy() {
	c.documents = slices.DeleteFunc(c.documents, func(d *document) bool {
		name, _ := d.body.get("source").scalarText()
		if d.kind != kindTool || !c.skip || !c.missing[kindSource+" "+name] {
			return false
		}
		c.missing[kindTool+" "+d.name] = true
		c.notes.add(d.at, "%s is skipped: its source %q is", d.label(), fault.Clip(name))
		return true
	})
}
