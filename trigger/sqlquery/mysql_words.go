package sqlquery

import (
	"slices"
	"strings"
)

// Words of MySQL and MariaDB by which statements are told apart.
var (
	mysqlQueryWords   = []string{"select", "with", "values", "table", "show", "explain", "describe", "desc"}
	mysqlExplainWords = []string{"explain", "describe", "desc", "analyze", "extended", "partitions", "format", "=", "json", "tree", "traditional"}
	mysqlChangeWords  = []string{"insert", "replace", "update", "delete"}
)

// mysqlNonQueryWords returns the words by which a statement of MySQL is no query, and
// nothing for a query. It is asked before the statement runs: a read-only transaction stops
// what writes to tables, and neither SET nor SELECT INTO OUTFILE.
func mysqlNonQueryWords(sql string) string {
	words := mysqlNonQuery(mysqlTokens(sql, true))
	if words == "" && strings.Contains(sql, `"`) && strings.Contains(sql, `\`) {
		// With ANSI_QUOTES a text between " is a name, in which a backslash is itself.
		words = mysqlNonQuery(mysqlTokens(sql, false))
	}
	return words
}

func mysqlNonQuery(tokens []string) string {
	for len(tokens) > 0 && (tokens[0] == "(" || tokens[0] == ";") {
		tokens = tokens[1:]
	}
	switch {
	case len(tokens) == 0:
		return ""
	case slices.Contains(tokens, mysqlConditional):
		return mysqlConditional
	case !slices.Contains(mysqlQueryWords, tokens[0]):
		return strings.ToUpper(tokens[0])
	}
	of := slices.IndexFunc(tokens, func(word string) bool { return !slices.Contains(mysqlExplainWords, word) })
	if of > 0 && slices.Contains(mysqlChangeWords, tokens[of]) {
		return "EXPLAIN " + strings.ToUpper(tokens[of])
	}
	for i := 1; i < len(tokens); i++ {
		switch {
		case tokens[i] == "into" && tokens[i-1] != ".":
			return "SELECT INTO"
		case tokens[i-1] == ")" && slices.Contains(mysqlChangeWords, tokens[i]):
			return strings.ToUpper(tokens[i])
		}
	}
	return ""
}

// mysqlLeavesNothing reports whether a statement leaves nothing in its session that a later
// one could find: no variable, lock, temporary table or setting.
func mysqlLeavesNothing(sql string) bool {
	tokens := mysqlTokens(sql, true)
	first := slices.IndexFunc(tokens, func(word string) bool { return word != "(" })
	if first < 0 || !slices.Contains(mysqlQueryWords, tokens[first]) && !slices.Contains(mysqlChangeWords, tokens[first]) {
		return false
	}
	return !slices.ContainsFunc(tokens, func(word string) bool { return word == "@" || word == "get_lock" || word == mysqlConditional })
}

// mysqlConditional is the token of a comment that some servers run and others do not.
const mysqlConditional = "/*!"

// mysqlTokens splits a statement as MySQL does: words in lower case, the opening sign of a
// quoted text or name, and all else as single characters. Spaces and comments are left out.
// Backslashes escape in texts between ', and where escapes says so in those between ".
func mysqlTokens(sql string, escapes bool) []string {
	var tokens []string
	for sql != "" {
		token, length := mysqlToken(sql, escapes)
		if token != "" {
			tokens = append(tokens, token)
		}
		sql = sql[length:]
	}
	return tokens
}

func mysqlToken(sql string, escapes bool) (token string, length int) {
	switch first := sql[0]; {
	case first <= ' ':
		return "", 1
	case first == '#', strings.HasPrefix(sql, "--") && (len(sql) == 2 || sql[2] <= ' '):
		return "", upTo(sql, strings.IndexByte(sql, '\n'))
	case strings.HasPrefix(sql, mysqlConditional), strings.HasPrefix(sql, "/*M!"):
		return mysqlConditional, len(mysqlConditional)
	case strings.HasPrefix(sql, "/*"):
		if end := strings.Index(sql[2:], "*/"); end >= 0 {
			return "", end + 4
		}
		return "", len(sql)
	case first == '\'', first == '"':
		return sql[:1], quotedLength(sql, first == '\'' || escapes)
	case first == '`':
		return sql[:1], quotedLength(sql, false)
	case inMySQLName(first):
		length := upTo(sql, strings.IndexFunc(sql, func(r rune) bool { return r < 0x80 && !inMySQLName(byte(r)) }))
		return strings.ToLower(sql[:length]), length
	}
	return sql[:1], 1
}

func inMySQLName(c byte) bool { return startsName(c) || c == '$' || c >= '0' && c <= '9' }
