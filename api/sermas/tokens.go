package sermas

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/api/signin"
	"earshot/repositories"
	"earshot/repositories/fault"
	"earshot/repositories/secret"
	"earshot/repositories/store"
)

// refreshTTL is the shortest lifetime of a refresh token: a laptop may sleep overnight.
const refreshTTL = 24 * time.Hour

// granted is the answer to a request for a token, in Keycloak's format as in SERMAS.
type granted struct {
	AccessToken      string `json:"access_token"`
	ExpiresIn        int    `json:"expires_in"`
	RefreshExpiresIn int    `json:"refresh_expires_in"`
	RefreshToken     string `json:"refresh_token"`
	TokenType        string `json:"token_type"`
	NotBefore        int    `json:"not-before-policy"`
	SessionState     string `json:"session_state"`
	Scope            string `json:"scope"`
}

func (h *handler) grant(c echo.Context) error {
	sent, err := readFields(c)
	if err != nil {
		return err
	}
	return h.grantFor(c, sent)
}

func (h *handler) grantFor(c echo.Context, sent fields) error {
	var faults fault.List
	appID, clientID, given := sent.needed(&faults, "appId"), sent.needed(&faults, "clientId"), sent.needed(&faults, "clientSecret")
	if err := faults.Err(); err != nil {
		return err
	}
	token := store.AccessToken{AppID: appID, ClientID: clientID, Lineage: h.NewID()}
	module, err := h.client(c.Request().Context(), &token, func(app *repositories.App) (repositories.Module, bool) {
		// A client names its module by the clientId, by the moduleId, or as SERMAS's Keycloak does.
		for _, named := range []func(repositories.Module) string{
			repositories.Module.OAuthClient,
			func(m repositories.Module) string { return m.ID },
			func(m repositories.Module) string { return app.ID + "-" + m.ID },
		} {
			for _, module := range app.Modules {
				if named(module) == clientID && auth.SameSecret(module.Secret, secret.New(given)) {
					return module, true
				}
			}
		}
		return repositories.Module{}, false
	})
	if err == nil || errors.Is(err, errClient) {
		err = h.SignIns.Settle(signin.DoorSERMAS, signin.Try{
			Client: signin.ClientOf(c.Request()), Account: "module " + appID + " " + clientID, Credential: secret.New(given),
		}, err)
	}
	if err != nil {
		return h.refuse(c, appID, err)
	}
	return h.give(c, token, module, false)
}

// client finds the app and module of a token, and sets the token's generation and module id. It hides from
// strangers whether the app exists.
func (h *handler) client(ctx context.Context, token *store.AccessToken, find func(*repositories.App) (repositories.Module, bool)) (module repositories.Module, err error) {
	if repositories.CheckID("appId", token.AppID) != nil {
		return module, errClient
	}
	life, err := h.Store.Generation(ctx, token.AppID, "")
	app, missing := h.Store.App(ctx, token.AppID) // read in any case, so that timing does not reveal the app
	if err = cmp.Or(err, missing); errors.Is(err, repositories.ErrNotFound) {
		return module, errClient
	}
	if err != nil {
		return module, err
	}
	token.Generation = life
	module, ok := find(app)
	if !ok {
		return module, errClient
	}
	// Strangers could guess such a secret. Without an admin key it protects nothing: every user of the machine
	// is the admin.
	if !h.Auth.Admin.Empty() && module.Guessable() != "" {
		h.Logger.Warn("sermas.guessable", "app", token.AppID, "module", module.ID, "error", module.Guessable())
		return module, errClient
	}
	token.ModuleID = module.ID
	return module, nil
}

var (
	errClient  = errors.New("no app has a module with this clientId and clientSecret under this appId, or its secret is too short to sign in with: it needs at least 16 characters")
	errRenewal = errors.New("this refreshToken is not valid any more: it has expired, its app or module was deleted, or the module's secret was changed or has fewer than 16 characters; ask for a token with clientId and clientSecret")
)

func (h *handler) renew(c echo.Context) error {
	sent, err := readFields(c)
	if err != nil {
		return err
	}
	var faults fault.List
	refreshToken, given := sent.text(&faults, "refreshToken"), sent.text(&faults, "clientSecret")
	if refreshToken == "" && given != "" {
		return h.grantFor(c, sent) // as in SERMAS
	}
	refreshToken = sent.needed(&faults, "refreshToken")
	appID, clientID := sent.text(&faults, "appId"), sent.text(&faults, "clientId")
	if err := faults.Err(); err != nil {
		return err
	}
	token, err := h.Tokens.OpenRefresh(secret.New(refreshToken))
	if err != nil || !h.Now().Before(token.Expires) || differs(appID, token.AppID) || differs(clientID, token.ClientID) {
		return h.refuse(c, appID, errRenewal)
	}
	life, credential := token.Generation, secret.New(given) // the app and the module must be unchanged
	module, err := h.client(c.Request().Context(), &token, func(app *repositories.App) (repositories.Module, bool) {
		found, ok := app.Module(token.ModuleID)
		return found, ok && h.Tokens.SameGrant(token.Grant, app.ID, found) && (credential.Empty() || auth.SameSecret(found.Secret, credential))
	})
	if errors.Is(err, errClient) || err == nil && token.Generation != life {
		err = errRenewal
	}
	if err != nil {
		return h.refuse(c, token.AppID, err)
	}
	return h.give(c, token, module, true)
}

func differs(given, is string) bool { return given != "" && given != is }

// give signs an access token and its refresh token. A renewal is recorded first, since connections of the
// lineage depend on it.
func (h *handler) give(c echo.Context, token store.AccessToken, module repositories.Module, renewed bool) error {
	now := h.Now().UTC()
	token.Expires, token.Grant = now.Add(h.TokenTTL).Truncate(time.Second), h.Tokens.Grant(token.AppID, module)
	token.Scopes = []store.Permission{store.PermitTools, store.PermitMessages, store.PermitTriggers}
	if renewed {
		if err := h.Store.ExtendLineage(c.Request().Context(), token.AppID, token.Lineage, token.Expires); err != nil {
			return err
		}
	}
	access, err := h.Tokens.SignAccess(token, h.NewID())
	if err != nil {
		return err
	}
	ttl := max(refreshTTL, 2*h.TokenTTL)
	token.Expires, token.Scopes = now.Add(ttl).Truncate(time.Second), nil
	refresh, err := h.Tokens.SignRefresh(token, h.NewID())
	if err != nil {
		return err
	}
	h.Logger.Info("sermas.token", "app", token.AppID, "module", module.ID, "renewed", renewed)
	h.allowOrigin(c, token.AppID)
	return answer.JSON(c, http.StatusCreated, granted{
		AccessToken: access.Reveal(), ExpiresIn: int(h.TokenTTL.Seconds()), RefreshToken: refresh.Reveal(), RefreshExpiresIn: int(ttl.Seconds()),
		TokenType: "Bearer", SessionState: token.Lineage, Scope: "tools messages triggers",
	})
}

func (h *handler) refuse(c echo.Context, appID string, err error) error {
	named := appID
	if repositories.CheckID("appId", appID) != nil {
		named = ""
	}
	h.allowOrigin(c, named)
	if !errors.Is(err, errClient) && !errors.Is(err, errRenewal) {
		return err
	}
	h.Logger.Info("sermas.refused", "app", named, "error", err.Error())
	return answer.NewProblem(answer.KeyInvalid, err.Error()).With("WWW-Authenticate", answer.Challenge)
}
