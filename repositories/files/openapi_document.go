package files

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"earshot/repositories"
	"earshot/repositories/fault"
)

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
	resolveSteps   int // followed references
	overLimit      bool
	targets        map[string]*node // of followed references
	schemes        map[string]*securityScheme
	grantedSources []*grantedSource
	notesGiven     map[string]bool // notes on credentials, to avoid repetitions
}

const (
	// maxSteps bounds the followed references: a few lines can expand beyond memory.
	maxSteps = 250_000
	// maxHops bounds a chain of references.
	maxHops = 32
)

// resolved follows the references of a node. It returns nil after a fault.
func (im *openapi) resolved(n *node) *node {
	for range maxHops {
		if im.resolveSteps++; im.resolveSteps > maxSteps {
			if !im.overLimit {
				im.faults.add(im.root.at, "refers to its parts so often that it cannot be read; its schemas contain each other many times")
			}
			im.overLimit = true
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
		im.faults.add(reference.at, "refers to %s, which is no place in the document", shown)
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

// placeholder returns the placeholder of a variable, whose name begins with the API's.
func (im *openapi) placeholder(suffix string) string {
	return "${" + strings.ToUpper(strings.ReplaceAll(im.name, "-", "_")) + "_" + suffix + "}"
}

func (im *openapi) variable(suffix string) string {
	reference := im.placeholder(suffix)
	im.variables[reference[len("${"):len(reference)-1]] = true
	return reference
}

func (im *openapi) textsOf(namesAndTexts ...string) *node {
	return newTextObject(im.root.at, namesAndTexts...)
}

func (im *openapi) set(target *node, name, value string) {
	target.add(name, im.root.at, newText(value, im.root.at))
}

// idFrom makes an id from a text; empty if no character is valid.
func idFrom(title string) string {
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
