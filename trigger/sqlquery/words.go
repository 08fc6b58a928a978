package sqlquery

import (
	"iter"
	"regexp"
	"slices"
	"strings"
)

// Words that distinguish a query from other statements: in SQL's grammar the first word, except for WITH and
// EXPLAIN.
var (
	postgresQueryWords   = []string{"select", "with", "values", "table", "show", "explain"}
	postgresExplainWords = []string{"analyze", "analyse", "verbose"}
	// postgresChangeWords are the statements allowed in a WITH, each with its next word, which distinguishes it
	// from a column or function of that name.
	postgresChangeWords = map[string]string{"insert": "into", "merge": "into", "delete": "from", "update": ""}

	mysqlQueryWords   = []string{"select", "with", "values", "table", "show", "explain", "describe", "desc"}
	mysqlExplainWords = []string{"explain", "describe", "desc", "analyze", "extended", "partitions", "format", "=", "json", "tree", "traditional"}
	mysqlChangeWords  = []string{"insert", "replace", "update", "delete"}
)

// Descriptions of the allowed statements for error messages.
const (
	postgresQueries = "SELECT, WITH, VALUES, TABLE, SHOW, and EXPLAIN of these, without INSERT, UPDATE, DELETE, MERGE and SELECT INTO in them"
	mysqlQueries    = "SELECT, WITH, VALUES, TABLE, SHOW, DESCRIBE and EXPLAIN, without INTO, INSERT, UPDATE, DELETE, REPLACE, comments with ! and hints with quotes in them"
)

// postgresNonQuery returns the words that make a PostgreSQL statement no query, and an empty string for a
// query. It is checked before the statement runs, since a read-only transaction stops only writes to tables:
// COPY may still start a program, NOTIFY send messages, and SET change the session. The role's rights must
// bound the functions that a query calls.
func postgresNonQuery(sql string) string {
	tokens := fromFirstWord(postgresDialect.tokens(sql))
	switch {
	case len(tokens) == 0:
		return "" // an empty statement is harmless
	case !slices.Contains(postgresQueryWords, tokens[0]):
		return strings.ToUpper(tokens[0])
	case tokens[0] == "explain":
		// Options precede the statement as words or in brackets; a query may be in brackets too.
		of := tokens[1:]
		if len(of) > 1 && of[0] == "(" && of[1] != "(" && !slices.Contains(postgresQueryWords, of[1]) {
			of = of[slices.Index(of, ")")+1:]
		}
		for len(of) > 0 && (of[0] == "(" || slices.Contains(postgresExplainWords, of[0])) {
			of = of[1:]
		}
		if len(of) > 0 && !slices.Contains(postgresQueryWords, of[0]) {
			return "EXPLAIN " + strings.ToUpper(of[0])
		}
	}
	// A part may change something: a statement in a WITH, the one after a WITH, or the INTO of a SELECT.
	for i := 1; i < len(tokens)-1; i++ {
		before, word, next := tokens[i-1], tokens[i], tokens[i+1]
		follows, changes := postgresChangeWords[word]
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

// mysqlNonQuery returns the words that make a MySQL statement no query, and an empty string for a query. It is
// checked before the statement runs: a read-only transaction stops writes to tables, but neither SET nor SELECT
// INTO OUTFILE.
func mysqlNonQuery(sql string) string {
	words := mysqlNonQueryIn(mysqlDialect.tokens(sql))
	if words == "" && strings.Contains(sql, `"`) && strings.Contains(sql, `\`) {
		// With ANSI_QUOTES a text between " is a name, in which a backslash does not escape.
		words = mysqlNonQueryIn(mysqlANSIQuotes.tokens(sql))
	}
	return words
}

func mysqlNonQueryIn(all iter.Seq[string]) string {
	tokens := fromFirstWord(all)
	switch {
	case len(tokens) == 0:
		return ""
	case slices.Contains(tokens, conditionalComment):
		return conditionalComment
	case slices.Contains(tokens, quotingHint):
		return quotingHint
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

// fromFirstWord returns the tokens from the first that can begin a statement.
func fromFirstWord(tokens iter.Seq[string]) []string {
	all := slices.Collect(tokens)
	first := slices.IndexFunc(all, func(token string) bool { return token != "(" && token != ";" })
	if first < 0 {
		return nil
	}
	return all[first:]
}

// mysqlLeavesNothing reports whether a statement leaves no state in its session: no variable, lock, temporary
// table or setting.
func mysqlLeavesNothing(sql string) bool {
	tokens := fromFirstWord(mysqlDialect.tokens(sql))
	if len(tokens) == 0 || !slices.Contains(mysqlQueryWords, tokens[0]) && !slices.Contains(mysqlChangeWords, tokens[0]) {
		return false
	}
	return !slices.ContainsFunc(tokens, func(word string) bool {
		return slices.Contains([]string{"@", "get_lock", conditionalComment, quotingHint}, word)
	})
}

// mysqlReadsLocalFile reports whether a statement asks its client for a file.
func mysqlReadsLocalFile(sql string) bool {
	loads := false
	for token := range mysqlDialect.tokens(sql) {
		if loads && token == "local" {
			return true
		}
		if loads = loads || token == "load"; !loads && token != "(" && token != ";" {
			return false // most end here, at their first word
		}
	}
	return false
}

// oneStatement reports whether a SQLite text has no second statement, which the driver would run as well and a
// pasted value could add. Text after a semicolon that is neither a comment nor another semicolon counts as a
// statement.
func oneStatement(sql string) bool {
	ended := false
	for token := range sqliteDialect.tokens(sql) {
		if ended && token != ";" {
			return false
		}
		ended = ended || token == ";"
	}
	return true
}

// dialect describes how a database splits a statement into tokens.
type dialect struct {
	spaces   string
	lineEnds string // signs that end a -- comment; empty if special finds these comments
	nested   bool   // /* */ comments nest
	quotes   string // signs around a text or a name; doubled inside
	escaping string // quotes in which a backslash escapes
	digits   bool   // a name may begin with a digit or with $
	// special returns a token that only this dialect has, and its length; 0 for none.
	special func(sql string) (token string, length int)
}

// The dialects of PostgreSQL (documentation, section 4.1), of MySQL and MariaDB, also with
// ANSI_QUOTES, and of SQLite.
var (
	postgresDialect = dialect{spaces: " \t\n\r\f\v", lineEnds: "\r\n", nested: true, quotes: `'"`, special: postgresSpecial}
	mysqlDialect    = dialect{spaces: controls + " ", quotes: "'\"`", escaping: `'"`, digits: true, special: mysqlSpecial}
	mysqlANSIQuotes = dialect{spaces: controls + " ", quotes: "'\"`", escaping: `'`, digits: true, special: mysqlSpecial}
	sqliteDialect   = dialect{spaces: " \t\r\n\f", lineEnds: "\n", quotes: "'\"`", special: sqliteSpecial}
)

const controls = "\x00\x01\x02\x03\x04\x05\x06\x07\x08\t\n\v\f\r\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f"

const (
	// conditionalComment is the token of a comment that some MySQL servers run.
	conditionalComment = "/*!"
	// quotingHint is the token of a hint with a quote in it: MySQL does not end a hint within a quoted name.
	quotingHint = "/*+"
)

// decimal is a number with a fraction or an exponent. Servers read a word right behind it, as in 1.5into; digits
// alone belong to the word.
var decimal = regexp.MustCompile(`^(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|^\d+[eE][+-]?\d+`)

// tokens splits a statement: words in lower case, the opening sign of a quoted text or name, and all else as
// single characters. Spaces and comments are skipped.
func (d *dialect) tokens(sql string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for sql != "" {
			token, length := d.token(sql)
			if token != "" && !yield(token) {
				return
			}
			sql = sql[length:]
		}
	}
}

func (d *dialect) token(sql string) (token string, length int) {
	if token, length := d.special(sql); length > 0 {
		return token, length
	}
	switch first := sql[0]; {
	case strings.IndexByte(d.spaces, first) >= 0:
		return "", 1
	case d.lineEnds != "" && strings.HasPrefix(sql, "--"):
		return "", lengthTo(sql, strings.IndexAny(sql, d.lineEnds))
	case strings.HasPrefix(sql, "/*"):
		return "", d.commentLength(sql)
	case strings.IndexByte(d.quotes, first) >= 0:
		return sql[:1], quotedLength(sql, strings.IndexByte(d.escaping, first) >= 0)
	case (first == '.' || first >= '0' && first <= '9') && decimal.MatchString(sql):
		length := len(decimal.FindString(sql))
		return sql[:length], length
	case startsName(first), d.digits && inName(first):
		length := lengthTo(sql, strings.IndexFunc(sql, func(r rune) bool { return r < 0x80 && !inName(byte(r)) }))
		return strings.ToLower(sql[:length]), length
	}
	return sql[:1], 1
}

// commentLength returns the length of the /* */ comment at the beginning of sql.
func (d *dialect) commentLength(sql string) int {
	depth := 1
	for i := 2; i < len(sql)-1; i++ {
		switch sql[i : i+2] {
		case "/*":
			if d.nested {
				depth++
				i++
			}
		case "*/":
			if depth--; depth == 0 {
				return i + 2
			}
			i++
		}
	}
	return len(sql)
}

// postgresSpecial finds texts with backslashes (E'…') and dollar-quoted texts ($$…$$, $tag$…$tag$).
func postgresSpecial(sql string) (token string, length int) {
	if strings.HasPrefix(sql, "e'") || strings.HasPrefix(sql, "E'") {
		return "'", 1 + quotedLength(sql[1:], true)
	}
	if sql[0] != '$' {
		return "", 0
	}
	tag := strings.IndexFunc(sql[1:], func(r rune) bool { return r < 0x80 && (r == '$' || !inName(byte(r))) })
	if tag < 0 || sql[1+tag] != '$' || tag > 0 && !startsName(sql[1]) {
		return "", 0
	}
	mark := sql[:tag+2]
	if end := strings.Index(sql[len(mark):], mark); end >= 0 {
		return "'", end + 2*len(mark)
	}
	return "'", len(sql)
}

// mysqlSpecial finds comments to the end of a line, those that some servers run, hints with quotes, and \N, which
// is NULL.
func mysqlSpecial(sql string) (token string, length int) {
	switch {
	case sql[0] == '#', strings.HasPrefix(sql, "--") && (len(sql) == 2 || sql[2] <= ' ' || sql[2] == 0x7f):
		return "", lengthTo(sql, strings.IndexByte(sql, '\n'))
	case strings.HasPrefix(sql, conditionalComment), strings.HasPrefix(sql, "/*M!"):
		return conditionalComment, len(conditionalComment)
	case strings.HasPrefix(sql, `\N`):
		return "null", len(`\N`)
	case strings.HasPrefix(sql, quotingHint):
		if hint, _, _ := strings.Cut(sql, "*/"); strings.ContainsAny(hint, "`'\"") {
			return quotingHint, len(quotingHint)
		}
	}
	return "", 0
}

// sqliteSpecial finds names in brackets.
func sqliteSpecial(sql string) (token string, length int) {
	if sql[0] != '[' {
		return "", 0
	}
	return "[", lengthTo(sql, strings.IndexByte(sql, ']')+1)
}

// quotedLength returns the length of the quoted text at the beginning of sql. Inside, a quote is doubled, or
// follows a backslash if backslashes escape.
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

// lengthTo returns found, or the length of the text for -1 and 0.
func lengthTo(sql string, found int) int {
	if found <= 0 {
		return len(sql)
	}
	return found
}

func startsName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

func inName(c byte) bool { return startsName(c) || c == '$' || c >= '0' && c <= '9' }
