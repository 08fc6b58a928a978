package httpcall

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

const (
	// unknownLife is how long a token is used whose endpoint does not say (RFC 6749
	// 5.1 only recommends that it does). One that ends sooner is found out by a 401.
	unknownLife = 5 * time.Minute
	// mostMargin is how long before its end a token is renewed: longer than a call
	// takes. A short-lived one is renewed after four fifths of its life.
	mostMargin = 30 * time.Second
)

// token is an access token with its times.
type token struct {
	access, refresh string
	renew           time.Time // when it is to be renewed
	end             time.Time // when it is of no use any more
	// style is how its endpoint wants the client's credentials.
	style oauth2.AuthStyle
}

// errUnusable means that a token endpoint answered 2xx with something else.
var errUnusable = errors.New("the answer holds no usable access_token")

// askToken asks an endpoint for a token. The client's credentials stand in the form,
// as most endpoints take them; one that answers invalid_client or 401 is asked again
// with basic authentication, which RFC 6749 2.3.1 prefers and a few insist on.
func askToken(ctx context.Context, client *http.Client, endpoint string, g *grant, fields url.Values, style oauth2.AuthStyle) (*oauth2.Token, oauth2.AuthStyle, error) {
	config := &clientcredentials.Config{
		ClientID: g.clientID, ClientSecret: g.secret.Reveal(), TokenURL: endpoint,
		Scopes: g.scopes, EndpointParams: fields, AuthStyle: style,
	}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, client)
	given, err := config.Token(ctx)
	if style == oauth2.AuthStyleInParams && !g.secret.Empty() && clientRefused(err) {
		config.AuthStyle = oauth2.AuthStyleInHeader
		given, err = config.Token(ctx)
	}
	if err != nil {
		return nil, style, err
	}
	if !httpguts.ValidHeaderFieldValue(given.AccessToken) {
		return nil, style, errUnusable
	}
	return given, config.AuthStyle, nil
}

func clientRefused(err error) bool {
	var refused *oauth2.RetrieveError
	return errors.As(err, &refused) && (refused.ErrorCode == "invalid_client" || refused.Response.StatusCode == http.StatusUnauthorized)
}

// tokenFrom reckons the times of a token that was given just now. What is left of its
// life is measured on the machine's clock, which oauth2 uses, and put on ours.
func tokenFrom(given *oauth2.Token, style oauth2.AuthStyle, now time.Time) token {
	life := unknownLife
	if !given.Expiry.IsZero() {
		life = max(0, time.Until(given.Expiry))
	}
	return token{
		access: given.AccessToken, refresh: given.RefreshToken, style: style,
		renew: now.Add(life - min(mostMargin, life/5)),
		end:   now.Add(life),
	}
}
