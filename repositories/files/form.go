package files

import (
	"path/filepath"
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
)

// document is one definition of a file, whichever form it was written in.
type document struct {
	kind string
	word string   // the file's own word for it, as toolset
	name string   // empty where it has none, or where that is a fault
	at   position // of the name, or of the whole
	// body has the fields as the REST form has them, without kind and name.
	body *node
	// sermas marks what SERMAS's own tools wrote, older what is of a form that Toolbox
	// has left behind.
	sermas, legacy bool
}

// label names the document in a fault.
func (d *document) label() string {
	if d.name == "" {
		return d.word
	}
	return d.word + " " + string(quote(fault.Clip(d.name)))
}

// collector gathers the documents of all files.
type collector struct {
	documents []*document
	faults    Faults
	notes     Faults
	// missing are the sources and tools that were left out for their type, as kind and name;
	// they are no fault a second time where they are named.
	missing map[string]bool
	// skip makes notes of them, and lookup finds variables.
	skip   bool
	lookup func(variable string) (value string, set bool)
	// tests says that tests are read, and read has them.
	tests bool
	read  []readTest
	// all keeps documents that Earshot has no use for, where a file is rewritten.
	all bool
}

func (c *collector) add(d *document) { c.documents = append(c.documents, d) }

// value takes one value of a file, which is one document of a stream, and finds out
// by its shape and the file's name which form it has.
func (c *collector) value(file string, value *node) {
	base := baseName(file)
	switch {
	case value.kind == list:
		c.sermasList(base, value)
	case value.kind != object:
		c.faults.add(value.at, "holds %s, where a map or a list of definitions is wanted", value.kind)
	case value.field("kind") != nil:
		c.flat(value)
	case value.field("chat") != nil:
		c.sermasTest(base, value)
	case nestedSection(value):
		c.nested(value)
	case base == kindApp:
		c.sermasApp(value)
	case base == kindSettings:
		c.add(&document{kind: kindSettings, word: kindSettings, at: value.at, body: c.sermasSettings(value), sermas: true})
	default:
		c.unknownForm(value)
	}
}

// unknownForm says what a map without kind could have been.
func (c *collector) unknownForm(value *node) {
	if value.field("name") != nil || len(value.fields) == 0 {
		c.faults.add(value.at, "has no kind; every document says what it is, as in kind: tool")
		return
	}
	for _, f := range value.fields {
		c.faults.add(f.at, "%q is no section of a file of tools: %s%s", fault.Clip(f.name), strings.Join(sectionNames, ", "),
			fault.DidYouMean(f.name, sectionNames))
	}
}

// baseName is a file's name without folder and ending.
func baseName(file string) string {
	base := filepath.Base(file)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// named makes a document of a name and a body.
func (c *collector) named(kind, as string, name *node, body *node) *document {
	d := &document{kind: kind, word: as, at: body.at, body: body}
	given, ok := name.scalarText()
	if ok && given != "" {
		d.name, d.at = given, name.at
		return d
	}
	switch id := nameFields[kind]; {
	case id != "" && name != nil:
		d.body = body.with(id, name) // the decoder says what is wrong with it
	case id != "":
	case name == nil:
		c.faults.add(body.at, "%s has no name", withArticle(as))
	case !ok:
		c.faults.add(name.at, "the name of %s is %s; it must be a text", withArticle(as), name.kind)
	default:
		c.faults.add(name.at, "the name of %s is empty", withArticle(as))
	}
	return d
}

// nameFields are the fields that name what has a body of its own in the REST form.
var nameFields = map[string]string{kindTool: "name", kindModule: "moduleId", kindAuthService: "name", kindSource: "name"}

func withArticle(word string) string {
	if strings.ContainsRune("aeiou", rune(word[0])) {
		return "an " + word
	}
	return "a " + word
}
