package files

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"earshot/repositories/fault"
)

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
