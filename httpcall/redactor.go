package httpcall

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"

	"earshot/repositories"
	"earshot/repositories/secret"
	"earshot/trigger/effect"
)

// leastMasked is the length from which a credential is masked in answers. A shorter
// one would be found in ordinary text, and spoil it.
const leastMasked = 6

// redactor holds the credentials that a call sends, to keep them out of its outcome: an
// endpoint may send back what it was sent, and results travel.
type redactor struct{ texts []string }

// redactorOf returns the redactor of what a request and its URL hold; tokens are added when
// they are had.
func redactorOf(request *repositories.Request, target *url.URL) redactor {
	var m redactor
	if pair := request.Basic; pair != nil {
		m.addBasic(pair.Username, pair.Password.Reveal())
	}
	if password, has := target.User.Password(); has {
		m.addBasic(target.User.Username(), password)
	}
	for _, value := range request.Headers.Credentials() {
		m.add(value.Reveal())
		if _, bare, two := strings.Cut(value.Reveal(), " "); two { // as in "ApiKey …"
			m.add(bare)
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
	if len(credential) < leastMasked {
		return
	}
	m.texts = append(m.texts, credential)
	quoted := string(compact(credential))
	if quoted = quoted[1 : len(quoted)-1]; quoted != credential {
		m.texts = append(m.texts, quoted)
	}
}

// over returns text with the credentials masked.
func (m *redactor) over(text string) string {
	for _, credential := range m.texts {
		text = strings.ReplaceAll(text, credential, secret.Masked)
	}
	return text
}

// jsonString finds the string literals of a text that is known to be JSON.
var jsonString = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// overJSON masks inside the strings of a JSON text, in whatever way they are escaped.
// All else stays as it is, byte for byte.
func (m *redactor) overJSON(text []byte) []byte {
	if len(m.texts) == 0 {
		return text
	}
	return jsonString.ReplaceAllFunc(text, func(literal []byte) []byte {
		var plain string
		if json.Unmarshal(literal, &plain) != nil {
			return literal
		}
		if masked := m.over(plain); masked != plain {
			return compact(masked)
		}
		return literal
	})
}

// outcome masks the outcome's text; its result is masked before it is cut.
func (m *redactor) outcome(outcome effect.Outcome) effect.Outcome {
	outcome.Error = m.over(outcome.Error)
	return outcome
}
