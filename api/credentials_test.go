package api_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/deploy/testbed/apitest"
	"earshot/repositories/keyspace"
	"earshot/repositories/secret"
	"earshot/repositories/store"
)

const keysPath = "/v1/apps/clinic/keys"

func keys(w apitest.World, credential string) (list []apitest.Made) {
	return bodyOf[pageOf[apitest.Made]](w.Call("GET", keysPath, "", apitest.Bearer(credential)).Is(200, "")).Items
}

// secondReplica runs another API with its own store on the same Redis.
func secondReplica(w apitest.World) *apitest.Service {
	client := redis.NewClient(&redis.Options{Addr: w.Redis.Addr()})
	w.T.Cleanup(func() { _ = client.Close() })
	db := &keyspace.DB{UniversalClient: client, Embedded: w.Redis.Embedded()}
	store := store.New(db, store.Options{Sealer: w.Sealer, SessionTTL: time.Hour})
	return start(w.T, func(o *api.Options) { o.Store, o.Keys, o.Tokens = store, store, w.Sealer }).Service
}

func TestAKeyIsMadeUsedListedAndRevoked(t *testing.T) {
	w := atClinic(t)
	owner := w.Call("POST", keysPath, `{"name":"ops","scopes":["app","tools","messages"]}`).Made()
	key := w.Call("POST", keysPath, `{"name":"back-end","scopes":["tools","messages"],"expiresIn":"720h"}`, apitest.Bearer(owner.Key)).Made()
	require.Regexp(t, `^ek_clinic\.[A-Z2-7]{26}\.[A-Za-z0-9_-]{43}$`, key.Key)
	require.WithinDuration(t, time.Now().Add(720*time.Hour), key.Expires, time.Minute)
	w.Call("PUT", apitest.BookingPath, hoursBody, apitest.Bearer(key.Key)).Is(201, "")

	listed := keys(w, owner.Key)
	require.Len(t, listed, 2)
	for _, one := range listed {
		require.Empty(t, one.Key)
		require.WithinDuration(t, time.Now(), one.LastUsed, time.Minute, "%s was used", one.Name)
	}
	require.NotContains(t, string(w.Call("GET", keysPath, "").Body), "hash")
	stored := w.Redis.Client().HGetAll(t.Context(), keyspace.KeysOf("clinic").AppKeys()).Val()
	require.Len(t, stored, 2)
	for _, text := range stored {
		require.NotContains(t, text, strings.Split(key.Key, ".")[2], "a key is stored as a hash")
	}
	require.NotContains(t, w.Log.String(), strings.Split(key.Key, ".")[2])

	w.Call("DELETE", keysPath+"/"+key.KeyID, "", apitest.Bearer(owner.Key)).Is(204, "")
	w.Call("PUT", apitest.BookingPath, hoursBody, apitest.Bearer(key.Key)).Problem(401, "not valid")
	w.Call("DELETE", keysPath+"/"+key.KeyID, "").Problem(404)
	require.Len(t, keys(w, owner.Key), 1)
	w.Call("DELETE", "/v1/apps/clinic", "").Is(204, "")
	w.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
	require.Empty(t, keys(w, apitest.AdminKey), "the keys of an app go with it")
}

func TestARevokedKeyIsRefusedByAllReplicasAtOnce(t *testing.T) {
	w := atClinic(t)
	other := secondReplica(w)
	for range 3 {
		key := w.Call("POST", keysPath, `{"scopes":["messages"]}`).Made()
		token := w.Call("POST", "/v1/apps/clinic/sessions/s1/token", "", apitest.Bearer(key.Key)).Made()
		other.Call("POST", "/v1/apps/clinic/sessions/s1/token", "", apitest.Bearer(key.Key)).Is(201, "") // it caches the key now
		w.Call("DELETE", keysPath+"/"+key.KeyID, "").Is(204, "")
		other.Call("POST", "/v1/apps/clinic/sessions/s1/token", "", apitest.Bearer(key.Key)).Problem(401)
		other.Call("GET", apitest.MessagesPath, "", apitest.Bearer(token.Token)).Problem(401)
		w.Call("GET", apitest.MessagesPath, "", apitest.Bearer(token.Token)).Problem(401)
	}
}

func TestAKeyWithFaultsIsNotMade(t *testing.T) {
	w := atClinic(t)
	for body, pointer := range map[string]string{
		`{}`: "/scopes", `{"scopes":[]}`: "/scopes", `{"scopes":["all"]}`: "/scopes/0", `{"scopes":["app"],"expiresIn":"soon"}`: "/expiresIn",
		`{"scopes":["app"],"expiresIn":"-1h"}`: "/expiresIn", `{"scopes":["app"],"expiresIn":"1000000h"}`: "/expiresIn", `{"scope":["app"],"scopes":["app"]}`: "/scope",
	} {
		require.Contains(t, w.Call("POST", keysPath, body).Problem(400), pointer, body)
	}
	require.Contains(t, string(w.Call("POST", keysPath, `{"scopes":["trigger:read"]}`).Body),
		`"allowed":["tools","messages","triggers","app","tools:read","messages:read","triggers:read","app:read"],"suggestion":"triggers:read"`)
	w.Call("POST", "/v1/apps/nobody/keys", `{"scopes":["app"]}`).Problem(404)
	w.Call("GET", "/v1/apps/nobody/keys", "").Problem(404)
}

func TestASessionTokenIsGoodForItsTime(t *testing.T) {
	w := atClinic(t)
	const path = "/v1/apps/clinic/sessions/s1/token"
	for body, life := range map[string]time.Duration{"": time.Hour, `{}`: time.Hour, `{"expiresIn":"24h"}`: 24 * time.Hour, `{"expiresIn":"30m"}`: 30 * time.Minute} {
		token := w.Call("POST", path, body).Made()
		require.WithinDuration(t, time.Now().Add(life), token.Expires, 10*time.Second)
		w.Call("POST", apitest.MessagesPath, apitest.HelloBody, apitest.Bearer(token.Token)).Is(200, "")
		w.Call("GET", apitest.MessagesPath, "", apitest.Bearer(token.Token)).Is(200, "")
	}
	for _, body := range []string{`{"expiresIn":"25h"}`, `{"expiresIn":"0s"}`, `{"expiresIn":3600}`, `{"expires":"1h"}`} {
		w.Call("POST", path, body).Problem(400)
	}
	w.Call("POST", "/v1/apps/nobody/sessions/s1/token", "").Problem(404)

	brief := w.Call("POST", keysPath, `{"scopes":["messages"],"expiresIn":"10m"}`).Made()
	token := w.Call("POST", path, `{"expiresIn":"24h"}`, apitest.Bearer(brief.Key)).Made()
	require.Equal(t, brief.Expires.Unix(), token.Expires.Unix(), "no token outlives its key")
}

func TestWhatExpiresIsRefusedFromThenOn(t *testing.T) {
	now := time.Now()
	w := atClinic(t, func(o *api.Options) { o.Now = func() time.Time { return now } })
	token := w.Call("POST", "/v1/apps/clinic/sessions/s1/token", "").Made()
	now = token.Expires.Add(-time.Nanosecond)
	w.Call("GET", apitest.MessagesPath, "", apitest.Bearer(token.Token)).Is(200, "")
	now = token.Expires
	got := w.Call("GET", apitest.MessagesPath, "", apitest.Bearer(token.Token))
	got.Problem(401, "expired")
	require.Contains(t, got.Header.Get("WWW-Authenticate"), "invalid_token")
}

func TestAKeyCanChangeItsAppButNotMakeOne(t *testing.T) {
	w := atClinic(t)
	key := w.Call("POST", keysPath, `{"scopes":["app"]}`).Made()
	w.Call("PUT", "/v1/apps/clinic", `{"name":"mine"}`, apitest.Bearer(key.Key)).Is(200, "")
	w.Call("PUT", "/v1/apps/fresh", `{}`, apitest.Bearer(key.Key)).Problem(403)
	w.Call("DELETE", "/v1/apps/clinic", "", apitest.Bearer(key.Key)).Problem(403)
	w.Call("GET", "/v1/apps", "", apitest.Bearer(key.Key)).Problem(403)
	w.Call("GET", "/v1/nothing", "", apitest.Bearer(key.Key)).Problem(404)
}

func TestWithoutRedisAKeyIs503AndAWrongOneAsWell(t *testing.T) {
	w := atClinic(t)
	key := w.Call("POST", keysPath, `{"scopes":["app"]}`).Made()
	w.Redis.Stop()
	w.Call("GET", "/v1/apps/clinic", "", apitest.Bearer(key.Key)).Problem(503)
	w.Call("GET", "/v1/apps/clinic", "", apitest.Bearer(strings.Replace(key.Key, "ek_clinic", "ek_nobody", 1))).Problem(503)
}

func TestWithoutAnAdminKeyKeysThatAreSentAreHonoured(t *testing.T) {
	w := apitest.Live(t, apitest.Everything, func(o *api.Options) { o.AdminKey = secret.Secret{} })
	w.Call("PUT", "/v1/apps/clinic", `{}`, "Authorization: ").Is(201, "")
	key := w.Call("POST", keysPath, `{"scopes":["tools"]}`, "Authorization: ").Made()
	w.Call("PUT", apitest.BookingPath, hoursBody, apitest.Bearer(key.Key)).Is(201, "")
	w.Call("POST", apitest.MessagesPath, apitest.HelloBody, apitest.Bearer(key.Key)).Problem(403)
	w.Call("POST", apitest.MessagesPath, apitest.HelloBody, apitest.Bearer(key.Key+"x")).Problem(401)
	w.Call("POST", apitest.MessagesPath, apitest.HelloBody, "Authorization: ").Is(200, "")
}

func TestWithoutAnAdminKeyPagesOfElsewhereAreRefused(t *testing.T) {
	w := apitest.Live(t, apitest.Everything, func(o *api.Options) { o.AdminKey = secret.Secret{} })
	w.Call("PUT", "/v1/apps/clinic", `{"settings":{"allowedOrigins":["https://app.example"]}}`).Is(201, "")
	w.Call("POST", apitest.MessagesPath, apitest.HelloBody, "Origin: https://evil.example").Problem(403, "evil.example")
	w.Call("POST", apitest.MessagesPath, apitest.HelloBody, "Origin: https://app.example").Is(200, "")
	w.Call("POST", apitest.MessagesPath, apitest.HelloBody, "Origin: "+w.URL).Is(200, "")
	rebound := httptest.NewRequest("GET", w.URL+"/v1/apps", nil)
	rebound.RequestURI, rebound.Host = "", "evil.example"
	w.Send(rebound).Problem(403, "loopback")
}

func TestMessagesOverTheLimitAre429(t *testing.T) {
	w := apitest.Live(t, apitest.Everything)
	w.Call("PUT", "/v1/apps/clinic", `{"settings":{"limits":{"sessionMessagesPerMinute":1,"toolsPerRepository":1,"repositoriesPerSession":1}}}`).Is(201, "")
	w.Call("POST", apitest.MessagesPath, apitest.HelloBody).Is(200, "")
	got := w.Call("POST", apitest.MessagesPath, `{"actor":"user","text":"again"}`)
	got.Problem(429, "sessionMessagesPerMinute")
	require.Regexp(t, `^(60|5\d)$`, got.Header.Get("Retry-After"))
	w.Call("POST", apitest.MessagesPath, `{"actor":"user","text":"again"}`, "Prefer: respond-async").Problem(429)
	shown := w.Call("GET", "/v1/apps/clinic", "").Is(200, "")
	require.Contains(t, string(shown.Body), `"limits":{"sessionMessagesPerMinute":1,`)
	w.Call("PUT", "/v1/apps/clinic", `{"settings":{"limits":{"sessionMessagesPerMinute":null,"toolsPerRepository":1,"repositoriesPerSession":1}}}`).Is(200, "")
	shown = w.Call("GET", "/v1/apps/clinic", "").Is(200, "")
	require.Contains(t, string(shown.Body), `"limits":{"sessionMessagesPerMinute":null,`)
	w.Call("PUT", "/v1/apps/clinic", string(shown.Body)).Is(200, "")
	w.Call("POST", apitest.MessagesPath, `{"actor":"user","text":"again"}`).Is(200, "")

	w.Call("PUT", apitest.BookingPath, `{"tools":[{"name":"a"},{"name":"b"}]}`).Problem(422, "toolsPerRepository")
	w.Call("PUT", apitest.BookingPath, `{"tools":[{"name":"a"}]}`).Is(201, "")
	w.Call("PATCH", apitest.BookingPath, `{"tools":[{"name":"b"}]}`).Problem(422, "toolsPerRepository")
	w.Call("POST", "/v1/apps/clinic/sessions/s1/repositories", `{"tools":[]}`).Problem(422, "repositoriesPerSession")
	w.Call("PUT", apitest.BookingPath, `{"tools":[{"name":"b"}]}`).Is(200, "")
	w.Call("PUT", "/v1/apps/clinic/sessions/s2/repositories/r", `{"tools":[]}`).Is(201, "")
	w.Call("PUT", "/v1/apps/clinic/repositories/r", `{"tools":[]}`).Is(201, "")
	w.Call("PUT", "/v1/apps/clinic/repositories/r2", `{"tools":[]}`).Is(201, "")
}

func TestAKeyMakesOneThatOnlyReadsWhatItChanges(t *testing.T) {
	w := atClinic(t)
	parent := w.Call("POST", keysPath, `{"scopes":["app","messages"]}`).Made()
	w.Call("POST", keysPath, `{"scopes":["messages:read","triggers:read"]}`, apitest.Bearer(parent.Key)).Problem(422, "it has app, messages")
	reader := w.Call("POST", keysPath, `{"scopes":["app:read","messages:read"]}`, apitest.Bearer(parent.Key)).Made()
	w.Call("GET", keysPath, "", apitest.Bearer(reader.Key)).Is(200, "")
	w.Call("POST", keysPath, `{"scopes":["app:read"]}`, apitest.Bearer(reader.Key)).Problem(403, "lacks the scope app; it has app:read, messages:read")
}

func TestAKeyMadeByAKeyEndsWithItAndDoesNoMore(t *testing.T) {
	w := atClinic(t)
	other := secondReplica(w)
	parent := w.Call("POST", keysPath, `{"scopes":["app","messages"],"expiresIn":"10m"}`).Made()
	sibling := w.Call("POST", keysPath, `{"scopes":["app"]}`).Made()
	refused := w.Call("POST", keysPath, `{"scopes":["app","tools","triggers"]}`, apitest.Bearer(parent.Key))
	refused.Problem(422, "it has app, messages")
	require.Contains(t, string(refused.Body), `"/scopes/1"`)
	require.NotContains(t, string(refused.Body), `"/scopes/0"`)

	for _, body := range []string{`{"scopes":["app","messages"]}`, `{"scopes":["messages","app"],"expiresIn":"720h"}`} {
		require.Equal(t, parent.Expires, w.Call("POST", keysPath, body, apitest.Bearer(parent.Key)).Made().Expires, "it ends with the key that asked")
	}
	child := w.Call("POST", keysPath, `{"scopes":["app","messages"],"expiresIn":"5m"}`, apitest.Bearer(parent.Key)).Made()
	require.True(t, child.Expires.Before(parent.Expires))
	grandchild := w.Call("POST", keysPath, `{"scopes":["messages"]}`, apitest.Bearer(child.Key)).Made()
	require.Equal(t, child.Expires, grandchild.Expires)
	token := w.Call("POST", "/v1/apps/clinic/sessions/s1/token", "", apitest.Bearer(grandchild.Key)).Made()
	for _, credential := range []string{child.Key, grandchild.Key, token.Token} {
		other.Call("GET", apitest.MessagesPath, "", apitest.Bearer(credential)).Is(200, "") // it caches them now
	}
	w.Call("DELETE", keysPath+"/"+parent.KeyID, "", apitest.Bearer(sibling.Key)).Is(204, "")
	for _, credential := range []string{parent.Key, child.Key, grandchild.Key, token.Token} {
		other.Call("GET", apitest.MessagesPath, "", apitest.Bearer(credential)).Problem(401)
		w.Call("GET", apitest.MessagesPath, "", apitest.Bearer(credential)).Problem(401)
	}
	w.Call("POST", keysPath, `{"scopes":["messages"]}`, apitest.Bearer(child.Key)).Problem(401)
	left := keys(w, apitest.AdminKey)
	require.Len(t, left, 1)
	require.Equal(t, sibling.KeyID, left[0].KeyID)
}

const tokenPath = "/v1/apps/clinic/sessions/s1/token"

// requireEnded checks that a token is no longer valid on any of its routes.
func requireEnded(w apitest.World, token string, replicas ...*apitest.Service) {
	w.T.Helper()
	for _, replica := range append(replicas, w.Service) {
		replica.Call("POST", apitest.MessagesPath, apitest.HelloBody, apitest.Bearer(token)).Problem(401, "ended because its session was closed")
		replica.Call("GET", apitest.MessagesPath, "", apitest.Bearer(token)).Problem(401)
		replica.Call("POST", "/v1/apps/clinic/sessions/s1/triggers", `{"name":"n","source":"ui"}`, apitest.Bearer(token)).Problem(401)
		replica.Call("GET", sessionEvents, "", apitest.Bearer(token)).Problem(401)
		replica.Call("GET", sessionEvents+"?access_token="+token, "", "Authorization: none").Problem(401)
	}
}

func TestASessionTokenEndsWithItsAppAndItsSession(t *testing.T) {
	w := apitest.Live(t, apitest.Everything, func(o *api.Options) { o.Events = apitest.QuietEvents{} })
	other := secondReplica(w)
	w.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
	token := func() string {
		made := w.Call("POST", tokenPath, "").Made().Token
		other.Call("GET", apitest.MessagesPath, "", apitest.Bearer(made)).Is(200, "") // it caches the session now
		return made
	}
	unused := token()
	w.Call("DELETE", "/v1/apps/clinic", "").Is(204, "")
	requireEnded(w, unused, other)
	w.Call("PUT", "/v1/apps/clinic", `{"name":"The next tenant"}`).Is(201, "")
	requireEnded(w, unused, other)
	w.Call("POST", apitest.MessagesPath, `{"actor":"user","text":"for the next tenant alone"}`).Is(200, "")
	requireEnded(w, unused, other)

	mine := token()
	elsewhere := w.Call("POST", "/v1/apps/clinic/sessions/s2/token", "").Made().Token
	w.Call("POST", apitest.MessagesPath, apitest.HelloBody, apitest.Bearer(mine)).Is(200, "")
	w.Call("PUT", "/v1/apps/clinic", `{"name":"changed"}`).Is(200, "")
	w.Call("GET", apitest.MessagesPath, "", apitest.Bearer(mine)).Is(200, "")
	w.Call("DELETE", "/v1/apps/clinic/sessions/s1", "").Is(204, "")
	requireEnded(w, mine, other)
	w.Call("POST", apitest.MessagesPath, `{"actor":"user","text":"for the next visitor alone"}`).Is(200, "")
	requireEnded(w, mine, other)
	w.Call("GET", "/v1/apps/clinic/sessions/s2/messages", "", apitest.Bearer(elsewhere)).Is(200, "")
	w.Call("GET", apitest.MessagesPath, "", apitest.Bearer(token())).Is(200, "")
}

func TestAFrontEndPostsAsItsUserAlone(t *testing.T) {
	w := atClinic(t)
	token := w.Call("POST", tokenPath, "").Made().Token
	const said = `{"actor":"agent","text":"Your appointment is cancelled."}`
	w.Call("POST", apitest.MessagesPath, said, apitest.Bearer(token)).Problem(403)
	w.Call("POST", apitest.MessagesPath, said, apitest.Bearer(token), "Prefer: respond-async").Problem(403)
	w.Call("GET", apitest.MessagesPath, "", apitest.Bearer(token)).Is(200, `{"items":[]}`)
	w.Call("POST", apitest.MessagesPath, said).Is(200, "")
}
