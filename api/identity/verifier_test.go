package identity_test

import (
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"earshot/api/identity"
	"earshot/repositories"
)

// issuer is an OpenID provider with keys that a test can change.
type issuer struct {
	t   *testing.T
	url string

	mu    sync.Mutex
	keys  []jose.JSONWebKey // public
	asked atomic.Int32      // requests for the keys
	down  atomic.Bool       // for discovery
	mute  atomic.Bool       // for the keys
}

func newIssuer(t *testing.T) *issuer {
	i := &issuer{t: t}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		if i.down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": i.url, "jwks_uri": i.url + "/keys", "id_token_signing_alg_values_supported": []string{"RS256", "ES256", "HS256"}})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		i.asked.Add(1)
		if i.mute.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		i.mu.Lock()
		defer i.mu.Unlock()
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: i.keys})
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	i.url = server.URL
	return i
}

func (i *issuer) publish(keys map[string]crypto.Signer) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = nil
	for id, key := range keys {
		i.keys = append(i.keys, jose.JSONWebKey{Key: key.Public(), KeyID: id, Use: "sig"})
	}
}

func (i *issuer) service() repositories.AuthService {
	return repositories.AuthService{Name: "corp", Type: "oidc", Issuer: i.url, Audience: "clinic"}
}

func rsaKey(t *testing.T) *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	return key
}

func ecKey(t *testing.T) *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return key
}

func sign(t *testing.T, algorithm jose.SignatureAlgorithm, key any, id string, claims map[string]any) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: jose.JSONWebKey{Key: key, KeyID: id}}, nil)
	require.NoError(t, err)
	payload, err := json.Marshal(claims)
	require.NoError(t, err)
	signed, err := signer.Sign(payload)
	require.NoError(t, err)
	token, err := signed.CompactSerialize()
	require.NoError(t, err)
	return token
}

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func (i *issuer) claims(change map[string]any) map[string]any {
	claims := map[string]any{"iss": i.url, "aud": "clinic", "sub": "anna", "exp": noon.Add(time.Hour).Unix(), "iat": noon.Unix()}
	for name, value := range change {
		claims[name] = value
	}
	return claims
}

func verifier(log *strings.Builder) *identity.Verifier {
	options := identity.Options{Now: func() time.Time { return noon }}
	if log != nil {
		options.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return identity.New(options)
}

func TestTokensOfTheIssuerAreAccepted(t *testing.T) {
	i := newIssuer(t)
	one, two := rsaKey(t), ecKey(t)
	i.publish(map[string]crypto.Signer{"r": one, "e": two})
	v := verifier(nil)
	for _, token := range []string{
		sign(t, jose.RS256, one, "r", i.claims(nil)),
		sign(t, jose.ES256, two, "e", i.claims(nil)),
		sign(t, jose.ES256, two, "e", i.claims(map[string]any{"aud": []string{"other", "clinic"}, "azp": "clinic"})),
		sign(t, jose.ES256, two, "e", i.claims(map[string]any{"azp": "clinic"})),
		sign(t, jose.ES256, two, "e", i.claims(map[string]any{"aud": []string{"clinic"}})),
		sign(t, jose.RS256, one, "r", i.claims(map[string]any{"iat": noon.Add(59 * time.Second).Unix()})),
		sign(t, jose.RS256, one, "r", i.claims(map[string]any{"exp": noon.Add(-59 * time.Second).Unix()})),
	} {
		claims, err := v.Verify(t.Context(), i.service(), token, "")
		require.NoError(t, err)
		require.Equal(t, "anna", claims["sub"])
	}
	require.EqualValues(t, 1, i.asked.Load(), "the keys are kept")
	claims, err := v.Verify(t.Context(), i.service(), sign(t, jose.ES256, two, "e", i.claims(map[string]any{"big": json.Number("9007199254740993")})), "")
	require.NoError(t, err)
	require.Equal(t, json.Number("9007199254740993"), claims["big"])
}

func TestTokensThatAreNotRightAreRefused(t *testing.T) {
	i, other := newIssuer(t), newIssuer(t)
	key, foreign, ec := rsaKey(t), rsaKey(t), ecKey(t)
	i.publish(map[string]crypto.Signer{"r": key, "e": ec})
	good := sign(t, jose.RS256, key, "r", i.claims(nil))
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	require.NoError(t, err)
	parts := strings.Split(good, ".")
	encode := base64.RawURLEncoding.EncodeToString
	for name, token := range map[string]string{
		"expired":               sign(t, jose.RS256, key, "r", i.claims(map[string]any{"exp": noon.Add(-61 * time.Second).Unix()})),
		"without expiry":        sign(t, jose.RS256, key, "r", i.claims(map[string]any{"exp": nil})),
		"not yet valid":         sign(t, jose.RS256, key, "r", i.claims(map[string]any{"nbf": noon.Add(time.Hour).Unix()})),
		"other audience":        sign(t, jose.RS256, key, "r", i.claims(map[string]any{"aud": "other"})),
		"no audience":           sign(t, jose.RS256, key, "r", i.claims(map[string]any{"aud": nil})),
		"other party":           sign(t, jose.RS256, key, "r", i.claims(map[string]any{"aud": []string{"clinic", "other"}, "azp": "other"})),
		"party of one audience": sign(t, jose.RS256, key, "r", i.claims(map[string]any{"azp": "other"})),
		"several audiences":     sign(t, jose.RS256, key, "r", i.claims(map[string]any{"aud": []string{"clinic", "other"}})),
		"party is no text":      sign(t, jose.RS256, key, "r", i.claims(map[string]any{"azp": []string{"clinic"}})),
		"party is empty":        sign(t, jose.RS256, key, "r", i.claims(map[string]any{"azp": ""})),
		"issued in the future":  sign(t, jose.RS256, key, "r", i.claims(map[string]any{"iat": noon.Add(61 * time.Second).Unix(), "exp": noon.Add(time.Hour).Unix()})),
		"other issuer":          sign(t, jose.RS256, key, "r", i.claims(map[string]any{"iss": other.url})),
		"other key":             sign(t, jose.RS256, foreign, "r", i.claims(nil)),
		"unknown key":           sign(t, jose.RS256, foreign, "x", i.claims(nil)),
		"other algorithm":       sign(t, jose.RS512, key, "r", i.claims(nil)),
		"public key as secret":  sign(t, jose.HS256, public, "r", i.claims(nil)),
		"algorithm of another":  sign(t, jose.ES256, ecKey(t), "r", i.claims(nil)),
		"none":                  encode([]byte(`{"alg":"none"}`)) + "." + parts[1] + ".",
		"none with a signature": encode([]byte(`{"alg":"none","kid":"r"}`)) + "." + parts[1] + "." + parts[2],
		"header changed":        encode([]byte(`{"alg":"HS256","kid":"r"}`)) + "." + parts[1] + "." + parts[2],
		"payload changed":       parts[0] + "." + encode([]byte(`{"iss":"`+i.url+`","aud":"clinic","sub":"boss","exp":9999999999}`)) + "." + parts[2],
		"no signature":          parts[0] + "." + parts[1] + ".",
		"cut off":               good[:len(good)-10],
		"empty":                 "",
		"words":                 "let me in",
		"long":                  strings.Repeat("a", 20<<10),
	} {
		var log strings.Builder
		claims, err := verifier(&log).Verify(t.Context(), i.service(), token, "")
		refused := &identity.Refused{}
		require.ErrorAs(t, err, &refused, name)
		require.Nil(t, claims, name)
		require.Equal(t, name == "expired", refused.Reason == "it has expired", "%s: %s", name, refused.Reason)
		want := map[string]string{
			"expired": "expired", "other audience": "audience", "no audience": "audience", "other party": "audience", "party of one audience": "audience", "several audiences": "audience",
			"party is no text": "audience", "party is empty": "audience", "empty": "malformed", "words": "malformed", "long": "malformed",
		}
		require.Equal(t, cmp.Or(want[name], "signature"), refused.Fault, name)
		if len(token) > 100 {
			require.NotContains(t, err.Error()+log.String(), token, name)
		}
	}
}

func TestKeysMayRotate(t *testing.T) {
	i := newIssuer(t)
	old, young := rsaKey(t), ecKey(t)
	i.publish(map[string]crypto.Signer{"old": old})
	v := verifier(nil)
	_, err := v.Verify(t.Context(), i.service(), sign(t, jose.RS256, old, "old", i.claims(nil)), "")
	require.NoError(t, err)
	i.publish(map[string]crypto.Signer{"young": young})
	_, err = v.Verify(t.Context(), i.service(), sign(t, jose.ES256, young, "young", i.claims(nil)), "")
	require.NoError(t, err)
	_, err = v.Verify(t.Context(), i.service(), sign(t, jose.RS256, old, "old", i.claims(nil)), "")
	require.Error(t, err, "what the issuer has withdrawn is good no more")
	for range 2 { // each at once: the earlier fetch must not be reused
		for id, key := range map[string]*ecdsa.PrivateKey{"next": ecKey(t), "young": young} {
			i.publish(map[string]crypto.Signer{id: key})
			_, err = v.Verify(t.Context(), i.service(), sign(t, jose.ES256, key, id, i.claims(nil)), "")
			require.NoError(t, err)
		}
	}
}

func TestMadeUpTokensDoNotBecomeRequestsToTheIssuer(t *testing.T) {
	i := newIssuer(t)
	key, foreign := rsaKey(t), ecKey(t)
	i.publish(map[string]crypto.Signer{"r": key})
	v := verifier(nil)
	for range 100 {
		_, err := v.Verify(t.Context(), i.service(), sign(t, jose.ES256, foreign, rand.Text(), i.claims(nil)), "")
		require.Error(t, err)
	}
	require.LessOrEqual(t, i.asked.Load(), int32(11))
	_, err := v.Verify(t.Context(), i.service(), sign(t, jose.RS256, key, "r", i.claims(nil)), "")
	require.NoError(t, err, "tokens with known keys need no request")
	young := ecKey(t)
	i.publish(map[string]crypto.Signer{"young": young})
	refused(t, v, i, sign(t, jose.ES256, young, "young", i.claims(nil)), "unavailable") // which may be right: nobody has asked
}

func refused(t *testing.T, v *identity.Verifier, i *issuer, token, fault string) {
	t.Helper()
	_, err := v.Verify(t.Context(), i.service(), token, "")
	var answer *identity.Refused
	require.ErrorAs(t, err, &answer)
	require.Equal(t, fault, answer.Fault)
}

func TestKeysThatCannotBeReadAreNoFaultOfTheToken(t *testing.T) {
	i := newIssuer(t)
	key := rsaKey(t)
	i.publish(map[string]crypto.Signer{"r": key})
	v := verifier(nil)
	token := sign(t, jose.RS256, key, "r", i.claims(nil))
	i.mute.Store(true)
	refused(t, v, i, token, "unavailable")
	i.mute.Store(false)
	_, err := v.Verify(t.Context(), i.service(), token, "")
	require.NoError(t, err)
	i.mute.Store(true)
	refused(t, v, i, sign(t, jose.RS256, key, "next", i.claims(nil)), "unavailable")
	_, err = v.Verify(t.Context(), i.service(), token, "")
	require.NoError(t, err, "its key is known")
}

func TestIssuerThatCannotBeAskedIsAskedAgainAfterAPause(t *testing.T) {
	i := newIssuer(t)
	key := ecKey(t)
	i.publish(map[string]crypto.Signer{"e": key})
	clock := noon
	v := identity.New(identity.Options{Now: func() time.Time { return clock }})
	token := sign(t, jose.ES256, key, "e", i.claims(nil))
	i.down.Store(true)
	_, err := v.Verify(t.Context(), i.service(), token, "")
	require.ErrorContains(t, err, "its issuer cannot be asked now")
	i.down.Store(false)
	_, err = v.Verify(t.Context(), i.service(), token, "")
	require.ErrorContains(t, err, "its issuer cannot be asked now")
	clock = clock.Add(11 * time.Second)
	_, err = v.Verify(t.Context(), i.service(), token, "")
	require.NoError(t, err)
}

func TestDiscoveryThatNamesAnotherIssuerIsRefused(t *testing.T) {
	i := newIssuer(t)
	key := ecKey(t)
	i.publish(map[string]crypto.Signer{"e": key})
	service := i.service()
	service.Issuer += "/"
	_, err := verifier(nil).Verify(t.Context(), service, sign(t, jose.ES256, key, "e", i.claims(map[string]any{"iss": service.Issuer})), "")
	require.Error(t, err)
}

// elsewhere redirects requests for Google to a test's issuer.
type elsewhere struct{ to *issuer }

func (e elsewhere) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Host != "accounts.google.com" {
		return nil, http.ErrNotSupported
	}
	if request.URL.Path == "/.well-known/openid-configuration" {
		recorder := httptest.NewRecorder()
		_ = json.NewEncoder(recorder).Encode(map[string]any{"issuer": "https://accounts.google.com", "jwks_uri": "https://accounts.google.com/keys"})
		return recorder.Result(), nil
	}
	asked := request.Clone(request.Context())
	asked.URL.Scheme, asked.URL.Host = "http", strings.TrimPrefix(e.to.url, "http://")
	return http.DefaultTransport.RoundTrip(asked)
}

func TestGoogleIsAServiceOfItsOwn(t *testing.T) {
	i := newIssuer(t)
	key := rsaKey(t)
	i.publish(map[string]crypto.Signer{"g": key})
	v := identity.New(identity.Options{Transport: elsewhere{i}, Now: func() time.Time { return noon }})
	service := repositories.AuthService{Name: "google", Type: "google", ClientID: "clinic"}
	for _, name := range []string{"https://accounts.google.com", "accounts.google.com"} {
		claims, err := v.Verify(t.Context(), service, sign(t, jose.RS256, key, "g", i.claims(map[string]any{"iss": name, "email": "anna@example.org"})), "")
		require.NoError(t, err)
		require.Equal(t, "anna@example.org", claims["email"])
	}
	_, err := v.Verify(t.Context(), service, sign(t, jose.RS256, key, "g", i.claims(nil)), "")
	require.Error(t, err, "of another issuer")
}
