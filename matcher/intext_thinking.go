package matcher

import (
	"regexp"
	"strings"
)

var (
	thought  = regexp.MustCompile(`(?s)<think(?:ing)?>.*?(?:</think(?:ing)?>|$)`)
	thinkEnd = regexp.MustCompile(`</think(?:ing)?>`)
)

// withoutThoughts takes a model's reasoning out of its text: it is not meant for the
// user, and a call that is only considered there is not made. Some servers give the
// opening mark themselves, so that everything before a lone closing one is reasoning.
func withoutThoughts(text string) string {
	text = thought.ReplaceAllString(text, "")
	if ends := thinkEnd.FindAllStringIndex(text, -1); ends != nil {
		text = text[ends[len(ends)-1][1]:]
	}
	return strings.TrimSpace(text)
}
