package mcp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"earshot/repositories"
	"earshot/repositories/exactjson"
)

// A property of a tool's JSON Schema may name a header by x-mcp-header, in which a client repeats
// its value for those who route by it (SEP-2243). Whoever looks at the header has to see what the
// tool gets, so that a call in which they differ is refused.

const (
	headerKeyword = "x-mcp-header"
	headerPrefix  = "Mcp-Param-"
)

// mirrored is a value that a header repeats.
type mirrored struct {
	path   []string // of the value in the arguments
	header string
}

// mirroredForm is the key under which those of a tool are kept.
type mirroredForm struct{}

// mirroredBy lists the values of a tool that headers repeat; few tools have any.
func mirroredBy(of *repositories.Tool) []mirrored {
	return of.Params().Derived(mirroredForm{}, func() any {
		text := of.Params().ModelSchema()
		var list []mirrored
		if strings.Contains(string(text), headerKeyword) {
			list = mirroredIn(text, nil)
		}
		return list
	}).([]mirrored)
}

func mirroredIn(text json.RawMessage, path []string) (list []mirrored) {
	var of struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(text, &of) != nil {
		return nil
	}
	for name, property := range of.Properties {
		at := append(slices.Clone(path), name)
		var says struct {
			Header string `json:"x-mcp-header"`
		}
		if json.Unmarshal(property, &says) == nil && says.Header != "" {
			list = append(list, mirrored{at, headerPrefix + says.Header})
		}
		list = append(list, mirroredIn(property, at)...)
	}
	return list
}

// vetHeaders refuses a call of which a header says something else than its arguments.
func (x *exchange) vetHeaders(of *repositories.Tool) error {
	if !x.request.modern || x.wrapped {
		return nil
	}
	for _, m := range mirroredBy(of) {
		value := valueAt(x.request.Params.Arguments, m.path)
		if fault := disagrees(x.c.Request().Header, m.header, value); fault != "" {
			return &rpcError{Code: codeHeaderMismatch, Message: fmt.Sprintf("the header %s %s argument %s", m.header, fault, strings.Join(m.path, "."))}
		}
	}
	return nil
}

// valueAt is the value at a path; nil for none.
func valueAt(arguments map[string]any, path []string) any {
	value := any(arguments)
	for _, name := range path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}

// disagrees says how a header differs from the value that it is to repeat; empty where it does not.
func disagrees(header http.Header, name string, value any) string {
	sent, has := header[http.CanonicalHeaderKey(name)]
	switch {
	case value == nil && has:
		return "is there, and there is no"
	case value == nil:
		return ""
	case len(sent) != 1 || sent[0] == "":
		return "is missing, which is to repeat"
	}
	text, whole := headerText(sent[0])
	if !whole {
		return "is no good Base64 of"
	}
	if !repeats(text, value) {
		return "says something else than"
	}
	return ""
}

// headerText is what a header says: a text that cannot stand in one is in Base64.
func headerText(sent string) (text string, whole bool) {
	coded, is := strings.CutPrefix(sent, "=?base64?")
	if !is || !strings.HasSuffix(coded, "?=") {
		return sent, true
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(coded, "?="))
	return string(raw), err == nil
}

func repeats(text string, value any) bool {
	switch value := value.(type) {
	case string:
		return text == value
	case bool:
		return text == fmt.Sprint(value)
	case json.Number:
		said, isNumber := exactjson.ParseDecimal(text)
		is, _ := exactjson.ParseDecimal(value.String())
		return isNumber && said.Whole() && said.Compare(is) == 0
	}
	return false
}
