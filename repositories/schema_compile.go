package repositories

import (
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"earshot/repositories/fault"
)

// schemaURL names the schema of a tool's parameters while it is compiled; its scheme
// is one that nothing can be loaded from.
const schemaURL = "earshot:///parameters"

// noLoader refuses every reference that leaves the schema: what a tool means must
// not depend on who answers under a URL, nor make the service ask there.
type noLoader struct{}

// Load implements jsonschema.URLLoader.
func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%w: %s", errRemote, fault.Clip(url))
}

var errRemote = errors.New("references to other documents are refused")

// compileSchema compiles a JSON Schema, draft 2020-12 unless it names another. The
// faults' pointers begin at the tool.
func compileSchema(document map[string]any, with *patterns) (*jsonschema.Schema, fault.List) {
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(noLoader{})
	compiler.UseRegexpEngine(with.engine)
	if err := compiler.AddResource(schemaURL, document); err != nil {
		return nil, schemaFaults(err, document)
	}
	compiled, err := compiler.Compile(schemaURL)
	if err != nil {
		return nil, schemaFaults(err, document)
	}
	if cost := schemaCost(compiled); cost > mostSchemaCost {
		return nil, fault.List{{Pointer: fault.Point("parameters"), Detail: "is too costly to check: its $ref, allOf, anyOf and oneOf multiply"}}
	}
	return compiled, nil
}

// schemaFaults says what the compiler has against a schema.
func schemaFaults(err error, document any) fault.List {
	var invalid *jsonschema.SchemaValidationError
	var regex *jsonschema.InvalidRegexError
	var remote *jsonschema.LoadURLError
	var faults fault.List
	switch {
	case errors.As(err, &invalid):
		for _, leaf := range leaves(invalid.Err) {
			faults.Add(fault.Point("parameters")+fault.Point(tokens(leaf.at)...), "is not JSON Schema: %s", leaf.text(document))
		}
		return faults
	case errors.As(err, &regex):
		faults.Add(fault.Point("parameters"), "the pattern %s does not compile as RE2: %s", fault.Show(regex.Regex), fault.Clip(regex.Err.Error()))
	case errors.As(err, &remote):
		faults.Add(fault.Point("parameters"), "the reference to %s is refused: a schema is complete in itself, with $defs", fault.Show(remote.URL))
	default:
		text := strings.ReplaceAll(err.Error(), schemaURL, "parameters")
		faults.Add(fault.Point("parameters"), "is not JSON Schema: %s", fault.Clip(text))
	}
	return faults
}

func tokens(at []string) []any {
	list := make([]any, len(at))
	for i := range at {
		list[i] = at[i]
	}
	return list
}
