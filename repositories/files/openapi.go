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

// maxDescriptionBytes bounds an OpenAPI document: those of the largest services have some megabytes.
const maxDescriptionBytes = 16 << 20

// OpenAPIOptions say how an OpenAPI document is made into files.
type OpenAPIOptions struct {
	// Stdin is read where the path is Stdin.
	Stdin io.Reader
	// Name is that of the source and the repository, and begins the names of several sources; default the
	// document's.
	Name string
	// BaseURL is where the API is; the first of the document's servers where it is empty.
	BaseURL string
	// Paths are how the paths begin of which operations are taken; all if there are none.
	Paths []string
	// Overlays are the paths of OpenAPI Overlays, which change the document before it is read, one after the other.
	Overlays []string
	// ConfirmWrites has each tool ask first whose operation is no GET, unless the document says x-earshot-confirm.
	ConfirmWrites bool
	// Into is the file of an earlier import, whose edits are kept; nil makes a new one.
	Into *Imported
}

// Imported is a file that was made by an import, and may have been edited since.
type Imported struct{ Path, Text string }

// OpenAPI is what an OpenAPI document was made into.
type OpenAPI struct {
	// Text is a file: a source for each set of credentials, their tools, and a repository of these.
	Text string
	// Tools is how many operations have become tools, of Operations that the document has.
	Tools, Operations int
	// Variables have to be set when the file is read: addresses and credentials. None has a value here.
	Variables []string
	// Notes name what was not carried over, or only in part.
	Notes []Fault
}

// FromOpenAPI makes a file of an OpenAPI document, version 3.0 to 3.2, in JSON or YAML. The error is Faults. No
// other document is read than the overlays of the options, and nothing is fetched.
func FromOpenAPI(path string, options OpenAPIOptions) (*OpenAPI, error) {
	im := &openapi{file: path, options: options, names: map[string]bool{}, variables: map[string]bool{}, targets: map[string]*node{}}
	order := append([]string{path}, options.Overlays...)
	refused := func() (*OpenAPI, error) { return nil, im.faults.sorted(order).err() }
	source, err := readSource(path, options.Stdin, maxDescriptionBytes, "an OpenAPI document is read up to that length")
	if err != nil {
		im.faults.add(position{file: path}, "%s", err)
		return refused()
	}
	values := readValues(path, source, nil, &im.faults)
	if len(im.faults) == 0 && im.begin(values) {
		im.operations()
	}
	if len(im.faults) > 0 {
		return refused()
	}

	repository, named := im.textsOf("kind", kindRepository, "name", im.name), &node{kind: list}
	for _, tool := range im.tools {
		named.items = append(named.items, tool.get("name"))
	}
	repository.add("tools", im.root.at, named)
	documents := readValues("made.yaml", renderAll(append(append(im.sources(), im.tools...), repository)), nil, &im.faults)
	with := sumsOf(documents) // as they are read again
	if options.Into != nil {
		documents = im.mergeInto(documents)
	}
	if len(im.faults) > 0 {
		return refused()
	}
	written := fmt.Sprintf("# Made of %s by: earshot import openapi\n%s%s", printed(path), renderAll(documents), with)
	made := &OpenAPI{
		Text: forEditors(written), Tools: len(im.tools), Operations: im.count,
		Variables: sortedKeys(im.variables), Notes: im.notes.sorted(order),
	}
	if len(made.Text) > maxBytes {
		im.faults.add(im.root.at, "has %d operations, which make a file of %d bytes; one of %d can be read: take a part of them, as with --path /v1/customers", im.count, len(made.Text), maxBytes)
		return refused()
	}
	// The file is read as its users will read it, with every variable set.
	set, err := Read([]string{Stdin}, Options{AppID: "import", Stdin: strings.NewReader(made.Text), Lookup: func(name string) (string, bool) {
		return "https://api.example", options.Into != nil || slices.Contains(made.Variables, name)
	}})
	if err == nil {
		err = set.Check()
	}
	if err != nil {
		at, what := im.root.at, "has something that no file of ours can say"
		if options.Into != nil {
			at, what = position{file: options.Into.Path}, "has errors with what is new in the document"
		}
		im.faults.add(at, "%s: %s", what, err)
		return refused()
	}
	return made, nil
}

// printed is a path as it stands in a comment.
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
	for i, one := range documents {
		written.WriteString([]string{"", "---\n"}[min(i, 1)] + render(one, ""))
	}
	return written.String()
}

func (im *openapi) begin(values []*node) bool {
	if len(values) != 1 || values[0].kind != object {
		im.faults.add(position{im.file, 1, 1}, "is no OpenAPI document: that is one object with openapi, info and paths")
		return false
	}
	if im.root = im.overlaid(values[0]); len(im.faults) > 0 {
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

	im.name = cmp.Or(idOf(im.options.Name), idOf(strings.ToLower(im.root.get("info").textOf("title"))), "api")
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
		given = unfilled(given)
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
	im.base = strings.TrimSuffix(given, "/") + "/" // paths are resolved behind the slash
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
				if one.value.kind == object {
					im.count++
					im.operation(path.name, one, item)
				}
			case "head", "options", "trace", "query":
				im.notes.add(one.at, "%s %s is left out: a tool is one of GET, POST, PUT, PATCH and DELETE", strings.ToUpper(one.name), fault.Clip(path.name))
			case "servers":
				im.notes.add(one.at, "the servers of this path are left out: all tools are at the source's baseUrl")
			}
		}
	}
	if len(im.tools) == 0 && len(im.faults) == 0 {
		im.faults.add(paths.at, "has no operation that can be a tool:\n%s", im.notes.Error())
	}
}
