package httpcall

import (
	"net/http"
	"net/url"
	"strings"

	"earshot/repositories"
	"earshot/trigger"
)

// call is a call that is ready but for its token.
type call struct {
	effect     trigger.Effect
	target     *url.URL
	method     string
	body       []byte
	header     http.Header
	credential credential
	repeatable bool
	mask       mask
}

// prepare makes everything of a call that needs no network. All its errors are those
// of a call that will never succeed as it is.
func (c *Caller) prepare(app *repositories.App, effect trigger.Effect) (*call, error) {
	request := effect.Call.Request
	if request == nil {
		request = &repositories.Request{}
	}
	names := namesOf(effect)
	target, err := fillURL(effect.Call.URL, names)
	if err != nil {
		return nil, err
	}
	body, err := bodyOf(methodOf(request), request.Body, effect.Call.Event, names)
	if err != nil {
		return nil, err
	}
	credential, err := credentialOf(app, request)
	if err != nil {
		return nil, err
	}
	made := &call{
		effect: effect, target: target, method: methodOf(request), body: body,
		credential: credential, repeatable: request.Repeatable(), mask: maskOf(request, target),
	}
	made.header, err = c.headers(app, made, request.Headers)
	return made, err
}

func methodOf(request *repositories.Request) string {
	return strings.ToUpper(or(request.Method, http.MethodPost))
}

// where names the call in an error, without path and query, which may hold what
// is nobody's business.
func (c *call) where() string { return c.method + " " + c.target.Scheme + "://" + c.target.Host }
