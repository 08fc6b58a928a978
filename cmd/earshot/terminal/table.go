package terminal

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

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
		beneath := fit(gap+strings.TrimSpace(strings.Join(row[t.Below:], gap)), t.Columns)
		fmt.Fprintln(out, t.Style.Paint(Faint, beneath))
	}
}

// lineWidth returns the columns of a line with these widths.
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
