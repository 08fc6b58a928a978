package repositories

import (
	_ "embed" // for the schema
	"encoding/json"
	"slices"
	"sync"

	"earshot/repositories/bodies"
	"earshot/repositories/parameters"
)

//go:embed definition.schema.json
var definitionSchema []byte

// DefinitionSchema returns the JSON Schema (draft 2020-12) of everything that can be
// registered, one $defs entry for each: App, Repository, Patch, Tool and their parts. Rules
// that it cannot express, such as that a module exists, are checked in Go.
func DefinitionSchema() json.RawMessage { return slices.Clone(definitionSchema) }

var loadDefinitions = sync.OnceValue(func() *bodies.Definitions {
	d := bodies.Compile(definitionSchema, formats)
	d.Quiet, d.Absent, d.Instead = true, true, instead
	return d
})

// instead names the alternative to a field that is not supported.
var instead = map[string]string{
	"allowedIpRanges":       "which addresses may be reached is the operator's decision (EARSHOT_PRIVATE_URLS)",
	"customBlockedIpRanges": "which addresses may be reached is the operator's decision (EARSHOT_PRIVATE_URLS)",
	"allowPrivateNetworks":  "which addresses may be reached is the operator's decision (EARSHOT_PRIVATE_URLS)",
	"queryExecMode":         "statements are always described by the database and run with bound values",
	"scopesRequired":        "list authentication services in authRequired",
}

// decoding reads one of our definitions.
type decoding struct {
	*bodies.Body
	// patterns bounds the regular expressions of all tools of the body together.
	patterns parameters.Budget
}

// decode reads a body that is to be the named definition. It returns nil where the
// body is no JSON.
func decode(name string, body []byte) (*decoding, error) {
	given := &functions{}
	read, err := loadDefinitions().ReadMoved(name, body, given.move)
	if err != nil {
		return nil, err
	}
	for _, one := range given.faults {
		read.Add(one.Pointer, "%s", one.Detail)
	}
	return &decoding{Body: read}, nil
}
