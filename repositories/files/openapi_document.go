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
	file        string
	options     OpenAPIOptions
	root        *node
	faults      Faults
	notes       Faults
	name        string          // of the source and of the repository
	names       map[string]bool // of tools
	variables   map[string]bool
	base        string // the baseUrl of the sources
	tools       []*node
	count       int // operations
	steps       int // followed references
	spent       bool
	targets     map[string]*node // of followed references
	schemes     map[string]*securityScheme
	usedSources []*grantedSource
	noted       map[string]bool // notes on credentials, to avoid repetitions
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
		known, ok := im.targets[reference.value.text]
		if !ok {
			if known = im.target(reference.value); known == nil {
				return nil
			}
			im.targets[reference.value.text] = known
		}
		n = known
	}
	im.faults.add(n.at, "refers to what refers on, more than %d times, or to itself", maxHops)
	return nil
}

func (im *openapi) target(reference *node) *node {
	to := fault.Show(reference.text)
	pointer, local := strings.CutPrefix(reference.text, "#")
	decoded, err := url.PathUnescape(pointer)
	switch {
	case !local:
		im.faults.add(reference.at, "refers to another document, %s; none is read: bundle them into one first", to)
		return nil
	case err != nil || decoded != "" && decoded[0] != '/':
		im.faults.add(reference.at, "refers to %s, which is no place in the document", to)
		return nil
	}
	at := im.root
	for _, token := range fault.Tokens(decoded) {
		if at = at.step(token); at == nil {
			im.faults.add(reference.at, "refers to %s, and there is no %s", to, fault.Show(token))
			break
		}
	}
	return at
}

// placeholder returns the placeholder of a variable, whose name begins with the API's.
func (im *openapi) placeholder(what string) string {
	return "${" + strings.ToUpper(strings.ReplaceAll(im.name, "-", "_")) + "_" + what + "}"
}

func (im *openapi) variable(what string) string {
	written := im.placeholder(what)
	im.variables[written[len("${"):len(written)-1]] = true
	return written
}

func (im *openapi) textsOf(namesAndTexts ...string) *node {
	return textsOf(im.root.at, namesAndTexts...)
}

func (im *openapi) set(to *node, name, value string) {
	to.add(name, im.root.at, newText(value, im.root.at))
}

// idOf makes an id from a text; empty if no character is valid.
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

// withoutPlaceholders escapes a text of the document for a file, where ${ would begin a variable.
func withoutPlaceholders(message string) string { return strings.ReplaceAll(message, "${", "$ {") }

func checkTool(tool *node) error {
	body := newObject(tool.at)
	body.add("tools", tool.at, &node{kind: list, items: []*node{tool.without("kind")}})
	_, err := repositories.DecodeRepository(repositories.Scope{AppID: "import"}, "import", body.json())
	return err
}

func checkRequest(request *node) error {
	tool := textsOf(request.at, "name", "t", "type", repositories.ToolHTTP, "source", "s", "method", "GET", "path", "/")
	tool.add("request", request.at, request)
	return checkTool(tool)
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
