package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/api"
)

const tokenPath = "/v1/apps/clinic/sessions/s1/token"

// over checks that a token is one no more, on every route that it was good for.
func (w world) over(token string, replicas ...*service) {
	w.t.Helper()
	for _, replica := range append(replicas, w.service) {
		replica.call("POST", messagesPath, hello, bearer(token)).problem(401, "ended with its session")
		replica.call("GET", messagesPath, "", bearer(token)).problem(401)
		replica.call("POST", "/v1/apps/clinic/sessions/s1/triggers", `{"name":"n","source":"ui"}`, bearer(token)).problem(401)
		replica.call("GET", sessionEvents, "", bearer(token)).problem(401)
		replica.call("GET", sessionEvents+"?access_token="+token, "", "Authorization: none").problem(401)
	}
}

func TestASessionTokenEndsWithItsAppAndItsSession(t *testing.T) {
	w := live(t, everything, func(o *api.Options) { o.Events = quietEvents{} })
	other := w.secondReplica()
	w.call("PUT", "/v1/apps/clinic", `{}`).is(201, "")
	token := func() string {
		made := w.call("POST", tokenPath, "").made().Token
		other.call("GET", messagesPath, "", bearer(made)).is(200, "") // it has the session in mind now
		return made
	}
	unused := token()
	w.call("DELETE", "/v1/apps/clinic", "").is(204, "")
	w.over(unused, other)
	w.call("PUT", "/v1/apps/clinic", `{"name":"The next tenant"}`).is(201, "")
	w.over(unused, other)
	w.call("POST", messagesPath, `{"actor":"user","text":"for the next tenant alone"}`).is(200, "")
	w.over(unused, other)

	mine := token()
	elsewhere := w.call("POST", "/v1/apps/clinic/sessions/s2/token", "").made().Token
	w.call("POST", messagesPath, hello, bearer(mine)).is(200, "")
	w.call("PUT", "/v1/apps/clinic", `{"name":"changed"}`).is(200, "")
	w.call("GET", messagesPath, "", bearer(mine)).is(200, "")
	w.call("DELETE", "/v1/apps/clinic/sessions/s1", "").is(204, "")
	w.over(mine, other)
	w.call("POST", messagesPath, `{"actor":"user","text":"for the next visitor alone"}`).is(200, "")
	w.over(mine, other)
	w.call("GET", "/v1/apps/clinic/sessions/s2/messages", "", bearer(elsewhere)).is(200, "")
	w.call("GET", messagesPath, "", bearer(token())).is(200, "")
}

func TestAStreamEndsWithItsSession(t *testing.T) {
	s := onStage(t)
	open := func() *stream {
		token := s.call("POST", tokenPath, "").made().Token
		opened := s.open(sessionEvents, token)
		require.Equal(t, 200, opened.StatusCode)
		return opened
	}
	mine := open()
	s.call("DELETE", "/v1/apps/clinic/sessions/s1", "").is(204, "")
	mine.ends()
	mine = open()
	s.call("DELETE", "/v1/apps/clinic", "").is(204, "")
	mine.ends()
}

func TestAFrontEndPostsAsItsUserAlone(t *testing.T) {
	w := live(t, everything)
	w.call("PUT", "/v1/apps/clinic", `{}`).is(201, "")
	token := w.call("POST", tokenPath, "").made().Token
	const said = `{"actor":"agent","text":"Your appointment is cancelled."}`
	w.call("POST", messagesPath, said, bearer(token)).problem(403)
	w.call("POST", messagesPath, said, bearer(token), "Prefer: respond-async").problem(403)
	w.call("GET", messagesPath, "", bearer(token)).is(200, `{"items":[]}`)
	w.call("POST", messagesPath, said).is(200, "")
}
