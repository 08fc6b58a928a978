package files

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"earshot/repositories/fault"
)

// maxDescriptionBytes bounds an OpenAPI document. Those of the largest services have some
// megabytes.
const maxDescriptionBytes = 16 << 20

// OpenAPIOptions say how an OpenAPI document is made into files.
type OpenAPIOptions struct {
	// Stdin is read where the path is Stdin.
	Stdin io.Reader
	// Name is that of the source and of the repository, and begins the names of several
	// sources; that of the document where it is empty.
	Name string
	// BaseURL is where the API is; the first of the document's servers where it is empty.
	BaseURL string
	// Paths are how the paths begin of which operations are taken; all if there are none.
	Paths []string
}

// OpenAPI is what an OpenAPI document was made into.
type OpenAPI struct {
	// Text is a file of documents of ours: a source for each set of credentials, tools of
	// them, and a repository of these.
	Text string
	// Tools is how many operations have become tools, of Operations that the document has.
	Tools, Operations int
	// Variables are the names that have to be set where the file is read: addresses and
	// credentials that the document asks for. None of them has a value here.
	Variables []string
	// Notes name what was not carried over, or only in part.
	Notes []Fault
}

// FromOpenAPI makes documents of ours of an OpenAPI document, version 3.0 to 3.2, in JSON or
// YAML. The error is Faults and names everything because of which that cannot be done. No
// other document is read, and nothing is fetched.
func FromOpenAPI(path string, options OpenAPIOptions) (*OpenAPI, error) {
	im := &openapi{file: path, options: options, names: map[string]bool{}, variables: map[string]bool{}, targets: map[string]*node{}}
	source, err := im.load()
	if err != nil {
		im.faults.add(position{file: path}, "%s", err)
		return nil, im.faults.err()
	}
	values := readValues(path, source, nil, &im.faults)
	if len(im.faults) > 0 {
		return nil, im.faults.sorted([]string{path}).err()
	}
	if im.begin(values) {
		im.operations()
	}
	if len(im.faults) > 0 {
		return nil, im.faults.sorted([]string{path}).err()
	}
	made := im.finish()
	if len(made.Text) > maxBytes {
		im.faults.add(im.root.at, "has %d operations, which make a file of %d bytes; one of %d can be read: take a part of them, as with --path /v1/customers", im.count, len(made.Text), maxBytes)
		return nil, im.faults.err()
	}
	if err := made.check(); err != nil {
		im.faults.add(im.root.at, "has something that no file of ours can say: %s", err)
		return nil, im.faults.err()
	}
	return made, nil
}

// check reads the file as those do who are given it, with all that it asks for.
func (o *OpenAPI) check() error {
	set, err := Read([]string{Stdin}, Options{AppID: "import", Stdin: strings.NewReader(o.Text), Lookup: func(name string) (string, bool) {
		return "https://api.example", slices.Contains(o.Variables, name)
	}})
	if err == nil {
		err = set.Check()
	}
	return err
}

// openapi is an OpenAPI document while it is made into documents of ours.
type openapi struct {
	file      string
	options   OpenAPIOptions
	root      *node
	faults    Faults
	notes     Faults
	name      string          // of the source and of the repository
	names     map[string]bool // of the tools
	variables map[string]bool
	base      string // the baseUrl of the sources
	tools     []*node
	count     int // of operations
	steps     int // that were made to what is referred to
	spent     bool
	targets   map[string]*node // of references that were followed
	security  credentials
}

func (im *openapi) load() (string, error) {
	var from io.Reader = im.options.Stdin
	if im.file != Stdin {
		file, err := openFile(im.file)
		if err != nil {
			return "", err
		}
		defer file.Close()
		from = file
	} else if from == nil {
		from = strings.NewReader("")
	}
	return readText(from, maxDescriptionBytes, "an OpenAPI document is read up to that length")
}

// begin looks whether it is a document that can be read, and makes the source.
func (im *openapi) begin(values []*node) bool {
	start := position{im.file, 1, 1}
	if len(values) != 1 || values[0].kind != object {
		im.faults.add(start, "is no OpenAPI document: that is one object with openapi, info and paths")
		return false
	}
	im.root = values[0]
	version, _ := im.root.get("openapi").scalarText()
	switch old := im.root.field("swagger"); {
	case old != nil:
		im.faults.add(old.at, "is Swagger 2.0, which is not read: convert it to OpenAPI 3 first")
		return false
	case !slices.ContainsFunc([]string{"3.0.", "3.1.", "3.2."}, func(known string) bool { return strings.HasPrefix(version+".", known) }):
		im.faults.add(im.root.at, "has openapi %s; versions 3.0, 3.1 and 3.2 are read", fault.Show(version))
		return false
	}
	title, _ := im.root.get("info").get("title").scalarText()
	im.name = cmp.Or(idOf(im.options.Name), idOf(strings.ToLower(title)), "api")
	im.base = im.baseURL()
	im.security = im.schemes()
	if hooks := im.root.field("webhooks"); hooks != nil {
		im.notes.add(hooks.at, "webhooks are left out: they are requests to somebody else, and no tools")
	}
	return true
}

// baseURL is where the API is, with the slash that paths are resolved behind.
func (im *openapi) baseURL() string {
	given := im.options.BaseURL
	if servers := im.root.get("servers"); given == "" && servers != nil && len(servers.items) > 0 {
		given = im.serverURL(im.resolved(servers.items[0]))
		if len(servers.items) > 1 {
			im.notes.add(servers.items[1].at, "of %d servers the first is taken; --base-url names another", len(servers.items))
		}
	}
	parsed, err := url.Parse(given)
	switch {
	case err != nil || parsed.RawQuery != "" || parsed.Fragment != "" || (parsed.Host == "") != (parsed.Scheme == "") || parsed.Opaque != "":
		im.faults.add(im.root.at, "is at %s, which no source can be at; give the address of the API with --base-url", fault.Show(given))
	case parsed.Host == "":
		given = im.variable("URL") + "/" + strings.TrimPrefix(given, "/")
		im.notes.add(im.root.at, "does not say where the API is: set the variable in %s, or give --base-url", given)
	}
	return strings.TrimSuffix(given, "/") + "/"
}

// serverURL is the URL of a server with the defaults of its variables.
func (im *openapi) serverURL(server *node) string {
	address, _ := server.get("url").scalarText()
	if variables := server.get("variables"); variables != nil {
		for _, one := range variables.fields {
			value, _ := one.value.get("default").scalarText()
			address = strings.ReplaceAll(address, "{"+one.name+"}", value)
		}
	}
	return unfilled(address)
}

// methods are those that a tool may have.
var methods = []string{"get", "post", "put", "patch", "delete"}

// operations makes a tool of each operation.
func (im *openapi) operations() {
	paths := im.root.get("paths")
	if paths == nil || paths.kind != object || len(paths.fields) == 0 {
		im.faults.add(im.root.at, "has no paths, of which tools could be made")
		return
	}
	for _, path := range paths.fields {
		if strings.HasPrefix(path.name, "x-") || !im.isAsked(path.name) {
			continue
		}
		item := im.resolved(path.value)
		if item == nil {
			continue
		}
		for _, one := range item.fields {
			switch {
			case slices.Contains(methods, one.name) && one.value.kind == object:
				im.count++
				im.operation(path.name, one, item)
			case slices.Contains([]string{"head", "options", "trace", "query"}, one.name):
				im.notes.add(one.at, "%s %s is left out: a tool is one of GET, POST, PUT, PATCH and DELETE", strings.ToUpper(one.name), fault.Clip(path.name))
			case one.name == "servers":
				im.notes.add(one.at, "the servers of this path are left out: all tools are at the source's baseUrl")
			}
		}
	}
	if len(im.tools) == 0 && len(im.faults) == 0 {
		im.faults.add(paths.at, "has no operation that can be a tool:\n%s", im.notes.Error())
	}
}

// isAsked reports whether operations of a path are taken.
func (im *openapi) isAsked(path string) bool {
	return len(im.options.Paths) == 0 || slices.ContainsFunc(im.options.Paths, func(begin string) bool { return strings.HasPrefix(path, begin) })
}

// finish writes the documents.
func (im *openapi) finish() *OpenAPI {
	made := &OpenAPI{Tools: len(im.tools), Operations: im.count, Notes: im.notes.sorted([]string{im.file})}
	documents := append(append(im.sources(), im.tools...), im.repository())
	var written bytes.Buffer
	fmt.Fprintf(&written, "# Made of %s by: earshot import openapi\n", strings.Map(printed, im.file))
	for i, one := range documents {
		written.WriteString([]string{"", "---\n"}[min(i, 1)] + render(one, ""))
	}
	made.Text = forEditors(written.String())
	for name := range im.variables {
		made.Variables = append(made.Variables, name)
	}
	slices.Sort(made.Variables)
	return made
}

func printed(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return '_'
}

// repository names the tools.
func (im *openapi) repository() *node {
	made, named := newObject(im.root.at), &node{kind: list}
	im.set(made, "kind", kindRepository)
	im.set(made, "name", im.name)
	for _, tool := range im.tools {
		named.items = append(named.items, tool.get("name"))
	}
	made.add("tools", im.root.at, named)
	return made
}

// variable is the placeholder of a variable, which the file asks for from now on.
func (im *openapi) variable(what string) string {
	written := im.placeholder(what)
	im.variables[written[len("${"):len(written)-1]] = true
	return written
}

// placeholder is that of a variable.
func (im *openapi) placeholder(what string) string {
	return "${" + strings.ToUpper(strings.ReplaceAll(im.name, "-", "_")) + "_" + what + "}"
}

// set adds a text to an object.
func (im *openapi) set(to *node, name, value string) {
	to.add(name, im.root.at, newText(value, im.root.at))
}

// idOf makes an id of a text; empty where nothing of it can stand in one.
func idOf(title string) string {
	id := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '-'
	}, title)
	for strings.Contains(id, "--") {
		id = strings.ReplaceAll(id, "--", "-")
	}
	return strings.Trim(fmt.Sprintf("%.100s", id), "-_")
}

// unfilled is a text of the document as it may stand in a file: what looks like a variable
// there is none.
func unfilled(said string) string { return strings.ReplaceAll(said, "${", "$ {") }

const (
	// maxSteps bounds the work on references: a few lines can refer to each other so that
	// they stand for more than fits into memory.
	maxSteps = 250_000
	// maxHops is how many references may lead from one to the next.
	maxHops = 32
)

// resolved follows the reference of a node, where it is one. It is nil after a fault.
func (im *openapi) resolved(n *node) *node {
	for range maxHops {
		if im.steps++; im.steps > maxSteps {
			if !im.spent {
				im.faults.add(im.root.at, "refers to its parts so often that it cannot be read; its schemas contain each other many times")
			}
			im.spent = true
			return nil
		}
		reference := n.field("$ref")
		if reference == nil || reference.value.kind != text {
			return n
		}
		known, is := im.targets[reference.value.text]
		if !is {
			if known = im.target(reference); known == nil {
				return nil
			}
			im.targets[reference.value.text] = known
		}
		n = known
	}
	im.faults.add(n.at, "refers to what refers on, more than %d times, or to itself", maxHops)
	return nil
}

// target finds what a reference names within the document.
func (im *openapi) target(reference *field) *node {
	to := reference.value.text
	pointer, local := strings.CutPrefix(to, "#")
	if !local {
		im.faults.add(reference.value.at, "refers to another document, %s; none is read: bundle them into one first", fault.Show(to))
		return nil
	}
	decoded, err := url.PathUnescape(pointer)
	if err != nil || decoded != "" && decoded[0] != '/' {
		im.faults.add(reference.value.at, "refers to %s, which is no place in the document", fault.Show(to))
		return nil
	}
	at := im.root
	for _, token := range strings.Split(decoded, "/")[1:] {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		next := at.get(token)
		if i, in := index(token, at.items); at.kind == list && in {
			next = at.items[i]
		}
		if next == nil {
			im.faults.add(reference.value.at, "refers to %s, and there is no %s", fault.Show(to), fault.Show(token))
			return nil
		}
		at = next
	}
	return at
}
