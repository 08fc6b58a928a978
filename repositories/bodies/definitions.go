package bodies

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	finding "github.com/santhosh-tekuri/jsonschema/v6/kind"

	"earshot/repositories/fault"
	"earshot/repositories/lists"
	"earshot/repositories/schema"
)

// Definitions are the compiled JSON Schemas of a document, by name. All bodies are read alike: every fault at once
// with its place, and numbers with their digits. They are safe for concurrent use.
type Definitions struct {
	document map[string]any
	compiled map[string]*jsonschema.Schema
	// Quiet omits a value of the wrong type from its fault: it may be a credential.
	Quiet   bool
	Instead map[string]string // names alternatives to unsupported fields and enumerated values
	// Forms describes the values of formats, by name.
	Forms map[string]string
	// Absent means that null, or an empty text that a field cannot have, counts as absent.
	Absent bool
}

const definitionURL = "earshot:///definition"

// Compile compiles a JSON Schema (draft 2020-12) with one $defs entry for each kind of body. A format
// "earshot-NAME" calls the function with that name, whose error is the fault's detail. It panics if an embedded
// schema does not compile.
func Compile(schema []byte, formats map[string]func(string) error) *Definitions {
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	for name, check := range formats {
		compiler.RegisterFormat(&jsonschema.Format{Name: "earshot-" + name, Validate: func(value any) error {
			if text, ok := value.(string); ok {
				return check(text)
			}
			return nil
		}})
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err == nil {
		err = compiler.AddResource(definitionURL, document)
	}
	if err != nil {
		panic(fmt.Sprintf("an embedded schema: %v", err))
	}
	d := &Definitions{document: document.(map[string]any), compiled: map[string]*jsonschema.Schema{}}
	for name := range d.document["$defs"].(map[string]any) {
		d.compiled[name] = compiler.MustCompile(definitionURL + "#/$defs/" + name)
	}
	return d
}

// fault describes a violation, with the nearest known name for a misspelling. It sets no place.
func (d *Definitions) fault(l schema.Violation, tree any) fault.Fault {
	last := ""
	if len(l.At) > 0 {
		last = l.At[len(l.At)-1]
	}
	found := fault.Fault{Meant: l.Meant()}
	switch cause := l.Cause.ErrorKind.(type) {
	case *finding.FalseSchema:
		found.Detail, found.Code = fault.Show(last)+" is not supported yet by this version", fault.NotSupported
		if hint := d.Instead[last]; hint != "" {
			found.Detail += "; " + hint
		}
	case *finding.AdditionalProperties:
		meant := fault.DidYouMean(last, d.fields(l.Cause.SchemaURL))
		meant.Code = fault.UnknownField
		found = fault.New("", "unknown field %q%s", fault.Clip(last), meant)
		if meant.Suggestion == "" {
			found.Detail += sentenceOf("the fields here are ", meant.Allowed)
		}
	case *finding.Enum:
		found.Detail = fault.Show(cause.Got) + " is not one of " + fault.ShowAll(cause.Want) + found.Meant.String()
		if got, _ := cause.Got.(string); d.Instead[got] != "" && found.Suggestion == "" {
			found.Detail += "; " + d.Instead[got]
		}
	case *finding.Type:
		found.Detail = l.Text(tree)
		if d.Quiet {
			found.Detail = "is " + schema.Article(cause.Got) + ", not " + schema.Articles(cause.Want)
		}
		found.Detail += d.wanted(l.Cause.SchemaURL, cause.Want)
	case *finding.Required:
		found.Detail = "is missing"
		if found.Allowed = d.words(l.Cause.SchemaURL, "properties", last); len(found.Allowed) > 0 {
			found.Detail += ": " + quoted(found.Allowed)
		}
	case *finding.MinLength:
		found.Detail = "is empty"
	case *finding.Format:
		errors.As(cause.Err, &found) // the check may return a complete fault
		found.Detail = l.Text(tree)
		if cause.Want == "date-time" { // as queries say it
			found.Detail = fault.Show(cause.Got) + " is not a time, as 2026-12-01T09:00:00Z"
		}
	default:
		found.Detail = l.Text(tree)
	}
	return found
}

// wanted describes the expected value if its schema tells more than the type.
func (d *Definitions) wanted(schemaURL string, types []string) string {
	if words := d.words(schemaURL); len(words) > 0 {
		return "; it is " + quoted(words)
	}
	of, _ := d.at(schemaURL).(map[string]any)
	format, _ := of["format"].(string)
	switch form := d.Forms[strings.TrimPrefix(format, "earshot-")]; {
	case form != "":
		return "; it is " + form
	case slices.Contains(types, "object"):
		return sentenceOf("its fields are ", d.fields(schemaURL))
	}
	return ""
}

// words returns the allowed texts at a place of the schema, for a list its members'; none if others are allowed.
func (d *Definitions) words(schemaURL string, more ...string) []string {
	of, _ := d.at(schemaURL, more...).(map[string]any)
	if items, ok := of["items"].(map[string]any); ok {
		of = items
	}
	if ref, ok := of["$ref"].(string); ok {
		of, _ = d.at(ref).(map[string]any)
	}
	list, _ := of["enum"].([]any)
	return lists.Of[string](list)
}

// mostListed is how many fields a sentence lists. Allowed has all of them.
const mostListed = 12

func sentenceOf(intro string, names []string) string {
	if len(names) == 0 || len(names) > mostListed {
		return ""
	}
	return "; " + intro + strings.Join(names, ", ")
}

func quoted(words []string) string {
	return fault.OneOf(lists.Map(words, func(word string) string { return fault.Show(word) }))
}

// at returns the part of the document at a schema's URL, or below it.
func (d *Definitions) at(schemaURL string, below ...string) any {
	_, fragment, _ := strings.Cut(schemaURL, "#/")
	return schema.ValueAt(d.document, append(strings.Split(fragment, "/"), below...))
}

func (d *Definitions) fields(schemaURL string) []string {
	properties, _ := d.at(schemaURL, "properties").(map[string]any)
	known := maps.Clone(properties)
	maps.DeleteFunc(known, func(_ string, schema any) bool { return schema == false })
	return slices.Sorted(maps.Keys(known))
}
