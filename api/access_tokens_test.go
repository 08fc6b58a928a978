package api_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/repositories/secret"
	"earshot/repositories/store"
)

func TestAccessTokenIsAKeyOfItsAppUntilItExpires(t *testing.T) {
	now := time.Now()
	s := live(t, everything, func(o *api.Options) { o.Now = func() time.Time { return now } })
	s.call("PUT", "/v1/apps/clinic", clinicBody).is(201, "")
	s.call("PUT", "/v1/apps/other", `{}`).is(201, "")
	life, err := s.store.Generation(t.Context(), "clinic", "")
	require.NoError(t, err)
	token := store.AccessToken{
		AppID: "clinic", ModuleID: "calendar", ClientID: "calendar", Lineage: "l1", Expires: now.Add(time.Minute), Life: life,
		Scopes: []store.Permission{store.PermitTools, store.PermitMessages, store.PermitTriggers},
	}
	signed, err := s.sealer.SignAccess(token, "t1")
	require.NoError(t, err)
	renewing, err := s.sealer.SignRefresh(token, "t1")
	require.NoError(t, err)
	with := "Authorization: Bearer " + signed.Reveal()
	s.call("PUT", "/v1/apps/clinic/repositories/booking", hoursBody, with).is(201, "")
	s.call("POST", messagesPath, hello, with).is(200, "")
	s.call("GET", "/v1/apps/clinic/triggers", "", with).is(200, "")
	s.call("GET", "/v1/apps/clinic", "", with).problem(403, "lacks the scope app")
	s.call("GET", "/v1/apps/other/repositories", "", with).problem(403)
	s.call("GET", "/v1/apps/clinic/triggers", "", "Authorization: Bearer "+renewing.Reveal()).problem(401, "not valid")
	now = now.Add(time.Minute)
	s.call("GET", "/v1/apps/clinic/triggers", "", with).problem(401, "expired")
}

func TestAccessTokenEndsWithItsApp(t *testing.T) {
	s := live(t, everything)
	s.call("PUT", "/v1/apps/clinic", clinicBody).is(201, "")
	life, err := s.store.Generation(t.Context(), "clinic", "")
	require.NoError(t, err)
	signed, err := s.sealer.SignAccess(store.AccessToken{
		AppID: "clinic", ModuleID: "calendar", Expires: time.Now().Add(time.Minute), Life: life, Scopes: []store.Permission{store.PermitTriggers},
	}, "t1")
	require.NoError(t, err)
	with := "Authorization: Bearer " + signed.Reveal()
	s.call("GET", "/v1/apps/clinic/triggers", "", with).is(200, "")
	s.call("DELETE", "/v1/apps/clinic", "").is(204, "")
	s.call("PUT", "/v1/apps/clinic", clinicBody).is(201, "")
	s.call("GET", "/v1/apps/clinic/triggers", "", with).problem(401, "ended with its app")
}

// With no key asked for whoever sends a token of ours is what that says, and no more.
func TestForeignJWTIsNoKey(t *testing.T) {
	s := live(t, everything, func(o *api.Options) { o.AdminKey = secret.Secret{} })
	s.call("GET", "/v1/apps", "", "Authorization: Bearer eyJhbGciOiJub25lIn0.e30.").problem(401, "not valid")
}

// A token of a module ends with it, and with its secret, on every replica: so do the streams and
// connections that it holds open, and the tokens for front-ends that were asked for with it.
func TestAccessTokenEndsWithItsModule(t *testing.T) {
	for what, next := range map[string]string{"a module that is gone": `[]`, "another secret": `[{"moduleId":"avatar","secret":"another-secret-of-the-avatar"}]`} {
		t.Run(what, func(t *testing.T) {
			s := onStage(t, sermas)
			other := s.replica()
			s.call("PATCH", "/v1/apps/clinic", `{"modules":[{"moduleId":"avatar","secret":"first-secret-of-the-avatar"}]}`).is(200, "")
			app, err := s.store.App(t.Context(), "clinic")
			require.NoError(t, err)
			life, err := s.store.Generation(t.Context(), "clinic", "")
			require.NoError(t, err)
			signed, err := s.sealer.SignAccess(store.AccessToken{
				AppID: "clinic", ModuleID: "avatar", ClientID: "avatar", Lineage: "l1", Expires: time.Now().Add(time.Hour), Life: life,
				Scopes: []store.Permission{store.PermitTools, store.PermitMessages, store.PermitTriggers}, Grant: s.sealer.Grant("clinic", app.Modules[0]),
			}, "t1")
			require.NoError(t, err)
			with := bearer(signed.Reveal())
			s.call("PUT", "/v1/apps/clinic/repositories/booking", hoursBody, with).is(201, "")
			other.call("GET", "/v1/apps/clinic/triggers", "", with).is(200, "")
			visitor := bearer(s.call("POST", "/v1/apps/clinic/sessions/s1/token", "", with).made().Token)
			s.call("GET", messagesPath, "", visitor).is(200, "")
			stream, follower := s.open(appEvents, signed.Reveal()), s.connected(signed.Reveal()).subscribe("#")

			s.call("PATCH", "/v1/apps/clinic", `{"modules":`+next+`}`).is(200, "")
			for _, replica := range []*service{s.service, other.service} {
				require.Eventually(t, func() bool { return replica.ask("GET", "/v1/apps/clinic/triggers", "", with).StatusCode == 401 }, time.Minute, 10*time.Millisecond)
				replica.call("PUT", "/v1/apps/clinic/repositories/booking", hoursBody, with).problem(401, "ended with its module")
				replica.call("GET", messagesPath, "", visitor).problem(401, "ended with its module")
			}
			stream.ends()
			follower.ended()
		})
	}
}

// A module that was just written may be newer than what a replica remembers of its app.
func TestAccessTokenOfANewModuleIsGoodAtOnce(t *testing.T) {
	s := live(t, everything)
	s.call("PUT", "/v1/apps/clinic", `{}`).is(201, "")
	life, err := s.store.Generation(t.Context(), "clinic", "")
	require.NoError(t, err)
	for _, key := range []string{"first-secret-of-the-avatar", "another-secret-of-the-avatar"} {
		s.call("PUT", "/v1/apps/clinic", `{"modules":[{"moduleId":"avatar","secret":"`+key+`"}]}`).is(200, "")
		app, err := s.store.App(t.Context(), "clinic")
		require.NoError(t, err)
		signed, err := s.sealer.SignAccess(store.AccessToken{
			AppID: "clinic", ModuleID: "avatar", Expires: time.Now().Add(time.Hour), Life: life, Scopes: []store.Permission{store.PermitTriggers}, Grant: s.sealer.Grant("clinic", app.Modules[0]),
		}, "t1")
		require.NoError(t, err)
		s.call("GET", "/v1/apps/clinic/triggers", "", bearer(signed.Reveal())).is(200, "")
	}
}

func TestAppSaysWhichSecretsAreTooShortToSignInWith(t *testing.T) {
	s := live(t, everything)
	const modules = `[{"moduleId":"a","secret":"x1"},{"moduleId":"b","secret":"0123456789abcdef"},{"moduleId":"c","secret":"aaaaaaaaaaaaaaaaaaaaaaaa"}]`
	notes := func(got answer) (list []string) {
		var read struct{ Notes []string }
		require.NoError(t, json.Unmarshal(got.body, &read))
		require.NotContains(t, string(got.body), "x1")
		return read.Notes
	}
	want := []string{`secret of module "a" is too short to sign in with: at least 16 characters`, `secret of module "c" is too easily guessed to sign in with: at least 16 characters, more than 3 of them different`}
	require.Equal(t, want, notes(s.call("PUT", "/v1/apps/clinic", `{"modules":`+modules+`}`).is(201, "")))
	require.Equal(t, want, notes(s.call("PATCH", "/v1/apps/clinic", `{"name":"Clinic"}`).is(200, "")))
	require.Empty(t, notes(s.call("GET", "/v1/apps/clinic", "").is(200, "")))
}
