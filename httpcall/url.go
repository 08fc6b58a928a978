package httpcall

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"net/url"
	"strings"

	"earshot/repositories"
	"earshot/repositories/template"
	"earshot/trigger/effect"
)

// mostURL bounds what values can make of a path or a query. Servers commonly take 8
// KiB for the whole request line.
const mostURL = 16 << 10

// fillURL puts the values into the path and the query of a tool's URL. Scheme, user,
// host and port stay as the tool has them, whatever the values hold. A fragment is
// dropped, as it is never sent.
func fillURL(template string, names *templateValues) (*url.URL, error) {
	target, err := url.Parse(template)
	if err != nil {
		return nil, dead(effect.ReasonRequest,
			"the tool's url cannot be read; its scheme, host and port must be literal, as in https://host:8443/path/:param")
	}
	if target.Scheme != "http" && target.Scheme != "https" || target.Hostname() == "" {
		return nil, dead(effect.ReasonRequest, "the tool's url has no http or https with a host; it must be as in https://host/path")
	}
	path, err := names.fillPath(target.EscapedPath())
	if err != nil {
		return nil, err
	}
	query, err := names.fillQuery(target.RawQuery)
	if err != nil {
		return nil, err
	}
	target.RawPath, target.RawQuery, target.Fragment, target.RawFragment = path, query, "", ""
	if target.Path, err = url.PathUnescape(path); err != nil {
		return nil, dead(effect.ReasonRequest, "the path of the tool's url is not well escaped")
	}
	return target, nil
}

// fillPath fills an escaped path, segment by segment.
func (n *templateValues) fillPath(path string) (string, error) {
	segments := strings.Split(path, "/")
	size := 0
	for i, segment := range segments {
		filled, err := n.fillSegment(segment)
		if err != nil {
			return "", err
		}
		if size += len(filled) + 1; size > mostURL {
			return "", dead(effect.ReasonRequest, "the values make the path of the url longer than %d bytes", mostURL)
		}
		segments[i] = filled
	}
	return strings.Join(segments, "/"), nil
}

// fillSegment fills one segment. A value is escaped and so cannot end the segment, but
// one that makes it empty, "." or ".." would make the path another one (RFC 3986 5.2.4)
// and is refused.
func (n *templateValues) fillSegment(segment string) (string, error) {
	var b strings.Builder
	var last string
	for _, piece := range n.scan(segment) {
		if piece.name == "" {
			b.WriteString(piece.text)
			continue
		}
		value, there := n.value(piece.name)
		if !there {
			return "", dead(effect.ReasonRequest,
				"parameter %q has no value, and the path of the url needs one (a colon that is meant literally is written %%3A)", piece.name)
		}
		last = piece.name
		b.WriteString(url.PathEscape(textOf(value)))
		if b.Len() > mostURL {
			break
		}
	}
	filled := b.String()
	if plain, _ := url.PathUnescape(filled); last != "" && (plain == "" || plain == "." || plain == "..") {
		return "", dead(effect.ReasonRequest, "parameter %q makes a segment of the url's path %q, which would call another path", last, plain)
	}
	return filled, nil
}

// fillQuery fills a raw query. A parameter without a value is empty there. An unknown
// name is one as well where a key or a value begins; inside of other text, as in
// status:open, it is text.
func (n *templateValues) fillQuery(query string) (string, error) {
	var b strings.Builder
	begins := true
	for _, piece := range n.scan(query) {
		value, there := n.value(piece.name)
		switch {
		case piece.name == "", !piece.known && !begins:
			b.WriteString(piece.text)
		case there:
			b.WriteString(url.QueryEscape(textOf(value)))
		}
		begins = strings.HasSuffix(piece.text, "=") || strings.HasSuffix(piece.text, "&")
		if b.Len() > mostURL {
			return "", dead(effect.ReasonRequest, "the values make the query of the url longer than %d bytes", mostURL)
		}
	}
	return b.String(), nil
}

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
