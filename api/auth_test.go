package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/repositories/secret"
)

var openPaths = []string{"/healthz", "/readyz", "/metrics", "/openapi.json", "/asyncapi.json", "/docs"}

func TestWithoutTheKeyNothingOfAnAppIsServed(t *testing.T) {
	s := start(t)
	for _, path := range []string{"/v1/apps", "/v1/apps/clinic", messagesPath, "/v1/apps/clinic/triggers", "/v1/nothing", "/v1"} {
		for _, method := range []string{"GET", "POST", "PUT", "DELETE", "HEAD"} {
			got := s.call(method, path, hello, "Authorization: ")
			require.Equal(t, 401, got.StatusCode, method+path)
			require.Equal(t, `Bearer realm="earshot"`, got.Header.Get("WWW-Authenticate"))
		}
	}
	require.Zero(t, s.store.count()+s.engine.count())
}

func TestAKeyThatIsNotRightIsRefused(t *testing.T) {
	s := start(t)
	for _, authorization := range []string{
		"Bearer wrong", "Bearer " + adminKey + "x", "Bearer " + adminKey[1:], "Bearer ", "bearer", "Basic " + adminKey, adminKey, "Bearer Bearer " + adminKey,
	} {
		got := s.call("GET", "/v1/apps", "", "Authorization: "+authorization)
		got.problem(401)
		require.NotContains(t, string(got.body)+s.log.String(), adminKey)
	}
	got := s.call("GET", "/v1/apps", "", "Authorization: Bearer wrong")
	got.problem(401, "not valid")
	require.Equal(t, `Bearer realm="earshot", error="invalid_token"`, got.Header.Get("WWW-Authenticate"))
	require.Zero(t, s.store.count())
}

func TestTheSchemeOfTheKeyHasNoCase(t *testing.T) {
	s := start(t)
	for _, scheme := range []string{"Bearer", "bearer", "BEARER", "Bearer "} {
		s.call("GET", "/v1/apps", "", "Authorization: "+scheme+" "+adminKey).is(200, "")
	}
}

func TestOpenPathsNeedNoKey(t *testing.T) {
	s := start(t)
	for _, path := range openPaths {
		s.call("GET", path, "", "Authorization: ").is(200, "")
	}
}

func TestWithAnEmptyKeyNothingNeedsOne(t *testing.T) {
	s := start(t, func(o *api.Options) { o.AdminKey = secret.Secret{} })
	s.call("GET", "/v1/apps", "", "Authorization: ").is(200, `{"items":[]}`)
	s.call("GET", "/v1/apps", "", "Authorization: Bearer whatever").is(200, `{"items":[]}`)
}
