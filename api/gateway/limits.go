package gateway

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/repositories"
	"earshot/trigger/ledger"
)

// What the model is asked for is paid for by the operator. An app bounds it for its clients
// (settings.openai.limits); a session's token, which a stranger may hold, is bounded in any case.

// counted counts a request to the model against the limits of a minute. Where none holds, the
// store is not asked.
func (h *Handler) counted(c echo.Context, of repositories.ModelLimits) error {
	who := auth.PrincipalOf(c)
	if !who.FrontEnd() && of.RequestsPerMinute <= 0 {
		return nil
	}
	use := ledger.Use{ModelRequests: 1, FrontEnd: who.FrontEnd()}
	return h.Engine.Count(c.Request().Context(), c.Param("appId"), who.SessionID, use)
}

// within returns the body of a request as the model may get it: unchanged, or with a length of
// the answer where it names none. Its error is a problem that names what is over the limits.
func (h *Handler) within(of repositories.ModelLimits, body []byte) ([]byte, error) {
	if len(of.Models) == 0 && of.MaxTokens == 0 {
		return body, nil
	}
	asked, err := readAsked(body)
	if err != nil {
		return nil, err
	}
	if !of.Allows(asked.model) {
		return nil, refusedModel(asked.model, of)
	}
	if of.MaxTokens == 0 {
		return body, nil
	}
	most := int64(of.MaxTokens)
	if asked.choices > most || asked.tokens > most/asked.choices {
		return nil, answer.BadRequest(fmt.Sprintf("the answer may have %d tokens, all choices together (settings.openai.limits.maxTokens of the app): ask for fewer by max_completion_tokens, max_tokens or n", most)).
			Coded("max_tokens_exceeded")
	}
	if asked.tokens > 0 {
		return body, nil
	}
	member := fmt.Sprintf("%q:%d,", h.lengthField(), most/asked.choices)
	start := bytes.IndexByte(body, '{') + 1
	return edited(body, []edit{{span{start, start}, []byte(member)}}), nil
}

func refusedModel(model string, of repositories.ModelLimits) error {
	return answer.NewProblem(http.StatusForbidden, fmt.Sprintf("model %s may not be asked by this app, but %s (settings.openai.limits.models)", answer.Quote(model), strings.Join(of.Models, ", "))).
		Coded("model_not_allowed")
}

// lengthField is the name by which the model behind is told how long its answer may be. OpenAI's
// newer models refuse the older name, and servers that are compatible know that one.
func (h *Handler) lengthField() string {
	at, err := url.Parse(h.url)
	if err == nil && (at.Hostname() == "api.openai.com" || strings.HasSuffix(at.Hostname(), ".azure.com")) {
		return "max_completion_tokens"
	}
	return "max_tokens"
}

// demand is what a request asks of the model, as far as limits are about it.
type demand struct {
	model           string
	tokens, choices int64 // tokens is the largest that is named; 0 for none
}

// limited are the members that limits are about. Each may stand once: which of two counts is for
// the reader to choose, and the model's may choose another than ours.
var limited = map[string]bool{"model": true, "max_tokens": true, "max_completion_tokens": true, "n": true}

func readAsked(body []byte) (demand, error) {
	found, twice := map[string][]byte{}, ""
	_, err := members(body, 0, func(name []byte, value span) {
		key := unquoted(name)
		if _, has := found[key]; has && limited[key] {
			twice = key
		}
		found[key] = value.in(body)
	})
	if err != nil {
		return demand{}, answer.BadRequest(errNoJSON.Error())
	}
	if twice != "" {
		return demand{}, answer.BadRequest(answer.Quote(twice) + " is named twice")
	}
	of := demand{model: unquoted(found["model"]), choices: 1}
	for name, into := range map[string]*int64{"max_tokens": &of.tokens, "max_completion_tokens": &of.tokens, "n": &of.choices} {
		number, err := countIn(found[name])
		if err != nil {
			return demand{}, answer.BadRequest(name + " is " + answer.Quote(string(found[name])) + ", and must be a whole number from 1")
		}
		*into = max(*into, number)
	}
	return of, nil
}

// countIn reads a number from 1; 0 if there is none, or null.
func countIn(value []byte) (int64, error) {
	if len(value) == 0 || string(value) == "null" {
		return 0, nil
	}
	number, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || number < 1 {
		return 0, errNoJSON
	}
	return number, nil
}
