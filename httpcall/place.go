package httpcall

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"net/url"
	"strings"

	"earshot/repositories"
	"earshot/repositories/template"
)

// pathPlace is a path with a query behind it: a value can neither end the part that it
// stands in nor begin another.
type pathPlace struct{ inQuery bool }

// Literal notes where the query begins.
func (p *pathPlace) Literal(text string) string {
	p.inQuery = p.inQuery || strings.Contains(text, "?")
	return text
}

// Paste escapes a value. A colon is escaped as well, since in a first segment it would
// end a scheme (RFC 3986 4.2).
func (p *pathPlace) Paste(value any) (string, error) {
	text := pastedText(value)
	if p.inQuery {
		return url.QueryEscape(text), nil
	}
	if text == "" {
		return "", errors.New("there is no value, and the path needs one")
	}
	return strings.ReplaceAll(url.PathEscape(text), ":", "%3A"), nil
}

// placeIn returns the place of a body of a kind.
func placeIn(kind string) template.Place {
	switch kind {
	case repositories.BodyJSON:
		return &jsonPlace{}
	case repositories.BodyForm:
		return escapedPlace(url.QueryEscape)
	case repositories.BodyXML:
		return escapedPlace(escapeXML)
	default:
		return escapedPlace(func(text string) string { return text })
	}
}

// escapedPlace is a text in which every value is escaped in one way.
type escapedPlace func(string) string

// Literal returns the text as it is.
func (escapedPlace) Literal(text string) string { return text }

// Paste escapes a value.
func (p escapedPlace) Paste(value any) (string, error) { return p(pastedText(value)), nil }

func escapeXML(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder never fails
	return b.String()
}

// pastedText renders a value for a place that holds text; none is empty.
func pastedText(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case template.JSON:
		return string(value)
	default:
		return textOf(value)
	}
}

// jsonPlace is a JSON text. Inside of a string a value becomes a part of it, whatever it
// holds; outside it becomes a JSON value of its own, so that a string comes with its
// quotes. In no place can it end what it stands in.
type jsonPlace struct{ inString, escaped bool }

// Literal follows the strings of the text.
func (p *jsonPlace) Literal(text string) string {
	for i := range len(text) {
		switch c := text[i]; {
		case p.escaped:
			p.escaped = false
		case c == '\\' && p.inString:
			p.escaped = true
		case c == '"':
			p.inString = !p.inString
		}
	}
	return text
}

// Paste writes a value as the place wants it.
func (p *jsonPlace) Paste(value any) (string, error) {
	written, isJSON := value.(template.JSON)
	switch {
	case p.escaped:
		return "", errors.New("a value cannot stand behind a backslash")
	case p.inString:
		quoted := string(compact(pastedText(value)))
		return quoted[1 : len(quoted)-1], nil
	case isJSON:
		return string(written), nil
	default:
		return string(compact(value)), nil
	}
}

func validJSON(text string) bool { return json.Valid([]byte(text)) }
