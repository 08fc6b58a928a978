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
	caller := auth.PrincipalOf(c)
	if !caller.FrontEnd() && limits.RequestsPerMinute <= 0 {
		return nil
	}
	use := ledger.Use{ModelRequests: 1, FrontEnd: caller.FrontEnd()}
	return h.Engine.Count(c.Request().Context(), c.Param("appId"), caller.SessionID, use)
}

// limit returns the body for the model: unchanged, or with a maximum length if it has none. Its error is a
// problem that names the exceeded limit.
func (h *Handler) limit(f form, limits repositories.ModelLimits, body []byte) ([]byte, error) {
	if len(limits.Models) == 0 && limits.MaxTokens == 0 {
		return body, nil
	}
	// OpenAI's newer models refuse the older field for lengths, which compatible servers expect.
	endpoint, err := url.Parse(h.url)
	lengths := f.lengths(err == nil && (endpoint.Hostname() == "api.openai.com" || strings.HasSuffix(endpoint.Hostname(), ".azure.com")))
	requested, err := readDemand(body, lengths)
	if err != nil {
		return nil, err
	}
	for _, model := range requested.models {
		if !limits.Allows(model) {
			return nil, answer.NewProblem(answer.ModelNotAllowed, fmt.Sprintf("this app may not use model %s, only %s (settings.openai.limits.models)", answer.Quote(model), strings.Join(limits.Models, ", ")))
		}
	}
	if limits.MaxTokens == 0 {
		return body, nil
	}
	limit := int64(limits.MaxTokens)
	if requested.choices > limit || requested.tokens > limit/requested.choices {
		return nil, answer.NewProblem(answer.MaxTokensExceeded, fmt.Sprintf("an answer of this app may have %d tokens in all choices together (settings.openai.limits.maxTokens): lower %s or n", limit, strings.Join(lengths, ", ")))
	}
	if requested.tokens > 0 {
		return body, nil
	}
	tokens := fmt.Append(nil, limit/requested.choices)
	if requested.unset.to > 0 { // beside it, the model might use the null
		return edited(body, []edit{{requested.unset, tokens}}), nil
	}
	start := bytes.IndexByte(body, '{') + 1
	return edited(body, []edit{{span{start, start}, fmt.Appendf(nil, "%q:%s,", lengths[0], tokens)}}), nil
}

type demand struct {
	models          []string // with those that some hosts fall back to
	tokens, choices int64    // the largest of the lengths; 0 for none
	unset           span     // the null of the default length
}

// bounded lists the members that a limit may concern.
var bounded = []string{"model", "models", "n", "max_tokens", "max_completion_tokens", "max_output_tokens"}

// limitedMembers returns the members of a body. Each limited one may occur once: of duplicates, the model might use
// the other. It refuses other spellings of them, since some hosts ignore case.
func limitedMembers(body []byte, limited []string) (map[string]span, error) {
	byName, problem := map[string]span{}, ""
	err := members(body, 0, func(name []byte, value span) {
		key := unquoted(name)
		if _, exists := byName[key]; exists && slices.Contains(limited, key) {
			problem = answer.Quote(key) + " is named twice"
		}
		if i := slices.IndexFunc(bounded, func(known string) bool { return strings.EqualFold(known, key) }); i >= 0 && bounded[i] != key {
			problem = fmt.Sprintf("%s differs from %s, which this app limits, in case alone: write %[2]s", answer.Quote(key), bounded[i])
		}
		byName[key] = value
	})
	if err != nil {
		problem = errNoJSON.Error()
	}
	if problem != "" {
		return nil, answer.NewProblem(answer.InvalidBody, problem)
	}
	return byName, nil
}

func readDemand(body []byte, lengths []string) (demand, error) {
	limited := append([]string{"model", "models", "n"}, lengths...)
	byName, err := limitedMembers(body, limited)
	if err != nil {
		return demand{}, err
	}
	d := demand{models: []string{unquoted(byName["model"].in(body))}, choices: 1}
	if at := byName["models"]; at.to > 0 && string(at.in(body)) != "null" {
		models, err := elements(body, at.from)
		if err != nil { // it is one model, or nothing that a limit allows
			models = []span{at}
		}
		for _, model := range models {
			d.models = append(d.models, unquoted(model.in(body)))
		}
	}
	if at := byName[lengths[0]]; string(at.in(body)) == "null" {
		d.unset = at
	}
	for _, name := range limited[2:] {
		target := &d.tokens
		if name == "n" {
			target = &d.choices
		}
		value := string(byName[name].in(body))
		if value == "" || value == "null" {
			continue
		}
		number, err := strconv.ParseInt(value, 10, 64)
		if err != nil || number < 1 {
			return demand{}, answer.NewProblem(answer.InvalidBody, name+" is "+answer.Quote(value)+"; it must be a whole number, 1 or more")
		}
		*target = max(*target, number)
	}
	return d, nil
}
