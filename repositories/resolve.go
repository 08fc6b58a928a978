package repositories

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"earshot/repositories/fault"
	"earshot/repositories/template"
)

// Resolve resolves the path of an http tool, with its values in it, against the base
// URL of its source, as RFC 3986 says in section 5.2. The path may hold a query. It is
// refused where it names a host, goes up, or leads out of the base's path.
func Resolve(base, path string) (*url.URL, error) {
	from, err := url.Parse(base)
	if err != nil || from.Host == "" {
		return nil, errors.New("the baseUrl of the source cannot be read")
	}
	reference, err := url.Parse(path)
	if err != nil {
		return nil, errors.New("is not well written as the path of a URL")
	}
	if reference.IsAbs() || reference.Host != "" || reference.User != nil || strings.HasPrefix(path, "//") {
		return nil, errors.New("names a scheme or a host; a path is resolved against the source's baseUrl")
	}
	for _, segment := range strings.FieldsFunc(reference.Path, func(r rune) bool { return r == '/' || r == '\\' }) {
		if segment == "." || segment == ".." {
			return nil, fmt.Errorf("holds a segment %q; write the path that is meant", segment)
		}
	}
	reference.Fragment, reference.RawFragment = "", ""
	target := from.ResolveReference(reference)
	if !under(from.EscapedPath(), target.EscapedPath()) {
		return nil, fmt.Errorf("leads to %q, which is not under %q of the source's baseUrl; end the baseUrl with a slash and begin the path without one", fault.Clip(target.EscapedPath()), from.EscapedPath())
	}
	return target, nil
}

// under reports whether a path is the base or below it.
func under(base, path string) bool {
	if base == "" || base == "/" || path == base {
		return true
	}
	return strings.HasPrefix(path, strings.TrimSuffix(base, "/")+"/")
}

// resolved resolves the template of a path with a sample for every value.
func resolved(path, base string) (*url.URL, error) {
	parsed, err := template.Parse(path, template.PathEscape, template.QueryEscape)
	if err != nil {
		return nil, err
	}
	filled, err := parsed.Fill(nil, sample{})
	if err != nil {
		return nil, err
	}
	return Resolve(base, filled)
}

// sample stands for every value of a template.
type sample struct{}

// Literal returns the text as it is.
func (sample) Literal(text string) string { return text }

// Paste returns what no path is changed by.
func (sample) Paste(any) (string, error) { return "x", nil }
