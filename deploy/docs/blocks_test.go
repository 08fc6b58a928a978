package docs_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A fenced block of a document, by what stands behind its three backticks:
//
//	sh                  run with bash; a command that fails, or a curl that is answered 400 or more, is a failure
//	sh refused: 400     curl is answered so, and that is the point
//	sh exits: 1         ends with this code
//	sh server           starts the service that the blocks after it speak to; where a document has none, it is earshot dev
//	sh beside: TEXT     goes on in a terminal beside; by the end of the document it has written TEXT.
//	                    Of A … B, the next block waits for A
//	sh norun: WHY       is not run; the test prints why
//	text output         what the sh block before it writes; … is anything
//	json output         the same as JSON: "…" is any value, a member "…" any further ones
//	yaml file: NAME     is written to that file (in any language)
//
// All others are read and not tried, but for json, which must be JSON.
type block struct {
	place    string // file:line
	language string
	kind     string // what follows the language, without its argument
	argument string
	text     string
}

var opening = regexp.MustCompile("^```(\\w*) ?(?:(\\w+)(?:: (.*))?)?$")

func blocksOf(t *testing.T, path string) []block {
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	var found []block
	var open *block
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		switch {
		case open != nil && line == "```":
			found, open = append(found, *open), nil
		case open != nil:
			open.text += line + "\n"
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			place := fmt.Sprintf("%s:%d", filepath.Base(path), n)
			parts := opening.FindStringSubmatch(line)
			require.NotNil(t, parts, "%s: %s is no opening of a block that the test knows", place, line)
			open = &block{place: place, language: parts[1], kind: parts[2], argument: parts[3]}
		}
	}
	require.NoError(t, lines.Err())
	require.Nil(t, open, "a block of %s is not closed", path)
	return found
}

// differs says how what a command wrote differs from what the document shows, or nothing.
func (b block) differs(wrote string) string {
	if b.language == "json" {
		return differsJSON(b.text, wrote)
	}
	if pattern(clean(b.text)).MatchString(clean(wrote)) {
		return ""
	}
	return "shown:\n" + b.text + "written:\n" + wrote
}

// clean drops what nobody sees: blanks at the ends of lines, and empty lines around all.
func clean(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \r")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// pattern is all of a text in which … stands for anything.
func pattern(shown string) *regexp.Regexp {
	return regexp.MustCompile("^" + within(shown).String() + "$")
}

// within is the same somewhere in a text.
func within(shown string) *regexp.Regexp {
	parts := strings.Split(shown, "…")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	return regexp.MustCompile("(?s:" + strings.Join(parts, ".*") + ")")
}

func differsJSON(shown, wrote string) string {
	want, err := values(shown)
	if err != nil {
		return "what is shown is no JSON: " + err.Error()
	}
	got, err := values(wrote)
	if err != nil {
		return fmt.Sprintf("what was written is no JSON: %v\n%s", err, wrote)
	}
	if at := unlike(any(want), any(got), ""); at != "" {
		return fmt.Sprintf("%s\nwritten:\n%s", at, wrote)
	}
	return ""
}

func values(text string) ([]any, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var all []any
	for {
		var one any
		err := decoder.Decode(&one)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
}

// unlike returns the first place in which a value is not as it is shown.
func unlike(want, got any, at string) string {
	switch want := want.(type) {
	case string:
		if text, is := got.(string); want == "…" || is && pattern(want).MatchString(text) {
			return ""
		}
	case map[string]any:
		if object, is := got.(map[string]any); is {
			return unlikeObject(want, object, at)
		}
	case []any:
		if list, is := got.([]any); is {
			return unlikeList(want, list, at)
		}
	default:
		if want == got {
			return ""
		}
	}
	return fmt.Sprintf("%s is shown as %v and is %v", at, want, got)
}

func unlikeObject(want, got map[string]any, at string) string {
	for name, value := range want {
		if name == "…" {
			continue
		}
		if _, has := got[name]; !has {
			return at + "/" + name + " is shown and is not there"
		}
		if found := unlike(value, got[name], at+"/"+name); found != "" {
			return found
		}
	}
	for name, value := range got {
		_, shown := want[name]
		if _, further := want["…"]; !shown && !further {
			return fmt.Sprintf("%s/%s is not shown and is %v", at, name, value)
		}
	}
	return ""
}

func unlikeList(want, got []any, at string) string {
	if last := len(want) - 1; last >= 0 && want[last] == "…" && len(got) >= last {
		want, got = want[:last], got[:last]
	}
	if len(want) != len(got) {
		return fmt.Sprintf("%s has %d members, %d are shown", at, len(got), len(want))
	}
	for i := range want {
		if found := unlike(want[i], got[i], fmt.Sprintf("%s/%d", at, i)); found != "" {
			return found
		}
	}
	return ""
}

func TestWhatIsShownIsCompared(t *testing.T) {
	for _, same := range [][3]string{
		{"text", "a …c\n", "a b\nc"},
		{"text", "a  \n\n", "\na\n"},
		{"json", `{"a":"…","…":"…"}`, `{"a":{"x":1},"b":2}`},
		{"json", `{"a":["x-…","…"]}`, `{"a":["x-1",2,3]}`},
		{"json", `{"a":1} {"b":null}`, `{"a":1}{"b":null}`},
	} {
		require.Empty(t, block{language: same[0], text: same[1]}.differs(same[2]), same)
	}
	for _, other := range [][3]string{
		{"text", "a … c\n", "a b\nd"},
		{"text", "a", "ab"},
		{"json", `{"a":1}`, `{"a":1,"b":2}`},
		{"json", `{"a":1,"b":2}`, `{"a":1}`},
		{"json", `{"a":1}`, `{"a":1.0}`},
		{"json", `[1,"…"]`, `[2,3]`},
		{"json", `[1]`, `[1,1]`},
		{"json", `{"a":"…"}`, `[]`},
		{"json", `{}`, `no`},
	} {
		require.NotEmpty(t, block{language: other[0], text: other[1]}.differs(other[2]), other)
	}
}
