package bodies

import (
	"bytes"
	_ "embed" // for the schema
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	finding "github.com/santhosh-tekuri/jsonschema/v6/kind"

	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/schema"
)

// Definitions are the compiled JSON Schemas of a document, by name. They read all bodies in
// the same way: every fault at once with its place, unknown fields with the nearest known
// name, numbers with the digits that were sent. They are safe for concurrent use.
type Definitions struct {
	document map[string]any
	compiled map[string]*jsonschema.Schema
	// Quiet keeps a value of the wrong type out of its fault: where credentials
	// belong, it may be one in the wrong place.
	Quiet bool
	// Instead says what there is in place of a field that is not supported.
	Instead map[string]string
	// Absent says that null in an optional field is the same as leaving it out, where null has
	// no meaning of its own, and so is an empty text where the field takes none.
	Absent bool
}

// leaveOut takes away the fields of a body that count as absent, and reports whether there are
// any.
func (d *Definitions) leaveOut(name string, tree any) bool {
	return d.Absent && leaveOut(d.compiled[name], tree)
}

// leaveOut looks at an object and all that is described of what is in it.
func leaveOut(known *jsonschema.Schema, tree any) (found bool) {
	if known == nil {
		return false
	}
	for _, part := range slices.Concat([]*jsonschema.Schema{known.Ref}, known.AllOf, known.AnyOf, known.OneOf) {
		found = leaveOut(part, tree) || found
	}
	switch value := tree.(type) {
	case map[string]any:
		for field, inner := range value {
			if absent(known, field, inner) {
				delete(value, field)
				found = true
			} else {
				found = leaveOut(known.Properties[field], inner) || found
			}
		}
	case []any:
		for _, item := range value {
			found = leaveOut(known.Items2020, item) || found
		}
	}
	return found
}

// absent reports whether the value of a field is none: null or an empty text in an optional
// field that does not take it.
func absent(known *jsonschema.Schema, field string, value any) bool {
	property := known.Properties[field]
	if property == nil || slices.Contains(known.Required, field) || value != nil && value != "" {
		return false
	}
	return property.Validate(value) != nil
}

const definitionURL = "earshot:///definition"

// Compile compiles a JSON Schema (draft 2020-12) that has one $defs entry for each
// kind of body. A format "earshot-NAME" in it calls the function of that name, whose
// error becomes the detail of a fault. It panics where the schema does not compile:
// a schema is part of the program.
func Compile(schema []byte, formats map[string]func(string) error) *Definitions {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		panic(fmt.Sprintf("an embedded schema: %v", err))
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	for name, check := range formats {
		compiler.RegisterFormat(&jsonschema.Format{Name: "earshot-" + name, Validate: ofString(check)})
	}
	if err := compiler.AddResource(definitionURL, document); err != nil {
		panic(fmt.Sprintf("an embedded schema: %v", err))
	}
	d := &Definitions{document: document.(map[string]any), compiled: map[string]*jsonschema.Schema{}}
	for name := range d.document["$defs"].(map[string]any) {
		d.compiled[name] = compiler.MustCompile(definitionURL + "#/$defs/" + name)
	}
	return d
}

// ofString makes a format of a rule about strings; it ignores other types.
func ofString(check func(string) error) func(any) error {
	return func(value any) error {
		text, ok := value.(string)
		if !ok {
			return nil
		}
		return check(text)
	}
}

// text puts a violation into words: what this version does not know yet, misspelt fields
// and words with the nearest known one, and the rest as for any value.
func (d *Definitions) text(l schema.Violation, tree any) string {
	last := ""
	if len(l.At) > 0 {
		last = l.At[len(l.At)-1]
	}
	switch what := l.Cause.ErrorKind.(type) {
	case *finding.FalseSchema:
		return d.unsupported(last)
	case *finding.AdditionalProperties:
		return fmt.Sprintf("unknown field %q%s", fault.Clip(last), fault.DidYouMean(last, d.fields(l.Cause.SchemaURL)))
	case *finding.Enum:
		got, _ := what.Got.(string)
		return fault.Show(what.Got) + " is not one of " + fault.ShowAll(what.Want) + fault.DidYouMean(got, stringsOf(what.Want))
	case *finding.Type:
		if !d.Quiet {
			return l.Text(tree)
		}
		return "is " + schema.Article(what.Got) + ", not " + schema.Articles(what.Want)
	case *finding.Required:
		return "is missing"
	case *finding.MinLength:
		return "is empty"
	default:
		return l.Text(tree)
	}
}

// fields returns the names of the fields that a definition knows.
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

// unsupported names what this version cannot do, and what there is instead.
func (d *Definitions) unsupported(field string) string {
	text := fault.Show(field) + " is not supported yet by this version"
	if hint := d.Instead[field]; hint != "" {
		return text + "; " + hint
	}
	return text
}

func stringsOf(values []any) []string {
	var texts []string
	for _, value := range values {
		if text, ok := value.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// Decode reads a body that is to be of the named kind into target, by its JSON tags.
// All that is wrong with the body is returned at once, as a fault.List. The definition
// must be closed: a field that it does not name could be taken for one that differs in case.
func (d *Definitions) Decode(name string, body []byte, target any) error {
	reading, err := d.Read(name, body)
	if err != nil {
		return err
	}
	if reading.Faultless() && !reading.without && exactjson.Unmarshal(body, target) == nil {
		return nil
	}
	reading.Into(target)
	return reading.Err()
}
