package httpcall

import (
	"net/url"
	"strings"

	"earshot/trigger/effect"
)

// maxURLBytes bounds what values can make of a path or a query. Servers commonly take 8
// KiB for the whole request line.
const maxURLBytes = 16 << 10

// fillURL puts the values into the path and the query of a tool's URL. Scheme, user,
// host and port stay as the tool has them, whatever the values hold. A fragment is
// dropped, as it is never sent.
func fillURL(template string, names *variables) (*url.URL, error) {
	target, err := url.Parse(template)
	if err != nil {
		return nil, effect.Permanent(effect.ReasonRequest,
			"the tool's url cannot be read; its scheme, host and port must be literal, as in https://host:8443/path/:param")
	}
	if target.Scheme != "http" && target.Scheme != "https" || target.Hostname() == "" {
		return nil, effect.Permanent(effect.ReasonRequest, "the tool's url has no http or https with a host; it must be as in https://host/path")
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
		return nil, effect.Permanent(effect.ReasonRequest, "the path of the tool's url is not well escaped")
	}
	return target, nil
}

// fillPath fills an escaped path, segment by segment.
func (n *variables) fillPath(path string) (string, error) {
	segments := strings.Split(path, "/")
	size := 0
	for i, segment := range segments {
		filled, err := n.fillSegment(segment)
		if err != nil {
			return "", err
		}
		if size += len(filled) + 1; size > maxURLBytes {
			return "", effect.Permanent(effect.ReasonRequest, "the values make the path of the url longer than %d bytes", maxURLBytes)
		}
		segments[i] = filled
	}
	return strings.Join(segments, "/"), nil
}

// fillSegment fills one segment. A value is escaped and so cannot end the segment, but
// one that makes it empty, "." or ".." would make the path another one (RFC 3986 5.2.4)
// and is refused.
func (n *variables) fillSegment(segment string) (string, error) {
	var b strings.Builder
	var last string
	for _, piece := range n.scan(segment) {
		if piece.name == "" {
			b.WriteString(piece.text)
			continue
		}
		value, there := n.value(piece.name)
		if !there {
			return "", effect.Permanent(effect.ReasonRequest,
				"parameter %q has no value, and the path of the url needs one (a colon that is meant literally is written %%3A)", piece.name)
		}
		last = piece.name
		b.WriteString(url.PathEscape(textOf(value)))
		if b.Len() > maxURLBytes {
			break
		}
	}
	filled := b.String()
	if plain, _ := url.PathUnescape(filled); last != "" && (plain == "" || plain == "." || plain == "..") {
		return "", effect.Permanent(effect.ReasonRequest, "parameter %q makes a segment of the url's path %q, which would call another path", last, plain)
	}
	return filled, nil
}

// fillQuery fills a raw query. A parameter without a value is empty there. An unknown
// name is one as well where a key or a value begins; inside of other text, as in
// status:open, it is text.
func (n *variables) fillQuery(query string) (string, error) {
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
		if b.Len() > maxURLBytes {
			return "", effect.Permanent(effect.ReasonRequest, "the values make the query of the url longer than %d bytes", maxURLBytes)
		}
	}
	return b.String(), nil
}
