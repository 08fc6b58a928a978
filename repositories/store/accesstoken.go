package store

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/redis/go-redis/v9"

	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/repositories/lists"
	"earshot/repositories/secret"
)

// AccessToken is the content of a SERMAS client's bearer token, or of the token that renews it. The client gets
// both for a module's id and secret. Neither is stored.
type AccessToken struct {
	AppID      string
	ModuleID   string
	ClientID   string // the client's name for the module
	Lineage    string // shared by a token and its renewals
	Scopes     []Permission
	Expires    time.Time  // exact to a second
	Generation Generation // the app's; the token ends with it
	// Grant identifies the module and the secret that the token was issued for (see Sealer.Grant). Access tokens
	// from earlier versions lack it.
	Grant string
}

// ErrAccessToken means that this service did not issue the token, or issued it for another use.
var ErrAccessToken = errors.New("the access token is not valid")

// Each use of signed tokens has its own keys, so that no token passes for another kind.
const (
	useSession = "earshot session tokens"
	useAccess  = "earshot access tokens"
	useRefresh = "earshot refresh tokens"
	useGrant   = "earshot grants"
)

var tokenUses = []string{useSession, useAccess, useRefresh, useGrant}

// IsJWT reports whether a credential has the form of a JSON Web Token, from any issuer.
func IsJWT(token secret.Secret) bool {
	text := token.Reveal()
	return strings.HasPrefix(text, "eyJ") && strings.Count(text, ".") == 2
}

// SERMAS's client reads exp and aud.
type jwtClaims struct {
	Issuer     string     `json:"iss"`
	Audience   string     `json:"aud"`
	Subject    string     `json:"sub"`
	Expires    int64      `json:"exp"`
	ID         string     `json:"jti"`
	AppID      string     `json:"appId"`
	Lineage    string     `json:"lin"`
	Scope      string     `json:"scope,omitempty"`
	Generation Generation `json:"life"`
	Grant      string     `json:"grant,omitempty"`
}

const jwtIssuer = "earshot"

// SignAccess writes an access token as a JWT. The id distinguishes it from others with the same content.
func (s *Sealer) SignAccess(token AccessToken, id string) (secret.Secret, error) {
	return s.signJWT(useAccess, token, id)
}

// OpenAccess reads an access token after checking its signature against the current and the old secret keys. The
// caller checks the expiry. The error is ErrAccessToken.
func (s *Sealer) OpenAccess(token secret.Secret) (AccessToken, error) {
	return s.openJWT(useAccess, token)
}

// SignRefresh writes the token that renews an access token. It is not valid as an access token.
func (s *Sealer) SignRefresh(token AccessToken, id string) (secret.Secret, error) {
	return s.signJWT(useRefresh, token, id)
}

// OpenRefresh reads a refresh token as OpenAccess reads an access token.
func (s *Sealer) OpenRefresh(token secret.Secret) (AccessToken, error) {
	return s.openJWT(useRefresh, token)
}

// Grant returns an opaque digest of a module and its secret, which reveals neither. A new secret gives a new grant.
func (s *Sealer) Grant(appID string, module repositories.Module) string {
	return signature(s.signers[useGrant][0], strings.Join([]string{appID, module.ID, module.Secret.Reveal()}, "\x00"))
}

// SameGrant reports whether a grant matches the module's present secret, under any secret key.
func (s *Sealer) SameGrant(grant, appID string, module repositories.Module) bool {
	return s.verified(useGrant, strings.Join([]string{appID, module.ID, module.Secret.Reveal()}, "\x00"), grant)
}

func (s *Sealer) signJWT(use string, token AccessToken, id string) (secret.Secret, error) {
	scopes := lists.Map(token.Scopes, func(scope Permission) string { return string(scope) })
	claims, err := json.Marshal(jwtClaims{
		Issuer: jwtIssuer, Audience: token.ClientID, Subject: token.ModuleID, Expires: token.Expires.Unix(), ID: id,
		AppID: token.AppID, Lineage: token.Lineage, Scope: strings.Join(scopes, " "), Generation: token.Generation, Grant: token.Grant,
	})
	if err != nil {
		return secret.Secret{}, err
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: s.signers[use][0]}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return secret.Secret{}, err
	}
	signed, err := signer.Sign(claims)
	if err != nil {
		return secret.Secret{}, err
	}
	text, err := signed.CompactSerialize()
	return secret.New(text), err
}

func (s *Sealer) openJWT(use string, token secret.Secret) (AccessToken, error) {
	signed, err := jose.ParseSignedCompact(token.Reveal(), []jose.SignatureAlgorithm{jose.HS256})
	if err != nil {
		return AccessToken{}, ErrAccessToken
	}
	for _, key := range s.signers[use] {
		raw, err := signed.Verify(key)
		if err != nil {
			continue
		}
		var claims jwtClaims
		if json.Unmarshal(raw, &claims) != nil {
			return AccessToken{}, ErrAccessToken
		}
		return claims.token(), nil
	}
	return AccessToken{}, ErrAccessToken
}

func (c jwtClaims) token() AccessToken {
	token := AccessToken{
		AppID: c.AppID, ModuleID: c.Subject, ClientID: c.Audience, Lineage: c.Lineage, Expires: time.Unix(c.Expires, 0).UTC(), Generation: c.Generation, Grant: c.Grant,
	}
	for scope := range strings.FieldsSeq(c.Scope) {
		token.Scopes = append(token.Scopes, Permission(scope))
	}
	return token
}

// Granted checks that the app still has the module that an access token was issued for. Without one that matches,
// it returns repositories.ErrNotFound. The module may be freshTTL old.
func (a *appReads) Granted(ctx context.Context, appID, moduleID string, matches func(repositories.Module) bool) error {
	read := func() (*repositories.App, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keyReadTimeout)
		defer cancel()
		return a.App(ctx, appID)
	}
	for range 2 {
		app, err := a.grantCache.get(appID, read)
		if err != nil {
			return err
		}
		if module, ok := app.Module(moduleID); ok && matches(module) {
			return nil
		}
		a.grantCache.forget(appID) // the cached module may be outdated
	}
	return fmt.Errorf("app %q: %w", appID, &repositories.NotFoundError{Kind: "module", ID: moduleID})
}

// extendLineage records when the newest token of a lineage expires.
//
//	KEYS lineage
//	ARGV expiry (ms), TTL of the record (ms)
var extendLineage = keyspace.NewScript(`
if tonumber(redis.call('GET', KEYS[1]) or '0') < tonumber(ARGV[1]) then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
return 'ok'
`)

// lineageSlack is added to the TTL of a lineage's expiry, because clocks differ.
const lineageSlack = time.Minute

// ExtendLineage records that a token of a lineage is valid until a time. The latest time wins.
func (a *appReads) ExtendLineage(ctx context.Context, appID, lineage string, until time.Time) error {
	ttl := max(until.Sub(a.now()), 0) + lineageSlack
	_, err := extendLineage.Run(ctx, a.db, []string{keyspace.KeysOf(appID).Lineage(lineage)}, until.UnixMilli(), ttl.Milliseconds())
	return err
}

// LineageExpires returns when the newest renewed token of a lineage expires. It returns the zero time if no token
// was renewed, or the record of the last one has expired.
func (a *appReads) LineageExpires(ctx context.Context, appID, lineage string) (time.Time, error) {
	text, err := a.db.Get(ctx, keyspace.KeysOf(appID).Lineage(lineage)).Result()
	if errors.Is(err, redis.Nil) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, keyspace.Unavailable(err)
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, err
	}
	return time.UnixMilli(ms).UTC(), nil
}

// SessionToken is the content of a front-end's bearer token, valid for one session and a limited time. It is not
// stored; the service recognises its own tokens by their signature.
type SessionToken struct {
	AppID     string    `json:"app"`
	SessionID string    `json:"session"`
	Expires   time.Time `json:"exp"`
	// KeyID is the app key that requested the token and that the token ends with; empty for the admin.
	KeyID string `json:"key,omitempty"`
	// ModuleID and Grant are of the access token that requested this one and that it ends with.
	ModuleID   string     `json:"module,omitempty"`
	Grant      string     `json:"grant,omitempty"`
	Generation Generation `json:"life"` // that of the app and the session; the token ends with either
}

// SessionTokenPrefix begins every session token.
const SessionTokenPrefix = "es_"

// ErrToken means that a session token was not issued by this service.
var ErrToken = errors.New("the session token is not valid")

// SignToken writes a token and its HMAC-SHA256, under a key derived from the secret key for this use only.
func (s *Sealer) SignToken(token SessionToken) (secret.Secret, error) {
	claims, err := json.Marshal(token)
	if err != nil {
		return secret.Secret{}, err
	}
	text := SessionTokenPrefix + base64.RawURLEncoding.EncodeToString(claims)
	return secret.New(text + "." + signature(s.signers[useSession][0], text)), nil
}

// OpenToken reads a token after checking its signature against the current and the old secret keys. The caller
// checks the expiry.
func (s *Sealer) OpenToken(bearer secret.Secret) (SessionToken, error) {
	text, mac, _ := strings.Cut(bearer.Reveal(), ".")
	claims, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(text, SessionTokenPrefix))
	var token SessionToken
	if err != nil || !s.verified(useSession, text, mac) || json.Unmarshal(claims, &token) != nil {
		return SessionToken{}, ErrToken
	}
	return token, nil
}

func (s *Sealer) verified(use, text, mac string) bool {
	valid := false
	for _, key := range s.signers[use] {
		valid = hmac.Equal([]byte(signature(key, text)), []byte(mac)) || valid
	}
	return valid
}

func signature(key []byte, text string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text)) // a hash.Hash never fails
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
