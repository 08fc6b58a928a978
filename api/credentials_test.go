package api_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/repositories/keyspace"
	"earshot/repositories/secret"
	"earshot/repositories/store"
)

const keysPath = "/v1/apps/clinic/keys"

// made is a key or a token that was just made.
type made struct {
	KeyID, Key, Token string
	Expires           time.Time `json:"expiresAt"`
	LastUsed          time.Time
	Scopes            []string
	Name              string
}

func (a answer) made() (m made) {
	a.t.Helper()
	a.is(201, "")
	require.NoError(a.t, json.Unmarshal(a.body, &m))
	return m
}

func bearer(text string) string { return "Authorization: Bearer " + text }

func (w world) keys(credential string) (list []made) {
	var page struct{ Items []made }
	require.NoError(w.t, json.Unmarshal(w.call("GET", keysPath, "", bearer(credential)).is(200, "").body, &page))
	return page.Items
}

// secondReplica runs another API over a store of its own on the same Redis.
func (w world) secondReplica() *service {
	client := redis.NewClient(&redis.Options{Addr: w.redis.Addr()})
	w.t.Cleanup(func() { _ = client.Close() })
	db := &keyspace.DB{UniversalClient: client, Embedded: w.redis.Embedded()}
	store := store.New(db, store.Options{Sealer: w.sealer, SessionTTL: time.Hour})
	return start(w.t, func(o *api.Options) { o.Store, o.Keys, o.Tokens = store, store, w.sealer }).service
}

func TestAKeyIsMadeUsedListedAndRevoked(t *testing.T) {
	w := live(t, everything)
	w.call("PUT", "/v1/apps/clinic", `{}`).is(201, "")
	owner := w.call("POST", keysPath, `{"name":"ops","scopes":["app","tools","messages"]}`).made()
	key := w.call("POST", keysPath, `{"name":"back-end","scopes":["tools","messages"],"expiresIn":"720h"}`, bearer(owner.Key)).made()
	require.Regexp(t, `^ek_clinic\.[A-Z2-7]{26}\.[A-Za-z0-9_-]{43}$`, key.Key)
	require.WithinDuration(t, time.Now().Add(720*time.Hour), key.Expires, time.Minute)
	w.call("PUT", bookingPath, hoursBody, bearer(key.Key)).is(201, "")

	listed := w.keys(owner.Key)
	require.Len(t, listed, 2)
	for _, one := range listed {
		require.Empty(t, one.Key)
		require.WithinDuration(t, time.Now(), one.LastUsed, time.Minute, "%s was used", one.Name)
	}
	require.NotContains(t, string(w.call("GET", keysPath, "").body), "hash")
	stored := w.redis.Client().HGetAll(t.Context(), keyspace.KeysOf("clinic").AppKeys()).Val()
	require.Len(t, stored, 2)
	for _, text := range stored {
		require.NotContains(t, text, strings.Split(key.Key, ".")[2], "a key is stored as a hash")
	}
	require.NotContains(t, w.log.String(), strings.Split(key.Key, ".")[2])

	w.call("DELETE", keysPath+"/"+key.KeyID, "", bearer(owner.Key)).is(204, "")
	w.call("PUT", bookingPath, hoursBody, bearer(key.Key)).problem(401, "not valid")
	w.call("DELETE", keysPath+"/"+key.KeyID, "").problem(404)
	require.Len(t, w.keys(owner.Key), 1)
	w.call("DELETE", "/v1/apps/clinic", "").is(204, "")
	w.call("PUT", "/v1/apps/clinic", `{}`).is(201, "")
	require.Empty(t, w.keys(adminKey), "the keys of an app go with it")
}

func TestARevokedKeyIsRefusedByAllReplicasAtOnce(t *testing.T) {
	w := live(t, everything)
	w.call("PUT", "/v1/apps/clinic", `{}`).is(201, "")
	other := w.secondReplica()
	for range 3 {
		key := w.call("POST", keysPath, `{"scopes":["messages"]}`).made()
		token := w.call("POST", "/v1/apps/clinic/sessions/s1/token", "", bearer(key.Key)).made()
		other.call("POST", "/v1/apps/clinic/sessions/s1/token", "", bearer(key.Key)).is(201, "") // it has the key in mind now
		w.call("DELETE", keysPath+"/"+key.KeyID, "").is(204, "")
		other.call("POST", "/v1/apps/clinic/sessions/s1/token", "", bearer(key.Key)).problem(401)
		other.call("GET", messagesPath, "", bearer(token.Token)).problem(401)
		w.call("GET", messagesPath, "", bearer(token.Token)).problem(401)
	}
}

func TestAKeyWithFaultsIsNotMade(t *testing.T) {
	w := live(t, everything)
	w.call("PUT", "/v1/apps/clinic", `{}`).is(201, "")
	for body, pointer := range map[string]string{
		`{}`: "/scopes", `{"scopes":[]}`: "/scopes", `{"scopes":["all"]}`: "/scopes/0", `{"scopes":["app"],"expiresIn":"soon"}`: "/expiresIn",
		`{"scopes":["app"],"expiresIn":"-1h"}`: "/expiresIn", `{"scopes":["app"],"expiresIn":"1000000h"}`: "/expiresIn", `{"scope":["app"],"scopes":["app"]}`: "/scope",
	} {
		require.Contains(t, w.call("POST", keysPath, body).problem(400), pointer, body)
	}
	w.call("POST", "/v1/apps/nobody/keys", `{"scopes":["app"]}`).problem(404)
	w.call("GET", "/v1/apps/nobody/keys", "").problem(404)
}

func TestASessionTokenIsGoodForItsTime(t *testing.T) {
	w := live(t, everything)
	w.call("PUT", "/v1/apps/clinic", `{}`).is(201, "")
	const path = "/v1/apps/clinic/sessions/s1/token"
	for body, life := range map[string]time.Duration{"": time.Hour, `{}`: time.Hour, `{"expiresIn":"24h"}`: 24 * time.Hour, `{"expiresIn":"30m"}`: 30 * time.Minute} {
		token := w.call("POST", path, body).made()
		require.WithinDuration(t, time.Now().Add(life), token.Expires, 10*time.Second)
		w.call("POST", messagesPath, hello, bearer(token.Token)).is(200, "")
		w.call("GET", messagesPath, "", bearer(token.Token)).is(200, "")
	}
	for _, body := range []string{`{"expiresIn":"25h"}`, `{"expiresIn":"0s"}`, `{"expiresIn":3600}`, `{"expires":"1h"}`} {
		w.call("POST", path, body).problem(400)
	}
	w.call("POST", "/v1/apps/nobody/sessions/s1/token", "").problem(404)

	brief := w.call("POST", keysPath, `{"scopes":["messages"],"expiresIn":"10m"}`).made()
	token := w.call("POST", path, `{"expiresIn":"24h"}`, bearer(brief.Key)).made()
	require.Equal(t, brief.Expires.Unix(), token.Expires.Unix(), "no token outlives its key")
}

func TestWhatExpiresIsRefusedFromThenOn(t *testing.T) {
	now := time.Now()
	w := live(t, everything, func(o *api.Options) { o.Now = func() time.Time { return now } })
	w.call("PUT", "/v1/apps/clinic", `{}`).is(201, "")
	token := w.call("POST", "/v1/apps/clinic/sessions/s1/token", "").made()
	now = token.Expires.Add(-time.Nanosecond)
	w.call("GET", messagesPath, "", bearer(token.Token)).is(200, "")
	now = token.Expires
	got := w.call("GET", messagesPath, "", bearer(token.Token))
	got.problem(401, "expired")
	require.Contains(t, got.Header.Get("WWW-Authenticate"), "invalid_token")
}

func TestAKeyCanChangeItsAppButNotMakeOne(t *testing.T) {
	w := live(t, everything)
	w.call("PUT", "/v1/apps/clinic", `{}`).is(201, "")
	key := w.call("POST", keysPath, `{"scopes":["app"]}`).made()
	w.call("PUT", "/v1/apps/clinic", `{"name":"mine"}`, bearer(key.Key)).is(200, "")
	w.call("PUT", "/v1/apps/fresh", `{}`, bearer(key.Key)).problem(403)
	w.call("DELETE", "/v1/apps/clinic", "", bearer(key.Key)).problem(403)
	w.call("GET", "/v1/apps", "", bearer(key.Key)).problem(403)
	w.call("GET", "/v1/nothing", "", bearer(key.Key)).problem(404)
}

func TestWithoutRedisAKeyIs503AndAWrongOneAsWell(t *testing.T) {
	w := live(t, everything)
	w.call("PUT", "/v1/apps/clinic", `{}`).is(201, "")
	key := w.call("POST", keysPath, `{"scopes":["app"]}`).made()
	w.redis.Stop()
	w.call("GET", "/v1/apps/clinic", "", bearer(key.Key)).problem(503)
	w.call("GET", "/v1/apps/clinic", "", bearer(strings.Replace(key.Key, "ek_clinic", "ek_nobody", 1))).problem(503)
}

func TestWithoutAnAdminKeyKeysThatAreSentAreHonoured(t *testing.T) {
	w := live(t, everything, func(o *api.Options) { o.AdminKey = secret.Secret{} })
	w.call("PUT", "/v1/apps/clinic", `{}`, "Authorization: ").is(201, "")
	key := w.call("POST", keysPath, `{"scopes":["tools"]}`, "Authorization: ").made()
	w.call("PUT", bookingPath, hoursBody, bearer(key.Key)).is(201, "")
	w.call("POST", messagesPath, hello, bearer(key.Key)).problem(403)
	w.call("POST", messagesPath, hello, bearer(key.Key+"x")).problem(401)
	w.call("POST", messagesPath, hello, "Authorization: ").is(200, "")
}

func TestWithoutAnAdminKeyPagesOfElsewhereAreRefused(t *testing.T) {
	w := live(t, everything, func(o *api.Options) { o.AdminKey = secret.Secret{} })
	w.call("PUT", "/v1/apps/clinic", `{"settings":{"allowedOrigins":["https://app.example"]}}`).is(201, "")
	w.call("POST", messagesPath, hello, "Origin: https://evil.example").problem(403, "evil.example")
	w.call("POST", messagesPath, hello, "Origin: https://app.example").is(200, "")
	w.call("POST", messagesPath, hello, "Origin: "+w.url).is(200, "")
	rebound := httptest.NewRequest("GET", w.url+"/v1/apps", nil)
	rebound.RequestURI, rebound.Host = "", "evil.example"
	w.send(rebound).problem(403, "loopback")
}

func TestMessagesOverTheLimitAre429(t *testing.T) {
	w := live(t, everything)
	w.call("PUT", "/v1/apps/clinic", `{"settings":{"limits":{"sessionMessagesPerMinute":1,"toolsPerRepository":1,"repositoriesPerSession":1}}}`).is(201, "")
	w.call("POST", messagesPath, hello).is(200, "")
	got := w.call("POST", messagesPath, `{"actor":"user","text":"again"}`)
	got.problem(429, "sessionMessagesPerMinute")
	require.Regexp(t, `^(60|5\d)$`, got.Header.Get("Retry-After"))
	w.call("POST", messagesPath, `{"actor":"user","text":"again"}`, "Prefer: respond-async").problem(429)
	shown := w.call("GET", "/v1/apps/clinic", "").is(200, "")
	require.Contains(t, string(shown.body), `"limits":{"sessionMessagesPerMinute":1,`)
	w.call("PUT", "/v1/apps/clinic", `{"settings":{"limits":{"sessionMessagesPerMinute":null,"toolsPerRepository":1,"repositoriesPerSession":1}}}`).is(200, "")
	shown = w.call("GET", "/v1/apps/clinic", "").is(200, "")
	require.Contains(t, string(shown.body), `"limits":{"sessionMessagesPerMinute":null,`)
	w.call("PUT", "/v1/apps/clinic", string(shown.body)).is(200, "")
	w.call("POST", messagesPath, `{"actor":"user","text":"again"}`).is(200, "")

	w.call("PUT", bookingPath, `{"tools":[{"name":"a"},{"name":"b"}]}`).problem(422, "toolsPerRepository")
	w.call("PUT", bookingPath, `{"tools":[{"name":"a"}]}`).is(201, "")
	w.call("PATCH", bookingPath, `{"tools":[{"name":"b"}]}`).problem(422, "toolsPerRepository")
	w.call("POST", "/v1/apps/clinic/sessions/s1/repositories", `{"tools":[]}`).problem(422, "repositoriesPerSession")
	w.call("PUT", bookingPath, `{"tools":[{"name":"b"}]}`).is(200, "")
	w.call("PUT", "/v1/apps/clinic/sessions/s2/repositories/r", `{"tools":[]}`).is(201, "")
	w.call("PUT", "/v1/apps/clinic/repositories/r", `{"tools":[]}`).is(201, "")
	w.call("PUT", "/v1/apps/clinic/repositories/r2", `{"tools":[]}`).is(201, "")
}

func TestAKeyMadeByAKeyEndsWithItAndDoesNoMore(t *testing.T) {
	w := live(t, everything)
	w.call("PUT", "/v1/apps/clinic", `{}`).is(201, "")
	other := w.secondReplica()
	parent := w.call("POST", keysPath, `{"scopes":["app","messages"],"expiresIn":"10m"}`).made()
	sibling := w.call("POST", keysPath, `{"scopes":["app"]}`).made()
	refused := w.call("POST", keysPath, `{"scopes":["app","tools","triggers"]}`, bearer(parent.Key))
	refused.problem(422, "it has app, messages")
	require.Contains(t, string(refused.body), `"/scopes/1"`)
	require.NotContains(t, string(refused.body), `"/scopes/0"`)

	for _, body := range []string{`{"scopes":["app","messages"]}`, `{"scopes":["messages","app"],"expiresIn":"720h"}`} {
		require.Equal(t, parent.Expires, w.call("POST", keysPath, body, bearer(parent.Key)).made().Expires, "it ends with the key that asked")
	}
	child := w.call("POST", keysPath, `{"scopes":["app","messages"],"expiresIn":"5m"}`, bearer(parent.Key)).made()
	require.True(t, child.Expires.Before(parent.Expires))
	grandchild := w.call("POST", keysPath, `{"scopes":["messages"]}`, bearer(child.Key)).made()
	require.Equal(t, child.Expires, grandchild.Expires)
	token := w.call("POST", "/v1/apps/clinic/sessions/s1/token", "", bearer(grandchild.Key)).made()
	for _, credential := range []string{child.Key, grandchild.Key, token.Token} {
		other.call("GET", messagesPath, "", bearer(credential)).is(200, "") // it has them in mind now
	}
	w.call("DELETE", keysPath+"/"+parent.KeyID, "", bearer(sibling.Key)).is(204, "")
	for _, credential := range []string{parent.Key, child.Key, grandchild.Key, token.Token} {
		other.call("GET", messagesPath, "", bearer(credential)).problem(401)
		w.call("GET", messagesPath, "", bearer(credential)).problem(401)
	}
	w.call("POST", keysPath, `{"scopes":["messages"]}`, bearer(child.Key)).problem(401)
	left := w.keys(adminKey)
	require.Len(t, left, 1)
	require.Equal(t, sibling.KeyID, left[0].KeyID)
}

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
