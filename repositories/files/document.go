package files

import (
	"maps"
	"slices"
	"strings"

	"earshot/repositories/fault"
)

// The kinds of document, in Earshot's terms.
const (
	kindApp         = "app"
	kindModule      = "module"
	kindAuthService = "authService"
	kindSource      = "source"
	kindTool        = "tool"
	kindRepository  = "repository"
	kindGroup       = "group"    // Toolbox's term for a repository
	kindSettings    = "settings" // an app's, in their own file
	kindTest        = "test"     // a conversation with its expected matches
)

type document struct {
	kind string
	term string   // the file's own term, such as toolset
	name string   // empty if missing or faulty
	at   position // of the name, or of the document
	body *node    // has the fields in REST form, without kind and name
	// sermas marks SERMAS's own tools, legacy an older form of Toolbox.
	sermas, legacy bool
}

func (d *document) label() string {
	if d.name == "" {
		return d.term
	}
	return d.term + " " + quote(fault.Clip(d.name))
}

func (d *document) namedBody() *node {
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
	// missing are parts left out because of their type, as kind and name; references to them are no further faults.
	missing         map[string]bool
	skipUnsupported bool
	lookup          func(variable string) (value string, set bool)
	readTests       bool
	testParsers     []testParser
	// keepUnused also keeps documents that Earshot does not use, when a file is rewritten.
	keepUnused bool
}

func (c *collector) add(d *document) { c.documents = append(c.documents, d) }

func (c *collector) ofKind(kind string) []*document {
	return slices.DeleteFunc(slices.Clone(c.documents), func(d *document) bool { return d.kind != kind })
}

func (c *collector) newDocument(kind, term string, name, body *node) *document {
	d := &document{kind: kind, term: term, at: body.at, body: body}
	label, ok := name.scalarText()
	if ok && label != "" {
		d.name, d.at = label, name.at
		return d
	}
	article := "a "
	if strings.ContainsRune("aeiou", rune(term[0])) {
		article = "an "
	}
	switch id := nameFields[kind]; {
	case id != "" && name != nil:
		d.body = body.with(id, name) // the decoder reports its faults
	case id != "":
	case name == nil:
		c.faults.add(body.at, "%s needs a name", article+term)
	case !ok:
		c.faults.add(name.at, "the name of %s is %s; it must be a text", article+term, name.kind)
	default:
		c.faults.add(name.at, "the name of %s is empty", article+term)
	}
	return d
}

// nameOf returns the name of a document. An OpenAI tool has it in its function.
func nameOf(kind string, value *node) *node {
	name := value.get("name")
	if name == nil && kind == kindTool {
		name = value.get("function").get("name")
	}
	return name
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
