package clients

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What SERMAS's own client prints.
const sermasPrints = `signed in: Bearer 300 tools messages triggers
stored: desk s1 book
changed: created desk
said: undefined
triggered: clinic s1 book day=Friday userId=u7 false
not matching: s1 desk
remembered: user message I want to book an appointment on Friday
remembered: user message What a lovely sunset
changed: updated book hours
renewed: true
triggered: Monday
removed: deleted desk
another app sees: app/other/dialogue/tool/changed/own
refused: 403 …
left out: 404
stranger: true
`

// TestClientOfSERMASWorksAsItIs has the unmodified @sermas/api-client sign in by a module, and
// mqtt.js ask for whatever there is.
func TestClientOfSERMASWorksAsItIs(t *testing.T) {
	folder := withPackages(t, "sermas")
	s := dev(t)
	for app, secret := range map[string]string{"clinic": "s3cret", "other": "else"} {
		s.call("PUT", "/v1/apps/"+app, `{"modules":[{"moduleId":"avatar","secret":"`+secret+`"}]}`)
	}
	got := run(t, folder, "node", "sermas.mjs", s.url, "clinic", "avatar", "s3cret", "other", "other-avatar", "else")
	require.Regexp(t, "^"+anything(sermasPrints)+"$", got)
}
