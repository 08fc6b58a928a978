package sqlquery

import "strings"

// oneStatement reports whether a text of SQLite holds no second statement. The driver
// would run that as well, and a pasted value could bring one along. What cannot be
// told apart counts as two.
func oneStatement(sql string) bool {
	for i := 0; i < len(sql); {
		if sql[i] == ';' {
			return blank(sql[i+1:])
		}
		end := tokenEnd(sql, i)
		if end < 0 {
			return true // it does not end, and SQLite will say so
		}
		i = end
	}
	return true
}

// blank reports whether a text has nothing but spaces, comments and semicolons.
func blank(sql string) bool {
	for i := 0; i < len(sql); {
		comment := strings.HasPrefix(sql[i:], "--") || strings.HasPrefix(sql[i:], "/*")
		if !comment && !strings.ContainsRune(" \t\r\n\f;", rune(sql[i])) {
			return false
		}
		end := tokenEnd(sql, i)
		if end < 0 {
			return true
		}
		i = end
	}
	return true
}

// tokenEnd returns where the quoted text or the comment at i ends, i+1 where there is
// neither, and -1 where it does not end.
func tokenEnd(sql string, i int) int {
	switch rest := sql[i:]; {
	case rest[0] == '\'' || rest[0] == '"' || rest[0] == '`':
		// A doubled quote inside ends one text and begins another, which is as good.
		return after(sql, i+1, rest[:1])
	case rest[0] == '[':
		return after(sql, i+1, "]")
	case strings.HasPrefix(rest, "--"):
		return after(sql, i+2, "\n")
	case strings.HasPrefix(rest, "/*"):
		return after(sql, i+2, "*/")
	default:
		return i + 1
	}
}

func after(sql string, from int, closing string) int {
	found := strings.Index(sql[from:], closing)
	if found < 0 {
		return -1
	}
	return from + found + len(closing)
}
