package sqlquery

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"earshot/repositories/secret"
	"earshot/repositories/unreached"
	"earshot/trigger/effect"
)

// Codes of errors that pass by themselves, by class and alone (PostgreSQL
// documentation, appendix A). All others stay as long as the statement, its values and
// the database are what they are.
var (
	passingClasses = []string{
		"08", // connection exceptions
		"53", // insufficient resources, too many connections among them
		"57", // operator intervention: shutting down, starting up, cancelled
		"58", // system errors
	}
	passingCodes = []string{
		"40001", // serialization failure
		"40P01", // deadlock detected
		"55P03", // lock not available
		"55006", // object in use
		"25P03", // idle in transaction for too long
	}
)

// queryCancelled is the code of a statement that ran out of the server's own time.
const queryCancelled = "57014"

// completionUnknown is the code of a statement of which not even the server knows whether
// it ran.
const completionUnknown = "40003"

// fault judges what the server has said.
func (p *postgres) fault(said *pgconn.PgError, s statement) error {
	class := said.Code[:min(2, len(said.Code))]
	message := clip(withoutValues(said.Message, class, s))
	switch {
	case class == "28": // pg_hba.conf knows us by our address
		message = unreached.WithoutAddresses(message)
		return dead(effect.ReasonAuth, "the source %q refuses the user: %s (SQLSTATE %s)", p.source.Name, message, said.Code)
	case said.Code == queryCancelled:
		return retry(effect.ReasonTimeout, "the source %q: %s (SQLSTATE %s)", p.source.Name, message, said.Code)
	case said.Code == completionUnknown:
		return &lost{errors.New(message)}
	case slices.Contains(passingClasses, class), slices.Contains(passingCodes, said.Code):
		return retry(effect.ReasonRequest, "the source %q: %s (SQLSTATE %s)", p.source.Name, message, said.Code)
	default:
		return dead(effect.ReasonRequest, "the source %q refused the statement: %s (SQLSTATE %s)", p.source.Name, message, said.Code)
	}
}

var quoted = regexp.MustCompile(`"[^"]*"`)

// leastHidden is the length from which a value is looked for in a message: a shorter
// one would be found in ordinary words.
const leastHidden = 4

// withoutValues keeps the values of a call out of a message: where the message is about
// data (class 22) all that it quotes, and elsewhere what equals a value. Details and
// hints, which quote whole rows, are left out altogether.
func withoutValues(message, class string, s statement) string {
	if class == "22" {
		message = quoted.ReplaceAllString(message, `"`+secret.Masked+`"`)
	}
	for _, value := range append(slices.Clone(s.values), s.pasted...) {
		for _, hidden := range textsOf(value) {
			if len(hidden) >= leastHidden {
				message = strings.ReplaceAll(message, hidden, secret.Masked)
			}
		}
	}
	return message
}

// textsOf returns the texts in which a value may stand in a message: those of its
// members, and without the delimiters that an escape has put around it.
func textsOf(value any) []string {
	switch value := value.(type) {
	case string:
		if len(value) < 2 {
			return []string{value}
		}
		closing := value[len(value)-1:]
		return []string{value, strings.ReplaceAll(value[1:len(value)-1], closing+closing, closing)}
	case json.Number:
		return []string{value.String()}
	case []any:
		var texts []string
		for _, member := range value {
			texts = append(texts, textsOf(member)...)
		}
		return texts
	default:
		return nil
	}
}
