package gateway

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/repositories"
	"earshot/trigger/ledger"
)

// The operator pays for the model. settings.openai.limits bounds an app's clients; a session token, which a
// stranger may hold, is always bounded.

// count counts a model request against the limits per minute. Without limits it skips the store.
func (h *Handler) count(c echo.Context, limits repositories.ModelLimits) error {
	who := auth.PrincipalOf(c)
	if !who.FrontEnd() && limits.RequestsPerMinute <= 0 {
		return nil
	}
	use := ledger.Use{ModelRequests: 1, FrontEnd: who.FrontEnd()}
	return h.Engine.Count(c.Request().Context(), c.Param("appId"), who.SessionID, use)
}

// limit returns the body for the model: unchanged, or with a maximum length if it has none. Its error is a
// problem that names the exceeded limit.
func (h *Handler) limit(f form, limits repositories.ModelLimits, body []byte) ([]byte, error) {
	if len(limits.Models) == 0 && limits.MaxTokens == 0 {
		return body, nil
	}
	// OpenAI's newer models refuse the older field for lengths, which compatible servers expect.
	at, err := url.Parse(h.url)
	lengths := f.lengths(err == nil && (at.Hostname() == "api.openai.com" || strings.HasSuffix(at.Hostname(), ".azure.com")))
	asked, err := readDemand(body, lengths)
	if err != nil {
		return nil, err
	}
	if !limits.Allows(asked.model) {
		return nil, answer.NewProblem(answer.ModelNotAllowed, fmt.Sprintf("model %s may not be asked by this app, but %s (settings.openai.limits.models)", answer.Quote(asked.model), strings.Join(limits.Models, ", ")))
	}
	if limits.MaxTokens == 0 {
		return body, nil
	}
	most := int64(limits.MaxTokens)
	if asked.choices > most || asked.tokens > most/asked.choices {
		return nil, answer.NewProblem(answer.MaxTokensExceeded, fmt.Sprintf("the answer may have %d tokens, all choices together (settings.openai.limits.maxTokens of the app): ask for fewer by %s or n", most, strings.Join(lengths, ", ")))
	}
	if asked.tokens > 0 {
		return body, nil
	}
	start := bytes.IndexByte(body, '{') + 1
	return edited(body, []edit{{span{start, start}, fmt.Appendf(nil, "%q:%d,", lengths[0], most/asked.choices)}}), nil
}

type demand struct {
	model           string
	tokens, choices int64 // the largest of the lengths; 0 for none
}

// readDemand reads the limited members. Each may occur once: of duplicates, the model might use the other.
func readDemand(body []byte, lengths []string) (demand, error) {
	limited := append([]string{"model", "n"}, lengths...)
	found, twice := map[string][]byte{}, ""
	err := members(body, 0, func(name []byte, value span) {
		key := unquoted(name)
		if _, has := found[key]; has && slices.Contains(limited, key) {
			twice = key
		}
		found[key] = value.in(body)
	})
	if err != nil {
		return demand{}, answer.NewProblem(answer.InvalidBody, errNoJSON.Error())
	}
	if twice != "" {
		return demand{}, answer.NewProblem(answer.InvalidBody, answer.Quote(twice)+" is named twice")
	}
	d := demand{model: unquoted(found["model"]), choices: 1}
	for _, name := range limited[1:] {
		into := &d.tokens
		if name == "n" {
			into = &d.choices
		}
		value := string(found[name])
		if value == "" || value == "null" {
			continue
		}
		number, err := strconv.ParseInt(value, 10, 64)
		if err != nil || number < 1 {
			return demand{}, answer.NewProblem(answer.InvalidBody, name+" is "+answer.Quote(value)+", and must be a whole number from 1")
		}
		*into = max(*into, number)
	}
	return d, nil
}
