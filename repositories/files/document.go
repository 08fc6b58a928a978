package files

import (
	"maps"
	"slices"
	"strings"

	"earshot/repositories/fault"
)

// The kinds of document, in Earshot's own words.
const (
	kindApp         = "app"
	kindModule      = "module"
	kindAuthService = "authService"
	kindSource      = "source"
	kindTool        = "tool"
	kindRepository  = "repository"
	kindGroup       = "group"    // a repository in Toolbox's words
	kindSettings    = "settings" // an app's, in a file of their own
	kindTest        = "test"     // a conversation with what it should set off
)

type document struct {
	kind string
	word string   // the file's own word for it, as toolset
	name string   // empty where it has none, or where that is a fault
	at   position // of the name, or of the whole
	// body has the fields as the REST form has them, without kind and name.
	body *node
	// sermas is of SERMAS's own tools, legacy of an older form of Toolbox.
	sermas, legacy bool
}

func (d *document) label() string {
	if d.name == "" {
		return d.word
	}
	return d.word + " " + string(quote(fault.Clip(d.name)))
}

// nameFields are the fields that name what has a body of its own in the REST form.
var nameFields = map[string]string{kindTool: "name", kindModule: "moduleId", kindAuthService: "name", kindSource: "name"}

func (d *document) named() *node {
	if d.name == "" {
		return d.body
	}
	next := d.body.with(nameFields[d.kind], newText(d.name, d.at))
	next.at = d.at
	return next
}

type collector struct {
	documents []*document
	faults    Faults
	notes     Faults
	// missing are left out for their type, as kind and name: naming them is no second fault.
	missing map[string]bool
	skip    bool
	lookup  func(variable string) (value string, set bool)
	tests   bool
	tested  []testReader
	// all keeps documents that Earshot has no use for, where a file is rewritten.
	all bool
}

func (c *collector) add(d *document) { c.documents = append(c.documents, d) }

func (c *collector) of(kind string) []*document {
	return slices.DeleteFunc(slices.Clone(c.documents), func(d *document) bool { return d.kind != kind })
}

func (c *collector) named(kind, as string, name, body *node) *document {
	d := &document{kind: kind, word: as, at: body.at, body: body}
	given, ok := name.scalarText()
	if ok && given != "" {
		d.name, d.at = given, name.at
		return d
	}
	article := "a "
	if strings.ContainsRune("aeiou", rune(as[0])) {
		article = "an "
	}
	switch id := nameFields[kind]; {
	case id != "" && name != nil:
		d.body = body.with(id, name) // the decoder says what is wrong with it
	case id != "":
	case name == nil:
		c.faults.add(body.at, "%s has no name", article+as)
	case !ok:
		c.faults.add(name.at, "the name of %s is %s; it must be a text", article+as, name.kind)
	default:
		c.faults.add(name.at, "the name of %s is empty", article+as)
	}
	return d
}

// nameOf is the name of a document, which a tool of OpenAI's has in its function.
func nameOf(kind string, value *node) *node {
	name := value.get("name")
	if name == nil && kind == kindTool {
		name = value.get("function").get("name")
	}
	return name
}

func sortedKeys[V any](of map[string]V) []string { return slices.Sorted(maps.Keys(of)) }
