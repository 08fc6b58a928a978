package sqlquery

import (
	"slices"
	"strings"
)

// The words that make a statement of PostgreSQL a query. What a statement is, its
// grammar decides by the first word, but for WITH and EXPLAIN.
var (
	queryWords   = []string{"select", "with", "values", "table", "show", "explain"}
	explainWords = []string{"analyze", "analyse", "verbose"}
	// changeWords are the statements that may stand in a WITH, each with the word that
	// follows: a column or a function of that name is followed by others.
	changeWords = map[string]string{"insert": "into", "merge": "into", "delete": "from", "update": ""}
)

// notQuery returns the words by which a statement of PostgreSQL is no query, nothing
// where it is one. They are found before it runs. A read-only transaction stops what
// writes to tables, and no more: there COPY may still start a program, NOTIFY speaks to
// others, and SET changes the session. What the functions do that a query calls is
// beyond both, and for the rights of the role to settle.
func notQuery(sql string) string {
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

// explained returns the word by which what is explained is no query. Options stand
// before it as words or in brackets; a query may stand in brackets too.
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
