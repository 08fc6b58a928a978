package sqlquery

import (
	"slices"
	"strings"
)

// The words that make a statement of PostgreSQL a query. Its grammar tells statements apart
// by their first word, except for WITH and EXPLAIN.
var (
	queryWords   = []string{"select", "with", "values", "table", "show", "explain"}
	explainWords = []string{"analyze", "analyse", "verbose"}
	// changeWords are the statements that may stand in a WITH, each with the word that
	// follows: a column or a function of that name is followed by others.
	changeWords = map[string]string{"insert": "into", "merge": "into", "delete": "from", "update": ""}
)

// nonQueryWords returns the words by which a statement of PostgreSQL is no query, and
// nothing for a query. It is asked before the statement runs. A read-only transaction stops what
// writes to tables, and no more: there COPY may still start a program, NOTIFY speaks to
// others, and SET changes the session. What the functions do that a query calls is
// beyond both, and for the rights of the role to settle.
func nonQueryWords(sql string) string {
	tokens := postgresTokens(sql)
	for len(tokens) > 0 && (tokens[0] == "(" || tokens[0] == ";") {
		tokens = tokens[1:]
	}
	switch {
	case len(tokens) == 0:
		return "" // nothing, and nothing comes of it
	case !slices.Contains(queryWords, tokens[0]):
		return strings.ToUpper(tokens[0])
	case tokens[0] == "explain":
		if word := explained(tokens[1:]); word != "" {
			return "EXPLAIN " + word
		}
	}
	return changing(tokens)
}

// explained returns the word by which the statement of an EXPLAIN is no query. Options
// stand before it as words or in brackets; a query may stand in brackets too.
func explained(tokens []string) string {
	if len(tokens) > 1 && tokens[0] == "(" && tokens[1] != "(" && !slices.Contains(queryWords, tokens[1]) {
		tokens = tokens[slices.Index(tokens, ")")+1:]
	}
	for len(tokens) > 0 && (tokens[0] == "(" || slices.Contains(explainWords, tokens[0])) {
		tokens = tokens[1:]
	}
	if len(tokens) == 0 || slices.Contains(queryWords, tokens[0]) {
		return ""
	}
	return strings.ToUpper(tokens[0])
}

// changing returns the word of a part that changes something: a statement in a WITH,
// the one that a WITH is for, or the INTO of a SELECT.
func changing(tokens []string) string {
	for i := 1; i < len(tokens)-1; i++ {
		before, word, next := tokens[i-1], tokens[i], tokens[i+1]
		follows, changes := changeWords[word]
		switch {
		case word == "into" && before != "as" && before != ".":
			return "SELECT INTO"
		case !changes || before != "(" && before != ")":
		case next == follows, follows == "" && (next == `"` || startsName(next[0])):
			return strings.ToUpper(word)
		}
	}
	return ""
}

// postgresTokens splits a statement as PostgreSQL does (documentation, section 4.1):
// words in lower case, " for a quoted name, ' for a text, and all else as single
// characters. Spaces and comments are left out.
func postgresTokens(sql string) []string {
	var tokens []string
	for sql != "" {
		token, length := postgresToken(sql)
		if token != "" {
			tokens = append(tokens, token)
		}
		sql = sql[length:]
	}
	return tokens
}

func postgresToken(sql string) (token string, length int) {
	switch first := sql[0]; {
	case strings.IndexByte(" \t\n\r\f\v", first) >= 0:
		return "", 1
	case strings.HasPrefix(sql, "--"):
		return "", 2 + upTo(sql[2:], strings.IndexAny(sql[2:], "\r\n"))
	case strings.HasPrefix(sql, "/*"):
		return "", commentLength(sql)
	case strings.HasPrefix(sql, "e'"), strings.HasPrefix(sql, "E'"):
		return "'", 1 + quotedLength(sql[1:], true)
	case first == '\'', first == '"':
		return sql[:1], quotedLength(sql, false)
	case startsName(first):
		length := upTo(sql, strings.IndexFunc(sql, func(r rune) bool {
			return r < 0x80 && !startsName(byte(r)) && r != '$' && (r < '0' || r > '9')
		}))
		return strings.ToLower(sql[:length]), length
	}
	if length := dollarLength(sql); length > 0 {
		return "'", length
	}
	return sql[:1], 1
}

func startsName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

// upTo returns where something was found, or the end of the text.
func upTo(sql string, found int) int {
	if found < 0 {
		return len(sql)
	}
	return found
}

// commentLength returns the length of the comment that sql begins with. Comments nest.
func commentLength(sql string) int {
	depth := 0
	for i := 0; i < len(sql)-1; i++ {
		switch sql[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
			if depth == 0 {
				return i + 1
			}
		}
	}
	return len(sql)
}

// quotedLength returns the length of the quoted text that sql begins with. Inside, a quote
// is doubled, or stands behind a backslash where these mean something.
func quotedLength(sql string, backslashes bool) int {
	for i := 1; i < len(sql); i++ {
		switch {
		case backslashes && sql[i] == '\\':
			i++
		case sql[i] != sql[0]:
		case strings.HasPrefix(sql[i+1:], sql[:1]):
			i++
		default:
			return i + 1
		}
	}
	return len(sql)
}

// dollarLength returns the length of the text that sql begins with between $$ and $$, or between $tag$ and
// $tag$; 0 where none begins.
func dollarLength(sql string) int {
	if sql[0] != '$' {
		return 0
	}
	tag := strings.IndexFunc(sql[1:], func(r rune) bool { return r < 0x80 && !startsName(byte(r)) && (r < '0' || r > '9') })
	if tag < 0 || sql[1+tag] != '$' || tag > 0 && !startsName(sql[1]) {
		return 0
	}
	mark := sql[:tag+2]
	if end := strings.Index(sql[len(mark):], mark); end >= 0 {
		return end + 2*len(mark)
	}
	return len(sql)
}

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
