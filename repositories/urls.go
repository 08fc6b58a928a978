package repositories

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"earshot/repositories/fault"
)

// checkURL requires an absolute http or https URL.
func checkURL(text string) error {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Scheme == "" || parsed.Host == "" && parsed.Opaque == "" && parsed.Path == "" {
		// The text may contain credentials, which the error omits.
		return fmt.Errorf("%q is not an absolute URL, as https://example.org/path", fault.Clip(userinfo.ReplaceAllString(text, "//")))
	}
	if scheme := strings.ToLower(parsed.Scheme); scheme != "http" && scheme != "https" {
		return fmt.Errorf("%q is not a scheme that can be called: http or https", fault.Clip(parsed.Scheme))
	}
	if parsed.User != nil {
		return errors.New("a URL does not carry credentials; use auth basic")
	}
	if parsed.Hostname() == "" {
		return fmt.Errorf("%q names no host", fault.Clip(text))
	}
	return nil
}

var userinfo = regexp.MustCompile(`//[^/?#]*@`)

// authority matches the scheme and authority of a URL (RFC 3986, section 3).
var authority = regexp.MustCompile(`^([^/?#]*:)?//[^/?#]*`)

// urlParameter matches a possible :param. The longest name that the tool has counts.
var urlParameter = regexp.MustCompile(`:[A-Za-z_][A-Za-z0-9_-]*`)

// bracketed matches an IPv6 address in a URL.
var bracketed = regexp.MustCompile(`\[[^\]]*\]`)

// checkCallURL also refuses a :param in scheme, host and port: values come from a model, but the author decides who
// is called.
func checkCallURL(text string) error {
	front := bracketed.ReplaceAllString(authority.FindString(text), "")
	if strings.Contains(front, "@") {
		return errors.New("a URL does not carry credentials; use auth basic")
	}
	if name := urlParameter.FindString(strings.TrimSuffix(front, ":")); name != "" {
		return fmt.Errorf("%s stands in the scheme, host or port, which no value may fill", fault.Clip(name))
	}
	if names := bracedIn(front); len(names) > 0 {
		return fmt.Errorf("%s stands in the scheme, host or port, which no value may fill", fault.Clip(names[0].text))
	}
	return checkURL(text)
}

// pathAndQuery returns a URL without scheme and authority.
func pathAndQuery(text string) string { return strings.TrimPrefix(text, authority.FindString(text)) }

// inBraces matches a name in braces, as {day}, a parameter in OpenAPI and elsewhere, and other templates' ${day},
// {{day}} and {{.day}}.
var inBraces = regexp.MustCompile(`\$?\{+\s*\.?([^{}]*?)\s*\}+`)

// braced is a name in braces, and its text including the braces.
type braced struct{ text, name string }

// bracedIn returns the distinct names in braces in texts. They are sent unfilled.
func bracedIn(texts ...string) []braced {
	var all []braced
	seen := map[string]bool{"": true}
	for _, text := range texts {
		for _, found := range inBraces.FindAllStringSubmatch(text, -1) {
			if one := (braced{found[0], found[1]}); !seen[one.name] {
				seen[one.name] = true
				all = append(all, one)
			}
		}
	}
	return all
}

// pathParameter matches a possible :param. Unlike urlParameter, its name may begin with a digit.
var pathParameter = regexp.MustCompile(`:[A-Za-z0-9_-]+`)

// parameterNamed returns the longest known name that text is or begins with, before a hyphen: in /:from-:to the
// hyphen belongs to the path. It is empty without one.
func parameterNamed(text string, known []string) string {
	for {
		if slices.Contains(known, text) {
			return text
		}
		end := strings.LastIndexByte(text, '-')
		if end < 0 {
			return ""
		}
		text = text[:end]
	}
}
