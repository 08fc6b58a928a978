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

// checkURL refuses what is not an absolute http or https URL.
func checkURL(text string) error {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Scheme == "" || parsed.Host == "" && parsed.Opaque == "" && parsed.Path == "" {
		// The text may hold credentials, which stay out of the error.
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

// authority finds scheme and authority of a URL (RFC 3986, section 3).
var authority = regexp.MustCompile(`^([^/?#]*:)?//[^/?#]*`)

// urlParameter finds what may be a :param. The longest name that the tool knows is
// the one that is meant.
var urlParameter = regexp.MustCompile(`:[A-Za-z_][A-Za-z0-9_-]*`)

// bracketed is an IPv6 address in a URL.
var bracketed = regexp.MustCompile(`\[[^\]]*\]`)

// checkCallURL also refuses a :param where no value may decide: in scheme, host and
// port. Values come from a model, and who is called is the tool's author's decision.
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

// pathAndQuery is what follows the authority of a URL.
func pathAndQuery(text string) string { return strings.TrimPrefix(text, authority.FindString(text)) }

// inBraces finds a name in braces, as {day}, which OpenAPI and others write for a parameter,
// and the forms of other templates: ${day}, {{day}} and {{.day}}.
var inBraces = regexp.MustCompile(`\$?\{+\s*\.?([^{}]*?)\s*\}+`)

// braced is a name in braces, and the text that it stands in, braces and all.
type braced struct{ text, name string }

// bracedIn returns the names that stand in braces in texts, each name once. Nothing fills
// them: they are sent as they stand.
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

// pathParameter finds what may be a :param that the tool knows, whose name may also begin
// with a digit.
var pathParameter = regexp.MustCompile(`:[A-Za-z0-9_-]+`)

// parameterNamed returns the known name that a text is or begins with: in /:from-:to the
// hyphen belongs to the path. It is empty if there is none.
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
