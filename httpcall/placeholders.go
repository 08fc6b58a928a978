package httpcall

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/trigger/effect"
)

// variables holds the parameters that placeholders may name, and the known values.
type variables struct {
	values   map[string]any
	declared map[string]bool
}

// appIDName is the placeholder of the app's id. No value overrides it.
const appIDName = "appId"

// declaredIn returns the names of all parameters of a trigger event, including those without a value; none for
// an unknown schema.
func declaredIn(event json.RawMessage) map[string]bool {
	var read struct {
		Schema json.RawMessage `json:"schema"`
	}
	if json.Unmarshal(event, &read) != nil {
		return nil
	}
	declared := map[string]bool{}
	var list []struct{ Parameter, Name string }
	if json.Unmarshal(read.Schema, &list) == nil {
		for _, entry := range list {
			declared[cmp.Or(entry.Parameter, entry.Name)] = true
		}
		return declared
	}
	var object struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(read.Schema, &object)
	for name := range object.Properties {
		declared[name] = true
	}
	return declared
}

// value returns the value of a parameter; null counts as absent.
func (v *variables) value(name string) (any, bool) {
	value := v.values[name]
	return value, value != nil
}

// templatePart is literal text or a placeholder.
type templatePart struct {
	text string // as in the template
	name string // of the parameter; empty for literal text
	// known reports that the tool has this parameter, with or without a value.
	known bool
}

// scan splits a template into its parts. A placeholder is a colon with the longest known name. A name is a run
// of letters, digits, _ and -, or its part before a hyphen: :id never matches in :idCard, and :id-x is id
// unless id-x is known. Other runs are unknown names, unless they begin with a digit: 12:30 is text.
func (v *variables) scan(template string) []templatePart {
	var parts []templatePart
	for template != "" {
		next := templatePart{text: template}
		switch colon := strings.IndexByte(template, ':'); {
		case colon == 0:
			run := template[1 : len(template)-len(strings.TrimLeft(template[1:], nameCharacters))]
			next.text = template[:1+len(run)]
			if run != "" && (run[0] < '0' || run[0] > '9') {
				next.name = run
			}
			for end := len(run); end > 0 && !next.known; end-- {
				if _, valued := v.values[run[:end]]; (end == len(run) || run[end] == '-') && (valued || v.declared[run[:end]]) {
					next = templatePart{text: template[:1+end], name: run[:end], known: true}
				}
			}
		case colon > 0:
			next.text = template[:colon]
		}
		parts = append(parts, next)
		template = template[len(next.text):]
	}
	return parts
}

const nameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// maxURLBytes bounds a path or a query. Servers commonly accept a request line of 8 KiB.
const maxURLBytes = 16 << 10

// fillURL fills the path and the query of a tool's URL. Values cannot change scheme, user, host or port. A
// fragment is dropped.
func fillURL(template string, names *variables) (*url.URL, error) {
	target, err := url.Parse(template)
	if err != nil {
		return nil, effect.Permanent(effect.ReasonRequest,
			"the tool's url cannot be read; its scheme, host and port must be literal, as in https://host:8443/path/:param")
	}
	if !isHTTP(target) {
		return nil, effect.Permanent(effect.ReasonRequest, "the tool's url must be an http or https URL with a host, as https://host/path")
	}
	segments, size := strings.Split(target.EscapedPath(), "/"), 0
	for i := range segments {
		if segments[i], err = names.fillSegment(segments[i]); err != nil {
			return nil, err
		}
		if size += len(segments[i]) + 1; size > maxURLBytes {
			return nil, effect.Permanent(effect.ReasonRequest, "the values make the path of the url longer than %d bytes", maxURLBytes)
		}
	}
	path := strings.Join(segments, "/")

	// A parameter without a value is empty in the query. So is an unknown name at the start of a key or value;
	// elsewhere, as in status:open, it is text.
	var query strings.Builder
	begins := true
	for _, part := range names.scan(target.RawQuery) {
		value, there := names.value(part.name)
		switch {
		case part.name == "", !part.known && !begins:
			query.WriteString(part.text)
		case there:
			query.WriteString(url.QueryEscape(textOf(value)))
		}
		begins = strings.HasSuffix(part.text, "=") || strings.HasSuffix(part.text, "&")
		if query.Len() > maxURLBytes {
			return nil, effect.Permanent(effect.ReasonRequest, "the values make the query of the url longer than %d bytes", maxURLBytes)
		}
	}
	target.RawPath, target.RawQuery, target.Fragment, target.RawFragment = path, query.String(), "", ""
	if target.Path, err = url.PathUnescape(path); err != nil {
		return nil, effect.Permanent(effect.ReasonRequest, "the path of the tool's url has an invalid percent escape")
	}
	return target, nil
}

// fillSegment fills one segment of an escaped path. It refuses a value that makes it empty, "." or "..", which
// would change the path (RFC 3986 5.2.4), also between slashes: many servers unescape these before they resolve a path.
func (v *variables) fillSegment(segment string) (string, error) {
	var b strings.Builder
	last := ""
	for _, part := range v.scan(segment) {
		if part.name == "" {
			b.WriteString(part.text)
			continue
		}
		value, there := v.value(part.name)
		if !there {
			return "", effect.Permanent(effect.ReasonRequest,
				"parameter %q has no value, and the path of the url needs one (a colon that is meant literally is written %%3A)", part.name)
		}
		last = part.name
		b.WriteString(url.PathEscape(textOf(value)))
		if b.Len() > maxURLBytes {
			break
		}
	}
	filled := b.String()
	if plain, _ := url.PathUnescape(filled); last != "" && (plain == "" || repositories.DotSegment(plain) != "") {
		return "", effect.Permanent(effect.ReasonRequest, "the value of parameter %q makes a segment of the url's path %q, which would change the path", last, plain)
	}
	return filled, nil
}

// maxBodyBytes bounds a filled body.
const maxBodyBytes = 1 << 20

// fillBody fills a decoded JSON template, so that no value can leave its string. A string that is only a
// placeholder becomes the typed value, or null. Member names are unchanged.
func (v *variables) fillBody(template json.RawMessage) ([]byte, error) {
	tree, err := exactjson.Decode(template)
	if errors.Is(err, exactjson.ErrMore) {
		return nil, effect.Permanent(effect.ReasonRequest, "request.body is more than one JSON value")
	} else if err != nil {
		return nil, effect.Permanent(effect.ReasonRequest, "request.body is not JSON")
	}
	left := maxBodyBytes
	filled := v.fillNode(tree, &left)
	if left < 0 {
		return nil, effect.Permanent(effect.ReasonRequest, "the values make the body longer than %d bytes", maxBodyBytes)
	}
	return exactjson.EncodeOrNull(filled), nil
}

// fillNode fills a part of a body, until left bytes are used up.
func (v *variables) fillNode(node any, left *int) any {
	switch node := node.(type) {
	case []any:
		for i := range node {
			node[i] = v.fillNode(node[i], left)
		}
	case map[string]any:
		for name := range node {
			node[name] = v.fillNode(node[name], left)
		}
	case string:
		parts := v.scan(node)
		if len(parts) == 1 && parts[0].name != "" {
			value, _ := v.value(parts[0].name)
			*left -= len(exactjson.EncodeOrNull(value))
			return value
		}
		var b strings.Builder
		for i := 0; i < len(parts) && *left >= 0; i++ {
			text := parts[i].text
			if parts[i].known {
				text = ""
				if value, there := v.value(parts[i].name); there {
					text = textOf(value)
				}
				*left -= len(text)
			}
			b.WriteString(text)
		}
		return b.String()
	}
	return node
}

// textOf renders strings unchanged, and other values as compact JSON with the digits of numbers.
func textOf(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	return string(exactjson.EncodeOrNull(value))
}

// maxEscape is the length of the longest escape, a surrogate pair of JSON.
const maxEscape = 12

// unescape decodes the escape at the beginning of a text: percent-encoding, one of JSON or of HTML. Its size is 0 if
// there is none.
func unescape(text string) (plain string, size int) {
	if text == "" {
		return "", 0
	}
	switch text[0] {
	case '%':
		if code, ok := hexAt(text, 1, 2); ok {
			return string([]byte{byte(code)}), 3
		}
	case '+': // in a query
		return " ", 1
	case '\\':
		return unescapeJSON(text)
	case '&':
		return unescapeHTML(text)
	}
	return "", 0
}

// jsonEscapes are the characters that JSON and the literals of other languages write behind a backslash.
var jsonEscapes = map[byte]string{
	'"': `"`, '\\': `\`, '/': "/", '\'': "'", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t",
}

func unescapeJSON(text string) (plain string, size int) {
	if len(text) < 2 {
		return "", 0
	}
	if text[1] != 'u' {
		plain = jsonEscapes[text[1]]
		return plain, 2 * len(plain) // each is one byte
	}
	code, ok := hexAt(text, 2, 4)
	if !ok {
		return "", 0
	}
	if low, paired := hexAt(text, 8, 4); paired && text[6:8] == `\u` {
		if both := utf16.DecodeRune(rune(code), rune(low)); both != utf8.RuneError {
			return string(both), maxEscape
		}
	}
	return string(rune(code)), 6
}

// htmlEntities are those that escape characters of markup.
var htmlEntities = map[string]string{"quot": `"`, "amp": "&", "lt": "<", "gt": ">", "apos": "'"}

func unescapeHTML(text string) (plain string, size int) {
	name, _, ends := strings.Cut(text[1:min(len(text), maxEscape)], ";")
	if !ends {
		return "", 0
	}
	number, numeric := strings.CutPrefix(name, "#")
	if !numeric {
		if plain = htmlEntities[name]; plain == "" {
			return "", 0
		}
		return plain, len(name) + 2
	}
	base := 10
	if len(number) > 0 && (number[0] == 'x' || number[0] == 'X') {
		number, base = number[1:], 16
	}
	code, err := strconv.ParseUint(number, base, 21)
	if err != nil {
		return "", 0
	}
	return string(rune(code)), len(name) + 2
}

// hexAt reads digits of a text as a hexadecimal number.
func hexAt(text string, at, digits int) (code uint64, ok bool) {
	if len(text) < at+digits {
		return 0, false
	}
	code, err := strconv.ParseUint(text[at:at+digits], 16, 32)
	return code, err == nil
}

// endsInEscape reports whether a text, the end of a longer one, is the beginning of an escape or a character that
// was cut.
func endsInEscape(text string) bool {
	if text == string(utf8.RuneError) {
		return true
	}
	return len(text) < maxEscape && strings.ContainsAny(text[:1], `%\&`) && !strings.ContainsAny(text[1:], " \"<;")
}
