package httpcall

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/secret"
	"earshot/trigger/effect"
)

// minRedacted is the length from which a credential is redacted in answers. A shorter
// one would be found in ordinary text, and spoil it.
const minRedacted = 6

// redactor masks the credentials that a call sends in its outcome: an endpoint may send
// back what it was sent, and results travel.
type redactor struct{ credentials []string }

// redactorOf returns the redactor of the credentials in a request and its URL. Tokens are
// added when they are there.
func redactorOf(request *repositories.Request, target *url.URL) redactor {
	var m redactor
	if basic := request.Basic; basic != nil {
		m.addBasic(basic.Username, basic.Password.Reveal())
	}
	if password, has := target.User.Password(); has {
		m.addBasic(target.User.Username(), password)
	}
	for _, value := range request.Headers.Credentials() {
		m.add(value.Reveal())
		if _, token, two := strings.Cut(value.Reveal(), " "); two { // as in "ApiKey …"
			m.add(token)
		}
	}
	return m
}

func (m *redactor) addBasic(username, password string) {
	m.add(base64.StdEncoding.EncodeToString([]byte(username + ":" + password)))
	m.add(password)
}

// add masks a credential as it is and as JSON strings inside of text mostly hold it.
func (m *redactor) add(credential string) {
	if len(credential) < minRedacted {
		return
	}
	m.credentials = append(m.credentials, credential)
	quoted := string(exactjson.EncodeOrNull(credential))
	if quoted = quoted[1 : len(quoted)-1]; quoted != credential {
		m.credentials = append(m.credentials, quoted)
	}
}

// redact returns text with the credentials masked.
func (m *redactor) redact(text string) string {
	for _, credential := range m.credentials {
		text = strings.ReplaceAll(text, credential, secret.Masked)
	}
	return text
}

// jsonString finds the string literals of a text that is known to be JSON.
var jsonString = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// redactJSON masks inside the strings of a JSON text, in whatever way they are escaped.
// All else stays as it is, byte for byte.
func (m *redactor) redactJSON(text []byte) []byte {
	if len(m.credentials) == 0 {
		return text
	}
	return jsonString.ReplaceAllFunc(text, func(literal []byte) []byte {
		var plain string
		if json.Unmarshal(literal, &plain) != nil {
			return literal
		}
		if masked := m.redact(plain); masked != plain {
			return exactjson.EncodeOrNull(masked)
		}
		return literal
	})
}

// redactOutcome masks the outcome's text; its result is masked before it is cut.
func (m *redactor) redactOutcome(outcome effect.Outcome) effect.Outcome {
	outcome.Error = m.redact(outcome.Error)
	return outcome
}
