package files

import (
	"fmt"
	"math"
	"regexp"
	"strconv"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// jsonNumber is a number as JSON writes it. YAML's parser takes some of them, as 1e3
// and integers of more than 64 bits, for texts.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// scalar reads a value of one line. A placeholder that is all of an unquoted value is
// read as what it stands for: ${PORT} can be a number, "${PORT}" is a text.
func (r *yamlReader) scalar(from ast.Node, at position) *node {
	t := from.GetToken()
	if _, is := from.(*ast.NullNode); is {
		return &node{at: at, unquoted: plainNull(t)}
	}
	before := len(*r.faults)
	filled, whole := r.env.fillMasked(t.Value, r.faults)
	if len(*r.faults) > before {
		return &node{kind: text, at: at, unset: true}
	}
	if quoted(t) || filled != t.Value && !whole {
		return newText(filled, at)
	}
	if r.env.lookup == nil && whole {
		return &node{kind: text, text: filled, unquoted: filled, at: at}
	}
	made, err := resolve(filled, at)
	if err != nil {
		r.faults.add(at, "%s", err)
	}
	return made
}

func quoted(t *token.Token) bool {
	return t.Type == token.SingleQuoteType || t.Type == token.DoubleQuoteType
}

// plainNull is how a null is written, where it is.
func plainNull(t *token.Token) string {
	if t.Type == token.NullType {
		return t.Value
	}
	return ""
}

// resolve reads an unquoted text as YAML's core schema does.
func resolve(plain string, at position) (*node, error) {
	made := &node{kind: text, text: plain, at: at, unquoted: plain}
	switch plain {
	case "", "~", "null", "Null", "NULL":
		made.kind, made.text = null, ""
		return made, nil
	case "true", "True", "TRUE":
		made.kind, made.text = boolean, "true"
		return made, nil
	case "false", "False", "FALSE":
		made.kind, made.text = boolean, "false"
		return made, nil
	case ".inf", ".Inf", ".INF", "+.inf", "-.inf", "-.Inf", "-.INF", ".nan", ".NaN", ".NAN":
		return made, fmt.Errorf("%s is no number that JSON can hold", plain)
	}
	if jsonNumber.MatchString(plain) {
		made.kind = number
		return made, nil
	}
	if literal := literalOf(token.ToNumber(plain)); literal != "" {
		made.kind, made.text = number, literal
	}
	return made, nil
}

// literalOf writes a number that YAML has another form of, as 0x1F or 1_000.
func literalOf(found *token.NumberValue) string {
	if found == nil {
		return ""
	}
	switch value := found.Value.(type) {
	case int64:
		return strconv.FormatInt(value, 10)
	case uint64:
		return strconv.FormatUint(value, 10)
	case float64:
		if math.IsInf(value, 0) || math.IsNaN(value) {
			return ""
		}
		return strconv.FormatFloat(value, 'g', -1, 64)
	}
	return ""
}
