package files

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"earshot/repositories/fault"
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
	// Into is the file of an earlier import, whose edits are kept; nil makes a new one.
	Into *Imported
}

// Imported is a file from an import, possibly edited since.
type Imported struct{ Path, Text string }

// OpenAPI is the result of a conversion.
type OpenAPI struct {
	// Text is the file: a source for each set of credentials, their tools, and a repository of these.
	Text string
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
	im := &openapi{file: path, options: options, toolNames: map[string]bool{}, variables: map[string]bool{}, targets: map[string]*node{}}
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
	header := fmt.Sprintf("# Made of %s by: earshot import openapi\n%s%s", printed(path), renderAll(documents), comments)
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

// printed returns a path for a comment.
func printed(path string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '_'
	}, path)
}

func renderAll(documents []*node) string {
	var written strings.Builder
	for i, doc := range documents {
		written.WriteString([]string{"", "---\n"}[min(i, 1)] + render(doc, ""))
	}
	return written.String()
}

func (im *openapi) readRoot(values []*node) bool {
	if len(values) != 1 || values[0].kind != objectValue {
		im.faults.add(position{im.file, 1, 1}, "is no OpenAPI document: that is one object with openapi, info and paths")
		return false
	}
	if im.root = im.applyOverlays(values[0]); len(im.faults) > 0 {
		return false
	}
	version := im.root.textOf("openapi")
	switch old := im.root.field("swagger"); {
	case old != nil:
		im.faults.add(old.at, "is Swagger 2.0, which is not read: convert it to OpenAPI 3 first")
		return false
	case !slices.ContainsFunc([]string{"3.0.", "3.1.", "3.2."}, func(known string) bool { return strings.HasPrefix(version+".", known) }):
		im.faults.add(im.root.at, "has openapi %s; versions 3.0, 3.1 and 3.2 are read", fault.Show(version))
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
		given = im.variable("URL") + "/" + strings.TrimPrefix(given, "/")
		im.notes.add(im.root.at, "does not say where the API is: set the variable in %s, or give --base-url", given)
	}
	im.base = strings.TrimSuffix(given, "/") + "/" // paths are resolved after the slash
	return true
}

func (im *openapi) operations() {
	paths := im.root.get("paths")
	if paths == nil || len(paths.fields) == 0 {
		im.faults.add(im.root.at, "has no paths, of which tools could be made")
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
