package mcpclient

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"

	"earshot/repositories/exactjson"
)

// property is what is read of a property of a schema.
type property struct {
	Header     string              `json:"x-mcp-header"`
	Properties map[string]property `json:"properties"`
}

// headersOf returns the headers in which a call repeats arguments: those whose property has an
// x-mcp-header (revision 2026-07-28). The SDK makes them for tools that its session has listed,
// and ours mostly have not.
func headersOf(schema, arguments json.RawMessage) map[string]string {
	var root property
	if !strings.Contains(string(schema), "x-mcp-header") || json.Unmarshal(schema, &root) != nil {
		return nil
	}
	values, err := exactjson.Decode(arguments)
	if err != nil {
		return nil
	}
	headers := map[string]string{}
	root.collect(values, headers)
	return headers
}

func (p property) collect(value any, into map[string]string) {
	object, _ := value.(map[string]any)
	for name, below := range p.Properties {
		argument, given := object[name]
		if text, plain := headerText(argument); given && plain && below.Header != "" {
			into["Mcp-Param-"+below.Header] = text
		}
		below.collect(argument, into)
	}
}

// Integers that every JSON parser reads exactly.
const (
	maxSafeInteger = 1<<53 - 1
	minSafeInteger = -maxSafeInteger
)

// headerText writes a text, a boolean or an integer for a header.
func headerText(value any) (string, bool) {
	switch value := value.(type) {
	case string:
		return escaped(value), true
	case bool:
		return strconv.FormatBool(value), true
	case json.Number:
		n, err := strconv.ParseInt(value.String(), 10, 64)
		return value.String(), err == nil && n >= minSafeInteger && n <= maxSafeInteger
	}
	return "", false
}

// The form of texts that a header cannot hold as they are.
const (
	escapePrefix = "=?base64?"
	escapeSuffix = "?="
)

// escaped writes a text as it is, or in base64 where it could be read as another.
func escaped(text string) string {
	looksEscaped := strings.HasPrefix(text, escapePrefix) && strings.HasSuffix(text, escapeSuffix)
	beyond := strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 || r > 0x7e })
	if !looksEscaped && !beyond && strings.Trim(text, " \t") == text {
		return text
	}
	return escapePrefix + base64.StdEncoding.EncodeToString([]byte(text)) + escapeSuffix
}
