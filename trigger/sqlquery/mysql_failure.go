package sqlquery

import (
	"regexp"
	"slices"

	"github.com/go-sql-driver/mysql"

	"earshot/repositories/neterr"
	"earshot/repositories/secret"
	"earshot/trigger/effect"
)

// Error codes of MySQL and MariaDB that say more than that the statement is refused. All
// others stay as long as the statement, its values and the database are the same.
var (
	mysqlAuthCodes = []uint16{
		1044, // access to the database denied
		1045, // access denied
		1130, // the host may not connect
		1251, // an authentication that is not supported
		1698, // access denied, of another authentication
		1820, // the password must be changed
		3118, // the account is locked
	}
	mysqlTimeoutCodes = []uint16{
		1317, // interrupted
		1969, // MariaDB: max_statement_time
		3024, // MySQL: max_execution_time
	}
	mysqlTransientCodes = []uint16{
		1021, // disk full
		1037, // out of memory
		1040, // too many connections
		1041, // out of resources
		1053, // shutting down
		1129, // the host is blocked for a while
		1203, // too many connections of the user
		1205, // waited too long for a lock
		1206, // too many locks
		1213, // deadlock
		1226, // the user has exceeded a limit
		1927, // MariaDB: the connection was killed
	}
)

var (
	// mysqlAccount finds who connects from where, as in 'earshot'@'10.0.0.1'.
	mysqlAccount = regexp.MustCompile(`@'[^']*'`)
	// quotedData finds the data that a message quotes.
	quotedData = regexp.MustCompile(`(?s)((?:entry|value:?|string:?) )'.*?'( for | at |$)`)
	// quotedStatement finds the part of a statement that a message quotes.
	quotedStatement = regexp.MustCompile(`(?s)near '.*'`)
)

// fault turns the server's error into a failure.
func (m *mysqlServer) fault(said *mysql.MySQLError, s statement) error {
	message := neterr.WithoutAddresses(mysqlAccount.ReplaceAllString(said.Message, ""))
	message = quotedData.ReplaceAllString(message, "$1'"+secret.Masked+"'$2")
	if len(s.pasted) > 0 {
		message = quotedStatement.ReplaceAllString(message, "near '"+secret.Masked+"'")
	}
	message = effect.Clip(withoutValues(message, "", s))
	switch {
	case slices.Contains(mysqlAuthCodes, said.Number):
		return effect.Permanent(effect.ReasonAuth, "the source %q refuses the user: %s (error %d)", m.source.Name, message, said.Number)
	case slices.Contains(mysqlTimeoutCodes, said.Number):
		return effect.Transient(effect.ReasonTimeout, "the source %q: %s (error %d)", m.source.Name, message, said.Number)
	case slices.Contains(mysqlTransientCodes, said.Number):
		return effect.Transient(effect.ReasonRequest, "the source %q: %s (error %d)", m.source.Name, message, said.Number)
	default:
		return effect.Permanent(effect.ReasonRequest, "the source %q refused the statement: %s (error %d)", m.source.Name, message, said.Number)
	}
}
