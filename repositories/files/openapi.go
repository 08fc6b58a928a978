package files

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"earshot/repositories"
	"earshot/repositories/fault"
	"earshot/repositories/lists"
)

// maxDescriptionBytes bounds an OpenAPI document; the largest services' have some megabytes.
const maxDescriptionBytes = 16 << 20

// OpenAPIOptions configure the conversion of an OpenAPI document to a file.
type OpenAPIOptions struct {
	// Stdin is read if the path is Stdin.
	Stdin io.Reader
	// Name is the name of the source and the repository, and the prefix of the names of several sources; the
	// default is from the document.
	Name string
	// BaseURL is the address of the API; the default is the first of the document's servers.
	BaseURL string
	// Paths are the prefixes of the paths of included operations; all if empty.
	Paths []string
	// Overlays are the paths of OpenAPI Overlays, which change the document in order before it is converted.
	Overlays []string
	// ConfirmWrites makes tools of operations other than GET ask for confirmation, except where x-earshot-confirm
	// decides.
	ConfirmWrites bool
	Into          *Imported // the file of an earlier import, whose edits are kept; nil makes a new one
}

// Imported is a file from an import, possibly edited since.
type Imported struct{ Path, Text string }

// OpenAPI is the result of a conversion.
type OpenAPI struct {
	Text string // the file: a source for each set of credentials, their tools, and a repository of these
	// Tools is the number of converted operations; Operations is the number in the document.
	Tools, Operations int
	// Variables are required when the file is read: addresses and credentials. None has a value here.
	Variables []string
	// Notes name parts that were not or only partly converted.
	Notes []Fault
}

// FromOpenAPI converts an OpenAPI document, version 3.0 to 3.2, in JSON or YAML, to a file. The error is Faults. It
// reads no other document than the overlays of the options, and fetches nothing.
func FromOpenAPI(path string, options OpenAPIOptions) (*OpenAPI, error) {
	im := &openapi{file: path, options: options, toolNames: map[string]bool{}, variables: map[string]bool{}, targets: map[string]*node{}, schemas: map[*node]schema{}, inner: map[*node]string{}}
	order := append([]string{path}, options.Overlays...)
	fail := func() (*OpenAPI, error) { return nil, im.faults.sorted(order).err() }
	source, err := readSource(path, options.Stdin, maxDescriptionBytes, "an OpenAPI document is read up to that length")
	if err != nil {
		im.faults.add(position{file: path}, "%s", err)
		return fail()
	}
	values := readValues(path, source, nil, &im.faults)
	if len(im.faults) == 0 && im.readRoot(values) {
		im.operations()
	}
	if len(im.faults) > 0 {
		return fail()
	}

	repository, toolNames := im.textsOf("kind", kindRepository, "name", im.name), &node{kind: listValue}
	for _, tool := range im.tools {
		toolNames.items = append(toolNames.items, tool.get("name"))
	}
	repository.add("tools", im.root.at, toolNames)
	documents := readValues("made.yaml", renderAll(append(append(im.sourceDocuments(), im.tools...), repository)), nil, &im.faults)
	comments := checksumsOf(documents) // from the values as they will be read
	if options.Into != nil {
		documents = im.mergeInto(documents)
	}
	if len(im.faults) > 0 {
		return fail()
	}
	header := fmt.Sprintf("# Made of %s by: earshot import openapi\n%s%s", printable(path), renderAll(documents), comments)
	result := &OpenAPI{
		Text: forEditors(header), Tools: len(im.tools), Operations: im.operationCount,
		Variables: sortedKeys(im.variables), Notes: im.notes.sorted(order),
	}
	if len(result.Text) > maxBytes {
		im.faults.add(im.root.at, "has %d operations, which make a file of %d bytes; one of %d can be read: take a part of them, as with --path /v1/customers", im.operationCount, len(result.Text), maxBytes)
		return fail()
	}
	// Read the file as users will, with every variable set.
	set, err := Read([]string{Stdin}, Options{AppID: "import", Stdin: strings.NewReader(result.Text), Lookup: func(name string) (string, bool) {
		return "https://api.example", options.Into != nil || slices.Contains(result.Variables, name)
	}})
	if err == nil {
		err = set.Check()
	}
	if err != nil {
		at, problem := im.root.at, "has something that no file of ours can say"
		if options.Into != nil {
			at, problem = position{file: options.Into.Path}, "has errors with what is new in the document"
		}
		im.faults.add(at, "%s: %s", problem, err)
		return fail()
	}
	return result, nil
}

// printable returns a path that fits into a comment.
func printable(path string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '_'
	}, path)
}

func renderAll(documents []*node) string {
	return strings.Join(lists.Map(documents, func(doc *node) string { return render(doc, "") }), "---\n")
}

func (im *openapi) readRoot(values []*node) bool {
	if len(values) != 1 || values[0].kind != objectValue {
		im.faults.add(position{im.file, 1, 1}, "is not an OpenAPI document, which is one object with openapi, info and paths")
		return false
	}
	if im.root = im.applyOverlays(values[0]); len(im.faults) > 0 {
		return false
	}
	version := im.root.textOf("openapi")
	switch old := im.root.field("swagger"); {
	case old != nil:
		im.faults.add(old.at, "is Swagger 2.0, which is not supported: convert it to OpenAPI 3 first")
		return false
	case im.root.field("openapi") == nil:
		im.faults.add(im.root.at, "is not an OpenAPI document: it has no field openapi, as openapi: 3.1.0")
		return false
	case !slices.ContainsFunc([]string{"3.0.", "3.1.", "3.2."}, func(known string) bool { return strings.HasPrefix(version+".", known) }):
		im.faults.add(im.root.at, "has openapi %s; supported are 3.0, 3.1 and 3.2", fault.Show(version))
		return false
	}

	im.name = cmp.Or(idFrom(im.options.Name), idFrom(strings.ToLower(im.root.get("info").textOf("title"))), "api")
	im.readSchemes()
	if hooks := im.root.field("webhooks"); hooks != nil {
		im.notes.add(hooks.at, "webhooks are left out: they are requests to somebody else, and no tools")
	}

	given := im.options.BaseURL
	if servers := im.root.itemsOf("servers"); given == "" && len(servers) > 0 {
		server := im.resolved(servers[0])
		given = server.textOf("url")
		for _, variable := range server.fieldsOf("variables") {
			given = strings.ReplaceAll(given, "{"+variable.name+"}", variable.value.textOf("default"))
		}
		given = withoutPlaceholders(given)
		if len(servers) > 1 {
			im.notes.add(servers[1].at, "of %d servers the first is taken; --base-url names another", len(servers))
		}
	}
	parsed, err := url.Parse(given)
	switch {
	case err != nil || parsed.RawQuery != "" || parsed.Fragment != "" || (parsed.Host == "") != (parsed.Scheme == "") || parsed.Opaque != "":
		im.faults.add(im.root.at, "is at %s, which no source can be at; give the address of the API with --base-url", fault.Show(given))
	case parsed.Host == "":
		im.variables[im.variableName("URL")] = true
		given = im.placeholder("URL") + "/" + strings.TrimPrefix(given, "/")
		im.notes.add(im.root.at, "does not say where the API is: set the variable in %s, or give --base-url", given)
	}
	im.base = strings.TrimSuffix(given, "/") + "/" // paths are resolved after the slash
	return true
}

func (im *openapi) operations() {
	paths := im.root.get("paths")
	if paths == nil || len(paths.fields) == 0 {
		im.faults.add(im.root.at, "has no paths to make tools from")
		return
	}
	for _, path := range paths.fields {
		isWanted := len(im.options.Paths) == 0 || slices.ContainsFunc(im.options.Paths, func(begin string) bool { return strings.HasPrefix(path.name, begin) })
		if strings.HasPrefix(path.name, "x-") || !isWanted {
			continue
		}
		item := im.resolved(path.value)
		if item == nil {
			continue
		}
		for _, one := range item.fields {
			switch one.name {
			case "get", "post", "put", "patch", "delete":
				if one.value.kind == objectValue {
					im.operationCount++
					im.operation(path.name, one, item)
				}
			case "head", "options", "trace", "query":
				im.operationCount++
				im.notes.add(one.at, "%s %s is left out: a tool is one of GET, POST, PUT, PATCH and DELETE", strings.ToUpper(one.name), fault.Clip(path.name))
			case "servers":
				im.notes.add(one.at, "the servers of this path are left out: all tools are at the source's baseUrl")
			}
		}
	}
	switch {
	case len(im.tools) > 0 || len(im.faults) > 0:
	case im.operationCount == 0 && len(im.options.Paths) > 0:
		im.faults.add(paths.at, "has no operation whose path begins with %s: --path names the beginning of a path, as %s", fault.Show(strings.Join(im.options.Paths, ", ")), fault.Show(paths.fields[0].name))
	case im.operationCount == 0:
		im.faults.add(paths.at, "has no operation, of which a tool could be made")
	default:
		im.faults.add(paths.at, "has no operation that can be a tool:\n%s", im.notes.Error())
	}
}

// openapi is the conversion of one OpenAPI document. The package's readers parse it, with the position of each
// value and limits for hostile input.
type openapi struct {
	file           string
	options        OpenAPIOptions
	root           *node
	faults         Faults
	notes          Faults
	name           string          // of the source and of the repository
	toolNames      map[string]bool // of tools
	variables      map[string]bool
	base           string // the baseUrl of the sources
	tools          []*node
	operationCount int
	steps          int // of all work that references multiply
	overLimit      bool
	targets        map[string]*node // of followed references
	schemas        map[*node]schema // that have been read
	inner          map[*node]string // members of an object in another, as described
	schemes        map[string]*securityScheme
	grantedSources []*grantedSource
	notesGiven     map[string]bool // notes on credentials, to avoid repetitions
}

const (
	// maxSteps bounds the work: a few lines can expand beyond memory.
	maxSteps = 8_000_000
	// referenceSteps is the work of a followed reference; that of a schema which has been read is one step.
	referenceSteps = 8
	// maxHops bounds a chain of references.
	maxHops = 32
)

// worked counts steps, and reports whether there may be more.
func (im *openapi) worked(steps int) bool {
	if im.steps += steps; im.steps <= maxSteps {
		return true
	}
	if !im.overLimit {
		im.faults.add(im.root.at, "refers to its parts so often that it cannot be read; its schemas contain each other many times")
	}
	im.overLimit = true
	return false
}

// resolved follows the references of a node. It returns nil after a fault.
func (im *openapi) resolved(n *node) *node {
	for range maxHops {
		if !im.worked(referenceSteps) {
			return nil
		}
		reference := n.field("$ref")
		if reference == nil || reference.value.kind != textValue {
			return n
		}
		target, ok := im.targets[reference.value.text]
		if !ok {
			if target = im.target(reference.value); target == nil {
				return nil
			}
			im.targets[reference.value.text] = target
		}
		n = target
	}
	im.faults.add(n.at, "refers to what refers on, more than %d times, or to itself", maxHops)
	return nil
}

func (im *openapi) target(reference *node) *node {
	shown := fault.Show(reference.text)
	pointer, local := strings.CutPrefix(reference.text, "#")
	decoded, err := url.PathUnescape(pointer)
	switch {
	case !local:
		im.faults.add(reference.at, "refers to another document, %s; none is read: bundle them into one first", shown)
		return nil
	case err != nil || decoded != "" && decoded[0] != '/':
		im.faults.add(reference.at, "refers to %s, which is not in the document", shown)
		return nil
	}
	value := im.root
	for _, token := range fault.Tokens(decoded) {
		if value = value.child(token); value == nil {
			im.faults.add(reference.at, "refers to %s, and there is no %s", shown, fault.Show(token))
			break
		}
	}
	return value
}

// variableName begins with the API's name.
func (im *openapi) variableName(suffix string) string {
	return strings.ToUpper(strings.ReplaceAll(im.name, "-", "_")) + "_" + suffix
}

func (im *openapi) placeholder(suffix string) string { return "${" + im.variableName(suffix) + "}" }

func (im *openapi) textsOf(namesAndTexts ...string) *node {
	return newTextObject(im.root.at, namesAndTexts...)
}

func (im *openapi) set(target *node, name, value string) {
	target.add(name, im.root.at, newText(value, im.root.at))
}

// idFrom makes an id from a text; empty if no character is valid.
func idFrom(title string) string {
	id := strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_') {
			return r
		}
		return '-'
	}, title)
	for strings.Contains(id, "--") {
		id = strings.ReplaceAll(id, "--", "-")
	}
	return strings.Trim(fmt.Sprintf("%.100s", id), "-_")
}

// withoutPlaceholders escapes a text of the document for a file, where ${ would begin a variable.
func withoutPlaceholders(message string) string { return strings.ReplaceAll(message, "${", "$ {") }

func checkTool(tool *node) error {
	body := newObject(tool.at)
	body.add("tools", tool.at, &node{kind: listValue, items: []*node{tool.without("kind")}})
	_, err := repositories.DecodeRepository(repositories.Scope{AppID: "import"}, "import", body.json())
	return err
}

func checkRequest(request *node) error {
	tool := newTextObject(request.at, "name", "t", "type", repositories.ToolHTTP, "source", "s", "method", "GET", "path", "/")
	tool.add("request", request.at, request)
	return checkTool(tool)
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// extension is the prefix of the document's fields for an operation's tool, at the operation or at its path. The
// rest is the field's name as in files, or with hyphens: x-earshot-cancel-on-next.
const extension = "x-earshot-"

// operationFields are the fields that only the operation itself decides, because they tell what is sent where. Else a
// document could redirect another API's credentials.
var operationFields = []string{
	"kind", "type", "source", "url", "method", "path", "headers", "requestBody", "pathParams", "queryParams", "headerParams", "bodyParams",
	"schema", "parameters", "templateParameters", "statement", "remoteName", "tool",
}

// ofRequest are the fields of a request that do not affect what is sent.
var ofRequest = []string{"description", "timeout", "retryFor", "idempotent"}

// extensions returns the fields that the document sets for an operation. They are text without variables.
func (o *operation) extensions(item, of *node) (own []field) {
	for _, from := range []*node{item, of} {
		for _, f := range from.fields {
			name, ok := strings.CutPrefix(f.name, extension)
			if !ok {
				continue
			}
			name = behindHyphen.ReplaceAllStringFunc(name, func(hyphened string) string { return strings.ToUpper(hyphened[1:]) })
			if slices.Contains(operationFields, name) {
				o.notes.add(f.at, "%s: %s is left out: the operation says what is sent, and where", o.label, fault.Clip(f.name))
				continue
			}
			value := withoutVariables(f.value)
			for _, inner := range value.fields {
				if name == "request" && !slices.Contains(ofRequest, inner.name) {
					o.notes.add(inner.at, "%s: %s of %s is left out: the operation says what is sent, and where", o.label, fault.Clip(inner.name), fault.Clip(f.name))
					value = value.without(inner.name)
				}
			}
			own = slices.DeleteFunc(own, func(earlier field) bool { return earlier.name == name })
			own = append(own, field{name, f.at, value})
		}
	}
	return own
}

var behindHyphen = regexp.MustCompile(`-[a-z]`)

// extended returns the tool with the document's fields, and with the confirmation that the options require.
func (o *operation) extended(tool *node) *node {
	made := tool.without()
	for _, f := range o.extensionFields {
		current := made.get(f.name)
		if current != nil && current.kind == objectValue && f.value.kind == objectValue { // such as request, which has the credentials
			both := current.without()
			for _, inner := range f.value.fields {
				both = both.without(inner.name)
				both.add(inner.name, inner.at, inner.value)
			}
			f.value = both
		}
		if f.name != "name" {
			made = made.without(f.name)
			made.add(f.name, f.at, f.value)
		}
	}
	if o.options.ConfirmWrites && o.method != http.MethodGet && made.get("confirm") == nil {
		o.set(made, "confirm", "always")
	}
	return made
}
