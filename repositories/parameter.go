package repositories

import (
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"earshot/repositories/fault"
)

// kind is the type of a parameter, in the words of the lists.
type kind string

const (
	kindString  kind = "string"
	kindNumber  kind = "number"
	kindInteger kind = "integer"
	kindFloat   kind = "float"
	kindBoolean kind = "boolean"
	kindObject  kind = "object"
	kindArray   kind = "array"
	kindMap     kind = "map"
)

func (k kind) numeric() bool { return k == kindNumber || k == kindInteger || k == kindFloat }

func (k kind) mapping() bool { return k == kindObject || k == kindMap }

// parameter is the compiled form of one parameter. The rules are those of its list;
// a property of a JSON Schema has its rules in the schema.
type parameter struct {
	name        string
	place       string // in the tool, as a JSON Pointer
	description string
	kind        kind
	required    bool // and without default
	ignored     bool
	grounded    bool // a model's value has to stand in the conversation
	claims      []claim
	pasted      bool // into a statement

	fallback *fixed // default
	static   *fixed // value

	allowed  []entry
	excluded []entry
	least    *bound
	most     *bound
	escape   string
	items    *parameter // of an array
	values   *parameter // of a map with valueType; nil where anything goes

	// property is the schema of a parameter that is a property of a JSON Schema, and
	// nil for the lists.
	property *jsonschema.Schema
	nullable bool // the property may be null
	refused  any  // its default, where its own schema refuses it
}

// claim names a field of a verified ID token: authServices.
type claim struct {
	Service string `json:"name"`
	Field   string `json:"field"`
}

// fixed is a value of the definition: as it was given, and as it is handed on.
type fixed struct{ given, used any }

// bound is minValue or maxValue: as it was given, and to compare with.
type bound struct {
	given  string
	number decimal
}

// hidden reports whether a model neither sees the parameter nor fills it.
func (p *parameter) hidden() bool {
	return p.ignored || p.static != nil || len(p.claims) > 0
}

// services names the services whose tokens fill the parameter.
func (p *parameter) services() string {
	names := make([]string, len(p.claims))
	for i := range p.claims {
		names[i] = p.claims[i].Service
	}
	return strings.Join(names, " or ")
}

// flaw is one thing that is wrong with a value, and where inside it: a path such as
// [2].day, empty for the value itself.
type flaw struct{ at, detail string }

// faultsOf turns flaws of the parameter's value into faults of a call.
func (p *parameter) faultsOf(flaws []flaw) []ValueFault {
	faults := make([]ValueFault, len(flaws))
	for i, flaw := range flaws {
		faults[i] = ValueFault{Parameter: p.name, Detail: flaw.detail}
		if flaw.at != "" {
			faults[i].Detail = p.name + flaw.at + ": " + flaw.detail
		}
	}
	return faults
}

func index(at string, i int) string { return fmt.Sprintf("%s[%d]", at, i) }

func member(at, key string) string { return at + "." + fault.Clip(key) }
