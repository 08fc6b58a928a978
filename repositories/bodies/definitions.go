package bodies

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	finding "github.com/santhosh-tekuri/jsonschema/v6/kind"

	"earshot/repositories/fault"
	"earshot/repositories/schema"
)

// Definitions are the compiled JSON Schemas of a document, by name. They read all bodies alike: every fault at
// once with its place, and numbers with their digits. They are safe for concurrent use.
type Definitions struct {
	document map[string]any
	compiled map[string]*jsonschema.Schema
	// Quiet keeps a value of the wrong type out of its fault: it may be a credential.
	Quiet bool
	// Instead names the alternative to a field that is not supported.
	Instead map[string]string
	// Absent says that null, or an empty text that a field cannot have, is the same as leaving the field out.
	Absent bool
}

const definitionURL = "earshot:///definition"

// Compile compiles a JSON Schema (draft 2020-12) with one $defs entry for each kind of body. A format
// "earshot-NAME" calls the function of that name for the detail of a fault. It panics if an embedded schema
// does not compile.
func Compile(schema []byte, formats map[string]func(string) error) *Definitions {
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	for name, check := range formats {
		compiler.RegisterFormat(&jsonschema.Format{Name: "earshot-" + name, Validate: func(value any) error {
			if text, is := value.(string); is {
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

// fault puts a violation into words, with the nearest known name for a misspelt one. It has no place.
func (d *Definitions) fault(l schema.Violation, tree any) fault.Fault {
	last := ""
	if len(l.At) > 0 {
		last = l.At[len(l.At)-1]
	}
	found := fault.Fault{Meant: l.Meant()}
	switch what := l.Cause.ErrorKind.(type) {
	case *finding.FalseSchema:
		found.Detail, found.Code = fault.Show(last)+" is not supported yet by this version", fault.NotSupported
		if hint := d.Instead[last]; hint != "" {
			found.Detail += "; " + hint
		}
	case *finding.AdditionalProperties:
		meant := fault.DidYouMean(last, d.fields(l.Cause.SchemaURL))
		meant.Code = fault.UnknownField
		found = fault.New("", "unknown field %q%s", fault.Clip(last), meant)
	case *finding.Enum:
		found.Detail = fault.Show(what.Got) + " is not one of " + fault.ShowAll(what.Want) + found.Meant.String()
	case *finding.Type:
		found.Detail = l.Text(tree)
		if d.Quiet {
			found.Detail = "is " + schema.Article(what.Got) + ", not " + schema.Articles(what.Want)
		}
	case *finding.Required:
		found.Detail = "is missing"
	case *finding.MinLength:
		found.Detail = "is empty"
	case *finding.Format:
		errors.As(what.Err, &found) // a check that says more than its text
		found.Detail = l.Text(tree)
	default:
		found.Detail = l.Text(tree)
	}
	return found
}

func (d *Definitions) fields(schemaURL string) []string {
	_, fragment, _ := strings.Cut(schemaURL, "#/")
	properties, _ := schema.ValueAt(d.document, append(strings.Split(fragment, "/"), "properties")).(map[string]any)
	var known []string
	for name, schema := range properties {
		if schema != false {
			known = append(known, name)
		}
	}
	slices.Sort(known)
	return known
}
