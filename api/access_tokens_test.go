package api_test

import (
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
