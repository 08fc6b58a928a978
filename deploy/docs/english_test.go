package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const mostWords = 25

// private are words of our own, with those that the field has for the same.
var private = []struct {
	word    *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?i)\b(?:sets?|setting) (?:\w+ ){0,3}off\b`), "fire, call or trigger"},
	{regexp.MustCompile(`(?i)\b(?:owed?|owes|owing)\b`), "pending"},
	{regexp.MustCompile(`(?i)\bdead letters?\b`), "failed triggers"},
	{regexp.MustCompile(`(?i)\bwords alone\b|\boffline matcher\b`), "rule-based matcher"},
	{regexp.MustCompile(`(?i)\bbars?\b`), "threshold"},
	{regexp.MustCompile(`(?i)\bnearness\b`), "score"},
	{regexp.MustCompile(`(?i)\bmend(?:s|ed|ing)?\b`), "fix"},
	{regexp.MustCompile(`(?i)\bfaults?\b`), "error"},
	{regexp.MustCompile(`(?i)\b(?:re)?seal(?:s|ed|ing)?\b`), "encrypt"},
	{regexp.MustCompile(`(?i)\bcatch-all\b`), "fallback"},
	{regexp.MustCompile(`(?i)\bin force\b`), "wins, or applies"},
	{regexp.MustCompile(`(?i)\bwhoever\b`), "who, or anyone who"},
	{regexp.MustCompile(`(?i)\bgo(?:es)? on\b`), "continue"},
	{regexp.MustCompile(`(?i)\b(?:do|will) not do\b`), "is not valid"},
	{regexp.MustCompile(`(?i)\bas (?:ever|well as not)\b`), "as always, or nothing"},
}

// english counts what a page has against the rules, and says where.
type english struct {
	long, private int
	said          []string
}

// sentence is one of a page, with the line on which its paragraph begins.
type sentence struct {
	line int
	text string
}

var (
	listItem    = regexp.MustCompile(`^\s*(?:[-*]|\d+\.)\s+`)
	inlined     = regexp.MustCompile("`[^`]*`")
	linked      = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	tagged      = regexp.MustCompile(`<[^>]*>`)
	ended       = regexp.MustCompile(`[.!?]["')*]*\s+`)
	aLetter     = regexp.MustCompile(`[\pL\d]`)
	enumerated  = regexp.MustCompile(`(?:code, )+(?:(?:and|or) )?code`) // one word: nobody reads it as a sentence
	abbreviated = regexp.MustCompile(`(?:e\.g|i\.e|etc|vs)\.\s*$`)
)

// sentencesOf reads the sentences of a page. Blocks of code are left out, and so are tables, but for those of the reference, which are all that it has.
func sentencesOf(text string, tables bool) (list []sentence) {
	paragraph := sentence{}
	end := func() {
		rest := linked.ReplaceAllString(inlined.ReplaceAllString(paragraph.text, "code"), "$1")
		rest = enumerated.ReplaceAllString(tagged.ReplaceAllString(rest, ""), "code")
		from := 0
		for _, at := range ended.FindAllStringIndex(rest, -1) {
			if !abbreviated.MatchString(rest[from:at[1]]) {
				list = append(list, sentence{paragraph.line, strings.TrimSpace(rest[from:at[1]])})
				from = at[1]
			}
		}
		if last := strings.TrimSpace(rest[from:]); last != "" {
			list = append(list, sentence{paragraph.line, last})
		}
		paragraph = sentence{}
	}
	fenced := false
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			end()
			continue
		}
		switch {
		case fenced:
		case strings.TrimSpace(line) == "", strings.HasPrefix(line, "#"):
			end()
		case strings.HasPrefix(line, "|"):
			end()
			for cell := range strings.SplitSeq(line, "|") {
				if tables && strings.Trim(cell, "- ") != "" {
					paragraph = sentence{i + 1, strings.TrimSpace(cell)}
					end()
				}
			}
		default:
			if listItem.MatchString(line) {
				end()
				line = listItem.ReplaceAllString(line, "")
			}
			if paragraph.line == 0 {
				paragraph.line = i + 1
			}
			paragraph.text += strings.TrimSpace(line) + " "
		}
	}
	end()
	return list
}

func judged(text string, tables bool) (is english) {
	for _, one := range sentencesOf(text, tables) {
		words := 0
		for word := range strings.FieldsSeq(one.text) {
			if aLetter.MatchString(word) {
				words++
			}
		}
		if words > mostWords {
			is.long++
			is.said = append(is.said, fmt.Sprintf("line %d: a sentence of %d words: %s", one.line, words, one.text))
		}
		for _, known := range private {
			for _, found := range known.word.FindAllString(one.text, -1) {
				is.private++
				is.said = append(is.said, fmt.Sprintf("line %d: %q: say %s: %s", one.line, found, known.instead, one.text))
			}
		}
	}
	return is
}

// TestThePagesAreInPlainEnglish finds long sentences and words of our own: in pages, also of clients, examples and packages, in the help of commands, of settings, of metrics
// and of fields, which the reference has, in the list of changes, and in the templates of the console.
func TestThePagesAreInPlainEnglish(t *testing.T) {
	nested, err := filepath.Glob("*/*.md")
	require.NoError(t, err)
	around, err := filepath.Glob("../*/*/README.md")
	require.NoError(t, err)
	templates, err := filepath.Glob("../../api/console/templates/*.html")
	require.NoError(t, err)
	require.NotEmpty(t, templates)
	for _, path := range slices.Concat(documents(t), nested, around, []string{
		"README.md", "../../CHANGELOG.md", "../../CONTRIBUTING.md", "../../SECURITY.md", "../README.md", "../examples/README.md", "../package/README.md",
	}, templates) {
		read, err := os.ReadFile(path)
		require.NoError(t, err)
		text := string(read)
		if strings.HasSuffix(path, ".html") {
			text = textOf(text)
		}
		if is := judged(text, strings.HasPrefix(path, "reference/")); len(is.said) > 0 {
			t.Errorf("%s has %d sentences of more than %d words and %d words of our own:\n%s", path, is.long, mostWords, is.private, strings.Join(is.said, "\n"))
		}
	}
}

var (
	otherwise = regexp.MustCompile(`\{\{-? *else\b.*?\}\}`)
	action    = regexp.MustCompile(`(?s)\{\{.*?\}\}`)
	codeTag   = regexp.MustCompile(`(?s)<(?:code|pre|script|style)\b.*?</(?:code|pre|script|style)>`)
	inlineTag = regexp.MustCompile(`</?(?:a|b|em|i|kbd|small|span|strong|time|var)\b[^>]*>`)
)

// textOf returns what a template shows, a paragraph for each element.
func textOf(template string) string {
	text := codeTag.ReplaceAllString(action.ReplaceAllString(otherwise.ReplaceAllString(template, "\n\n"), "x"), "`code`")
	return tagged.ReplaceAllString(inlineTag.ReplaceAllString(text, ""), "\n\n")
}

func TestLongSentencesAndWordsOfOurOwnAreFound(t *testing.T) {
	long := strings.Repeat("word ", 26)
	for text, want := range map[string][2]int{
		"A short one. " + long + ".":                                  {1, 0},
		strings.Repeat("word ", 25) + ". And " + long:                 {1, 0},
		"# " + long + "\n\n```text\n" + long + "\nowed\n```\n":        {0, 0},
		"| " + long + " | owed |\n":                                   {0, 0},
		"- " + strings.Repeat("a ", 20) + "\n- " + long + "\n":        {1, 0},
		strings.Repeat("word ", 20) + "\n" + strings.Repeat("b ", 20): {1, 0},
		"It sets a tool off. Dead letters are owed. `owed` is code.":  {0, 3},
		"See [the owed ones](owed.md). A debar is none.":              {0, 1},
		strings.Repeat("`x`, ", 30) + "`y`":                           {0, 0},
		"Mend it, e.g. " + strings.Repeat("a ", 24):                   {1, 1},
	} {
		is := judged(text, false)
		require.Equal(t, want, [2]int{is.long, is.private}, "%s\n%q", text, is.said)
	}
	require.Equal(t, 1, judged("| x | "+long+" |\n", true).long)
	is := judged(textOf("<p>{{.Count}} are <b>owed</b>.</p><p title=\"owed\">A <code>owed</code></p><li>"+long+"</li>"), false)
	require.Equal(t, [2]int{1, 1}, [2]int{is.long, is.private}, is.said)
}
