package repositories

import (
	"bytes"
	_ "embed" // for the schema
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	finding "github.com/santhosh-tekuri/jsonschema/v6/kind"

	"earshot/repositories/fault"
)

//go:embed definition.schema.json
var definitionSchema []byte

// DefinitionSchema returns the JSON Schema (draft 2020-12) of everything that can be
// registered, one $defs entry for each: App, Repository, Patch, Tool and their parts.
// What it cannot say, such as that a module exists, the decoders check beside it.
func DefinitionSchema() json.RawMessage { return slices.Clone(definitionSchema) }

// definitions are the compiled schemas, by name, and the document that they are in.
type definitions struct {
	document map[string]any
	compiled map[string]*jsonschema.Schema
	// quiet keeps a value of the wrong type out of its fault: where credentials
	// belong, it may be one in the wrong place.
	quiet bool
}

const definitionURL = "earshot:///definition"

var loadDefinitions = sync.OnceValue(func() *definitions {
	d := compile(definitionSchema, formats)
	d.quiet = true
	return d
})

// compile compiles every $defs entry of a schema. The schema is part of the program,
// hence a mistake in it panics.
func compile(schema []byte, formats map[string]func(string) error) *definitions {
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
	d := &definitions{document: document.(map[string]any), compiled: map[string]*jsonschema.Schema{}}
	for name := range d.document["$defs"].(map[string]any) {
		d.compiled[name] = compiler.MustCompile(definitionURL + "#/$defs/" + name)
	}
	return d
}

// ofString makes a format of a rule about strings; other types are none of its
// business.
func ofString(check func(string) error) func(any) error {
	return func(value any) error {
		text, ok := value.(string)
		if !ok {
			return nil
		}
		return check(text)
	}
}

// text puts a leaf into words: what this version does not know yet, misspelt fields
// and words with the nearest known one, and the rest as for any value.
func (d *definitions) text(l leaf, tree any) string {
	last := ""
	if len(l.at) > 0 {
		last = l.at[len(l.at)-1]
	}
	switch what := l.cause.ErrorKind.(type) {
	case *finding.FalseSchema:
		return unsupported(last)
	case *finding.AdditionalProperties:
		return fmt.Sprintf("unknown field %q%s", fault.Clip(last), fault.DidYouMean(last, d.fields(l.cause.SchemaURL)))
	case *finding.Enum:
		got, _ := what.Got.(string)
		return fault.Show(what.Got) + " is not one of " + fault.ShowAll(what.Want) + fault.DidYouMean(got, stringsOf(what.Want))
	case *finding.Type:
		if !d.quiet {
			return l.text(tree)
		}
		return "is " + article(what.Got) + ", not " + articles(what.Want)
	case *finding.Required:
		return "is missing"
	case *finding.MinLength:
		return "is empty"
	default:
		return l.text(tree)
	}
}

// fields returns the names of the fields that a definition knows.
func (d *definitions) fields(schemaURL string) []string {
	_, fragment, _ := strings.Cut(schemaURL, "#/")
	properties, _ := valueAt(d.document, append(strings.Split(fragment, "/"), "properties")).(map[string]any)
	var known []string
	for name, schema := range properties {
		if schema != false {
			known = append(known, name)
		}
	}
	slices.Sort(known)
	return known
}

// instead says what there is in place of a field that is not supported.
var instead = map[string]string{
	"allowedIpRanges":       "which addresses may be reached is the operator's decision (EARSHOT_PRIVATE_URLS)",
	"customBlockedIpRanges": "which addresses may be reached is the operator's decision (EARSHOT_PRIVATE_URLS)",
	"allowPrivateNetworks":  "which addresses may be reached is the operator's decision (EARSHOT_PRIVATE_URLS)",
	"queryExecMode":         "statements are always described by the database and run with bound values",
	"scopesRequired":        "list authentication services in authRequired",
}

// unsupported names what this version cannot do, and what there is instead.
func unsupported(field string) string {
	text := fault.Show(field) + " is not supported yet by this version"
	if hint := instead[field]; hint != "" {
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
