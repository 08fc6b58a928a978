package earshot

import (
	"encoding/json"
)

// Parameter is a parameter of a tool, in a list. Lists in Schema name it by Parameter, all others
// by Name.
type Parameter struct {
	// Name of the parameter.
	Name string `json:"name,omitempty"`
	// Name of the parameter.
	Parameter string `json:"parameter,omitempty"`
	// What the value is: string, number (any), integer, float (a number, too), boolean, object, array
	// (items says of what) or map (an object whose values are all of valueType).
	Type string `json:"type"`
	// Other words for allowed values, by the value: an alias becomes it, whoever says it.
	Aliases map[string][]string `json:"aliases,omitempty"`
	// An entry equals the value, or as RE2 matches all of it.
	AllowedValues []any `json:"allowedValues,omitempty"`
	// What a user is asked where a call lacks it.
	Ask string `json:"ask,omitempty"`
	// The value comes from a verified ID token: the claim of the first of these services that is
	// verified.
	AuthServices []Claim `json:"authServices,omitempty"`
	// Used where no value is given; null is none.
	Default any `json:"default,omitempty"`
	// What the value is, for the model.
	Description string `json:"description,omitempty"`
	// Puts the value between delimiters and doubles a closing one inside it.
	Escape string `json:"escape,omitempty"`
	// An entry equals the value, or as RE2 matches any part of it.
	ExcludedValues []any `json:"excludedValues,omitempty"`
	// The form of a string by ISO 8601; words of users become it.
	Format string `json:"format,omitempty"`
	// What a model says for it has to stand in the conversation. Default: false.
	Grounded bool `json:"grounded,omitempty"`
	// Never shown to a model nor taken from it. Default: false.
	Ignore bool `json:"ignore,omitempty"`
	// What the members of an array are.
	Items *Parameter `json:"items,omitempty"`
	// Greatest value of a number.
	MaxValue json.Number `json:"maxValue,omitempty"`
	// Least value of a number.
	MinValue json.Number `json:"minValue,omitempty"`
	// true: the tool fires only with a value. Default: false.
	Required *bool `json:"required,omitempty"`
	// What a number counts: an amount in another unit is converted.
	Unit string `json:"unit,omitempty"`
	// A static value; it always wins.
	Value any `json:"value,omitempty"`
	// Type of the values of a map; anything where it is missing.
	ValueType string `json:"valueType,omitempty"`
}

// Claim is where in a verified ID token a value stands.
type Claim struct {
	// Name of one of the app's authServices: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit.
	Name string `json:"name"`
	// The claim of the ID token whose value is taken; a dotted path leads into objects, as
	// address.country.
	Field string `json:"field"`
}
