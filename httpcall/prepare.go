package httpcall

import (
	"net/http"
	"net/url"
	"strings"

	"earshot/repositories"
	"earshot/repositories/secret"
	"earshot/trigger/effect"
)

// call is a call that is ready but for its token.
type call struct {
	effect     effect.Effect
	target     *url.URL
	method     string
	body       []byte
	header     http.Header
	credential credential
	repeatable bool
	mask       mask
	// terse drops the body of an answer that is not 2xx.
	terse bool
}

// prepare makes everything of a call that needs no network. All its errors are those
// of a call that will never succeed as it is.
func (c *Caller) prepare(app *repositories.App, effect effect.Effect) (*call, error) {
	parts, err := partsOf(app, effect)
	if err != nil {
		return nil, err
	}
	credential, err := credentialOf(app, parts.request, parts.target)
	if err != nil {
		return nil, err
	}
	made := &call{
		effect: effect, target: parts.target, method: methodOf(parts.request), body: parts.body, terse: parts.terse,
		credential: credential, repeatable: parts.request.Repeatable(), mask: maskOf(parts.request, parts.target),
	}
	for _, credential := range parts.credentials {
		made.mask.add(credential.Reveal())
	}
	made.header, err = c.headers(app, made, parts.request.Headers)
	return made, err
}

// parts are what the two kinds of call come down to: that of a URL, and that of an http
// tool, which has a source.
type parts struct {
	request *repositories.Request
	target  *url.URL
	body    []byte
	// credentials of a source that stand elsewhere than in headers.
	credentials []secret.Secret
	// terse drops the body of an answer that is not 2xx.
	terse bool
}

func partsOf(app *repositories.App, effect effect.Effect) (parts, error) {
	if effect.Call.Tool != nil {
		return partsOfTool(app, effect)
	}
	request := effect.Call.Request
	if request == nil {
		request = &repositories.Request{}
	}
	names := namesOf(effect)
	target, err := fillURL(effect.Call.URL, names)
	if err != nil {
		return parts{}, err
	}
	body, err := bodyOf(methodOf(request), request.Body, effect.Call.Event, names)
	return parts{request: request, target: target, body: body}, err
}

func methodOf(request *repositories.Request) string {
	return strings.ToUpper(or(request.Method, http.MethodPost))
}

// where names the call in an error, without path and query, which may hold what
// is nobody's business.
func (c *call) where() string { return c.method + " " + c.target.Scheme + "://" + c.target.Host }
