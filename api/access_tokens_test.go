package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/deploy/testbed/apitest"
	"earshot/repositories/secret"
	"earshot/repositories/store"
)

func TestAccessTokenIsAKeyOfItsAppUntilItExpires(t *testing.T) {
	now := time.Now()
	s := apitest.Live(t, apitest.Everything, func(o *api.Options) { o.Now = func() time.Time { return now } })
	s.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	s.Call("PUT", "/v1/apps/other", `{}`).Is(201, "")
	life, err := s.Store.Generation(t.Context(), "clinic", "")
	require.NoError(t, err)
	token := store.AccessToken{
		AppID: "clinic", ModuleID: "calendar", ClientID: "calendar", Lineage: "l1", Expires: now.Add(time.Minute), Generation: life,
		Scopes: []store.Permission{store.PermitTools, store.PermitMessages, store.PermitTriggers},
	}
	signed, err := s.Sealer.SignAccess(token, "t1")
	require.NoError(t, err)
	renewing, err := s.Sealer.SignRefresh(token, "t1")
	require.NoError(t, err)
	with := "Authorization: Bearer " + signed.Reveal()
	s.Call("PUT", "/v1/apps/clinic/repositories/booking", hoursBody, with).Is(201, "")
	s.Call("POST", apitest.MessagesPath, apitest.HelloBody, with).Is(200, "")
	s.Call("GET", "/v1/apps/clinic/triggers", "", with).Is(200, "")
	s.Call("GET", "/v1/apps/clinic", "", with).Problem(403, "lacks the scope app")
	s.Call("GET", "/v1/apps/other/repositories", "", with).Problem(403)
	s.Call("GET", "/v1/apps/clinic/triggers", "", "Authorization: Bearer "+renewing.Reveal()).Problem(401, "not valid")
	now = now.Add(time.Minute)
	s.Call("GET", "/v1/apps/clinic/triggers", "", with).Problem(401, "expired")
}

func TestAccessTokenEndsWithItsApp(t *testing.T) {
	s := apitest.Live(t, apitest.Everything)
	s.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	life, err := s.Store.Generation(t.Context(), "clinic", "")
	require.NoError(t, err)
	signed, err := s.Sealer.SignAccess(store.AccessToken{
		AppID: "clinic", ModuleID: "calendar", Expires: time.Now().Add(time.Minute), Generation: life, Scopes: []store.Permission{store.PermitTriggers},
	}, "t1")
	require.NoError(t, err)
	with := "Authorization: Bearer " + signed.Reveal()
	s.Call("GET", "/v1/apps/clinic/triggers", "", with).Is(200, "")
	s.Call("DELETE", "/v1/apps/clinic", "").Is(204, "")
	s.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	s.Call("GET", "/v1/apps/clinic/triggers", "", with).Problem(401, "ended with its app")
}

// Without an admin key, a token of ours still has only its own rights.
func TestForeignJWTIsNoKey(t *testing.T) {
	s := apitest.Live(t, apitest.Everything, func(o *api.Options) { o.AdminKey = secret.Secret{} })
	s.Call("GET", "/v1/apps", "", "Authorization: Bearer eyJhbGciOiJub25lIn0.e30.").Problem(401, "not valid")
}

// A module's token ends with the module and its secret, on every replica. So do its open streams and the
// front-end tokens made with it.
func TestAccessTokenEndsWithItsModule(t *testing.T) {
	for what, next := range map[string]string{"a module that is gone": `[]`, "another secret": `[{"moduleId":"avatar","secret":"another-secret-of-the-avatar"}]`} {
		t.Run(what, func(t *testing.T) {
			s := apitest.OnStage(t)
			other := s.Replica()
			s.Call("PATCH", "/v1/apps/clinic", `{"modules":[{"moduleId":"avatar","secret":"first-secret-of-the-avatar"}]}`).Is(200, "")
			app, err := s.Store.App(t.Context(), "clinic")
			require.NoError(t, err)
			life, err := s.Store.Generation(t.Context(), "clinic", "")
			require.NoError(t, err)
			signed, err := s.Sealer.SignAccess(store.AccessToken{
				AppID: "clinic", ModuleID: "avatar", ClientID: "avatar", Lineage: "l1", Expires: time.Now().Add(time.Hour), Generation: life,
				Scopes: []store.Permission{store.PermitTools, store.PermitMessages, store.PermitTriggers}, Grant: s.Sealer.Grant("clinic", app.Modules[0]),
			}, "t1")
			require.NoError(t, err)
			with := apitest.Bearer(signed.Reveal())
			s.Call("PUT", "/v1/apps/clinic/repositories/booking", hoursBody, with).Is(201, "")
			other.Call("GET", "/v1/apps/clinic/triggers", "", with).Is(200, "")
			visitor := apitest.Bearer(s.Call("POST", "/v1/apps/clinic/sessions/s1/token", "", with).Made().Token)
			s.Call("GET", apitest.MessagesPath, "", visitor).Is(200, "")
			stream := open(s, appEvents, signed.Reveal())

			s.Call("PATCH", "/v1/apps/clinic", `{"modules":`+next+`}`).Is(200, "")
			for _, replica := range []*apitest.Service{s.Service, other.Service} {
				require.Eventually(t, func() bool { return replica.Ask("GET", "/v1/apps/clinic/triggers", "", with).StatusCode == 401 }, time.Minute, 10*time.Millisecond)
				replica.Call("PUT", "/v1/apps/clinic/repositories/booking", hoursBody, with).Problem(401, "ended with its module")
				replica.Call("GET", apitest.MessagesPath, "", visitor).Problem(401, "ended with its module")
			}
			stream.ends()
		})
	}
}

// A new module may be newer than a replica's cached app.
func TestAccessTokenOfANewModuleIsGoodAtOnce(t *testing.T) {
	s := atClinic(t)
	life, err := s.Store.Generation(t.Context(), "clinic", "")
	require.NoError(t, err)
	for _, key := range []string{"first-secret-of-the-avatar", "another-secret-of-the-avatar"} {
		s.Call("PUT", "/v1/apps/clinic", `{"modules":[{"moduleId":"avatar","secret":"`+key+`"}]}`).Is(200, "")
		app, err := s.Store.App(t.Context(), "clinic")
		require.NoError(t, err)
		signed, err := s.Sealer.SignAccess(store.AccessToken{
			AppID: "clinic", ModuleID: "avatar", Expires: time.Now().Add(time.Hour), Generation: life, Scopes: []store.Permission{store.PermitTriggers}, Grant: s.Sealer.Grant("clinic", app.Modules[0]),
		}, "t1")
		require.NoError(t, err)
		s.Call("GET", "/v1/apps/clinic/triggers", "", apitest.Bearer(signed.Reveal())).Is(200, "")
	}
}

func TestAppSaysWhichSecretsAreTooShortToSignInWith(t *testing.T) {
	s := apitest.Live(t, apitest.Everything)
	const modules = `[{"moduleId":"a","secret":"x1"},{"moduleId":"b","secret":"0123456789abcdef"},{"moduleId":"c","secret":"aaaaaaaaaaaaaaaaaaaaaaaa"}]`
	notes := func(got apitest.Answer) (list []string) {
		read := bodyOf[struct{ Notes []string }](got)
		require.NotContains(t, string(got.Body), "x1")
		return read.Notes
	}
	want := []string{`secret of module "a" is too short to sign in with: at least 16 characters`, `secret of module "c" is too easily guessed to sign in with: at least 16 characters, more than 3 of them different`}
	require.Equal(t, want, notes(s.Call("PUT", "/v1/apps/clinic", `{"modules":`+modules+`}`).Is(201, "")))
	require.Equal(t, want, notes(s.Call("PATCH", "/v1/apps/clinic", `{"name":"Clinic"}`).Is(200, "")))
	require.Empty(t, notes(s.Call("GET", "/v1/apps/clinic", "").Is(200, "")))
}
