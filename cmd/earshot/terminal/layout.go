package terminal

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/term"
	"golang.org/x/text/width"
)

// Width returns the columns of an output: COLUMNS, or else the terminal's; 0 for no limit.
func Width(out io.Writer, lookup func(string) (string, bool)) int {
	if lookup != nil {
		given, _ := lookup("COLUMNS")
		if columns, err := strconv.Atoi(given); err == nil && columns > 0 {
			return columns
		}
	}
	file, isFile := fileOf(out)
	if !isFile {
		return 0
	}
	columns, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// columnsOfText counts two columns for wide characters, such as Chinese, and none for combining marks.
func columnsOfText(text string) int {
	columns := 0
	for _, r := range text {
		columns += columnsOf(r)
	}
	return columns
}

func columnsOf(r rune) int {
	kind := width.LookupRune(r).Kind()
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case kind == width.EastAsianWide, kind == width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// fit cuts a text to that many columns, with an ellipsis; zero or less cuts nothing.
func fit(text string, columns int) string {
	if columns <= 0 || columnsOfText(text) <= columns {
		return text
	}
	taken := 0
	for i, r := range text {
		if taken+columnsOf(r) >= columns {
			return text[:i] + "…"
		}
		taken += columnsOf(r)
	}
	return text
}

func pad(text string, columns int) string {
	return text + strings.Repeat(" ", max(0, columns-columnsOfText(text)))
}

// Value formats a value as JSON, cut to maxValue.
func Value(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "?"
	}
	return fit(string(text), maxValue)
}

// maxValue bounds a value, in columns.
const maxValue = 100

// valuesText formats values as name=value, sorted by name; single words have no quotes.
func valuesText(values map[string]any) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		shown := Value(values[name])
		if text, is := values[name].(string); is && text != "" && !strings.ContainsFunc(text, needsQuotes) {
			shown = fit(text, maxValue)
		}
		parts = append(parts, name+"="+shown)
	}
	return OneLine(strings.Join(parts, " "))
}

func needsQuotes(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || r == '"' || r == '='
}

// Wrap breaks paragraphs, separated by empty lines, into lines of at most that many columns; zero changes
// nothing.
func Wrap(text string, columns int) string {
	if columns <= 0 {
		return text
	}
	paragraphs := strings.Split(text, "\n\n")
	for i, paragraph := range paragraphs {
		wrapped, at := "", 0
		for n, word := range strings.Fields(paragraph) {
			wide := columnsOfText(word)
			switch {
			case n == 0:
			case at+1+wide > columns:
				wrapped, at = wrapped+"\n", 0
			default:
				wrapped, at = wrapped+" ", at+1
			}
			wrapped, at = wrapped+word, at+wide
		}
		paragraphs[i] = wrapped
	}
	return strings.Join(paragraphs, "\n\n")
}

// Table prints rows in columns, the first row as heads. If the screen is too narrow, the cells from index Below
// on are printed beneath the others.
type Table struct {
	Style   Style
	Columns int // of the screen; 0 for no limit
	Below   int // from 0
}

// gap separates cells, and indents those beneath.
const gap = "  "

// Print writes the rows. codeOf returns the colour of a cell.
func (t Table) Print(out io.Writer, rows [][]string, codeOf func(cell string) string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], columnsOfText(cell))
		}
	}
	if t.Columns == 0 || lineWidth(widths) <= t.Columns {
		for i, row := range rows {
			t.line(out, row, widths, i == 0, codeOf)
		}
		return
	}
	const least = 8
	for above := widths[:t.Below]; lineWidth(above) > t.Columns && slices.Max(above) > least; {
		above[slices.Index(above, slices.Max(above))]--
	}
	for i, row := range rows {
		t.line(out, row[:t.Below], widths, i == 0, codeOf)
		if beneath := strings.TrimSpace(strings.Join(row[t.Below:], gap)); beneath != "" {
			fmt.Fprintln(out, t.Style.Paint(Faint, fit(gap+beneath, t.Columns)))
		}
	}
}

func lineWidth(widths []int) int {
	whole := (len(widths) - 1) * len(gap)
	for _, width := range widths {
		whole += width
	}
	return whole
}

func (t Table) line(out io.Writer, row []string, widths []int, head bool, codeOf func(string) string) {
	var b strings.Builder
	for i, cell := range row {
		code := codeOf(cell)
		if head {
			code = Bold
		}
		text := fit(cell, widths[i])
		b.WriteString(t.Style.Paint(code, text))
		if i < len(row)-1 {
			b.WriteString(strings.Repeat(" ", widths[i]-columnsOfText(text)) + gap)
		}
	}
	fmt.Fprintln(out, strings.TrimRight(b.String(), " "))
}
