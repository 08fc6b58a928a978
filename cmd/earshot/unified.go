package main

import (
	"fmt"
	"strings"
)

// mostCells bounds the table of a difference; longer files are shown as a whole, old
// and then new.
const mostCells = 4 << 20

// unifiedDiff shows how a text becomes another, in the form of diff -u with all lines
// around a change.
func unifiedDiff(name, before, after string) string {
	old, new := splitLines(before), splitLines(after)
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n@@ -1,%d +1,%d @@\n", name, name, len(old), len(new))
	if len(old)*len(new) > mostCells {
		writeLines(&b, "-", old)
		writeLines(&b, "+", new)
		return b.String()
	}
	common := longestCommon(old, new)
	i, j := 0, 0
	for i < len(old) || j < len(new) {
		switch {
		case i < len(old) && j < len(new) && old[i] == new[j]:
			writeLines(&b, " ", old[i:i+1])
			i, j = i+1, j+1
		case j == len(new) || i < len(old) && common[i+1][j] >= common[i][j+1]:
			writeLines(&b, "-", old[i:i+1])
			i++
		default:
			writeLines(&b, "+", new[j:j+1])
			j++
		}
	}
	return b.String()
}

// longestCommon holds how many lines the rests of two texts have in common, in order.
func longestCommon(old, new []string) [][]int {
	common := make([][]int, len(old)+1)
	for i := range common {
		common[i] = make([]int, len(new)+1)
	}
	for i := len(old) - 1; i >= 0; i-- {
		for j := len(new) - 1; j >= 0; j-- {
			common[i][j] = max(common[i+1][j], common[i][j+1])
			if old[i] == new[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	return common
}

func splitLines(content string) []string {
	return strings.Split(strings.TrimSuffix(content, "\n"), "\n")
}

func writeLines(b *strings.Builder, sign string, lines []string) {
	for _, line := range lines {
		b.WriteString(sign + line + "\n")
	}
}
