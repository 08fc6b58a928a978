package files

import (
	"fmt"
	"net/url"
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
