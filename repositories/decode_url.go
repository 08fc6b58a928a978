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
		return fmt.Errorf("%q is not an absolute URL, as https://example.org/path", fault.Clip(withoutUserinfo(text)))
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

// withoutUserinfo keeps credentials in a URL that cannot be parsed out of errors.
func withoutUserinfo(text string) string {
	return userinfo.ReplaceAllString(text, "//")
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
	return checkURL(text)
}

// unknownURLParameters returns the :params in path and query that name none of the
// known parameters.
func unknownURLParameters(text string, known []string) []string {
	rest := strings.TrimPrefix(text, authority.FindString(text))
	var unknown []string
	for _, found := range urlParameter.FindAllString(rest, -1) {
		if !namesParameter(found[1:], known) && !slices.Contains(unknown, found) {
			unknown = append(unknown, found)
		}
	}
	return unknown
}

// namesParameter reports whether the text is a known name, or one followed by a
// hyphen: in /:from-:to the hyphen belongs to the path.
func namesParameter(text string, known []string) bool {
	for {
		if slices.Contains(known, text) {
			return true
		}
		end := strings.LastIndexByte(text, '-')
		if end < 0 {
			return false
		}
		text = text[:end]
	}
}
