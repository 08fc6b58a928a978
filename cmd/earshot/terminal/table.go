package terminal

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Table writes rows of cells in columns, the first row as their heads. Where the screen is
// too narrow for all, the cells from number Below on are written beneath the others.
type Table struct {
	Style   Style
	Columns int // of the screen; 0 has room for everything
	Below   int // counts from 0
}

// gap stands between two cells, and before those that are written beneath.
const gap = "  "

// Print writes the rows. What codeOf returns for a cell is its colour.
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

// lineWidth is how many columns cells of these widths take.
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
