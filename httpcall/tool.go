package httpcall

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/secret"
	"earshot/repositories/template"
	"earshot/trigger/effect"
)

// prepareHTTP creates the request of an http tool. Headers come from the source, the tool and parameters, in
// increasing precedence.
func (p *preparedCall) prepareHTTP() error {
	tool, values := p.effect.Call.Tool, p.effect.Call.Written()
	source, exists := p.app.Source(tool.Source)
	if !exists || source.Type != repositories.SourceHTTP {
		return effect.Permanent(effect.ReasonRequest, "app %q has no http source %q, which the tool names", p.app.ID, effect.Clip(tool.Source))
	}
	if err := tool.CheckDestination(p.app); err != nil {
		return effect.Permanent(effect.ReasonAuth, "%s", err)
	}
	var err error
	if p.target, err = toolURL(source, tool, values); err != nil {
		return err
	}
	if p.body, err = toolBody(source, tool, values); err != nil {
		return err
	}
	p.request = &repositories.Request{}
	if tool.Request != nil {
		*p.request = *tool.Request
	}
	p.request.Method, p.request.Headers = tool.Method, repositories.Headers{}
	for _, headers := range []repositories.Headers{source.Headers, tool.Headers} {
		for name, value := range headers {
			p.request.Headers[http.CanonicalHeaderKey(name)] = value
		}
	}
	for _, name := range repositories.ParameterNames(tool.HeaderParams) { // a missing value is left out
		switch value := values[name].(type) {
		case nil:
		case string:
			p.request.Headers[http.CanonicalHeaderKey(name)] = secret.New(value)
		default:
			return effect.Permanent(effect.ReasonRequest, "the header parameter %q is not a string", effect.Clip(name))
		}
	}
	p.hideErrorBody = !source.ReturnFullError
	for _, credential := range source.QueryParams.Credentials() {
		p.redactor.add(credential.Reveal())
	}
	return nil
}

// toolURL resolves the filled path against the source's base URL, and adds query parameters: one per list
// member, none for a missing value.
func toolURL(source repositories.Source, tool *repositories.Tool, values map[string]any) (*url.URL, error) {
	path, err := fill("path", tool.Path, values, &pathEscaper{}, template.PathEscape, template.QueryEscape)
	if err != nil {
		return nil, err
	}
	if len(path) > maxURLBytes {
		return nil, effect.Permanent(effect.ReasonRequest, "the values make the path longer than %d bytes", maxURLBytes)
	}
	target, err := repositories.Resolve(source.BaseURL, path)
	if err != nil {
		return nil, effect.Permanent(effect.ReasonRequest, "the path of the tool %s", err)
	}
	added := url.Values{}
	for name, value := range source.QueryParams {
		added.Add(name, value.Reveal())
	}
	for _, name := range repositories.ParameterNames(tool.QueryParams) {
		switch value := values[name].(type) {
		case nil:
		case []any:
			for _, member := range value {
				added.Add(name, textOf(member))
			}
		default:
			added.Add(name, textOf(value))
		}
	}
	if query := added.Encode(); query != "" && target.RawQuery != "" {
		target.RawQuery += "&" + query
	} else if query != "" {
		target.RawQuery = query
	}
	if len(target.RawQuery) > maxURLBytes {
		return nil, effect.Permanent(effect.ReasonRequest, "the values make the query longer than %d bytes", maxURLBytes)
	}
	return target, nil
}

func toolBody(source repositories.Source, tool *repositories.Tool, values map[string]any) ([]byte, error) {
	if tool.RequestBody == "" {
		return nil, nil
	}
	kind := repositories.BodyType(source.Headers, tool.Headers)
	if kind == "" && len(repositories.ParameterNames(tool.BodyParams)) > 0 {
		return nil, effect.Permanent(effect.ReasonRequest, "values cannot be escaped for the Content-Type of the source")
	}
	bodyValues, isEmpty := map[string]any{}, true
	for _, name := range repositories.ParameterNames(tool.BodyParams) {
		bodyValues[name] = values[name]
		isEmpty = isEmpty && values[name] == nil
	}
	if isEmpty && repositories.NeedsBody(tool.BodyParams) {
		return nil, nil
	}
	var escaper template.Escaper = textEscaper(func(text string) string { return text })
	switch kind {
	case repositories.BodyJSON:
		escaper = &jsonEscaper{}
	case repositories.BodyForm:
		escaper = textEscaper(url.QueryEscape)
	case repositories.BodyXML:
		escaper = textEscaper(func(text string) string {
			var b strings.Builder
			_ = xml.EscapeText(&b, []byte(text)) // a Builder never fails
			return b.String()
		})
	}
	text, err := fill("requestBody", tool.RequestBody, bodyValues, escaper, template.ToJSON)
	if err != nil {
		return nil, err
	}
	if kind == repositories.BodyJSON && !json.Valid([]byte(text)) {
		return nil, effect.Permanent(effect.ReasonRequest, "the requestBody with its values is not JSON; for another kind of body, set Content-Type in headers")
	}
	return []byte(text), nil
}

func fill(field, text string, values map[string]any, escaper template.Escaper, functions ...string) (string, error) {
	tmpl, err := template.Parse(text, functions...)
	if err == nil {
		text, err = tmpl.Fill(values, escaper)
	}
	if err != nil {
		return "", effect.Permanent(effect.ReasonRequest, "the %s of the tool: %s", field, effect.Clip(err.Error()))
	}
	return text, nil
}

// pathEscaper escapes values for a path with a query: no value can end its part or begin another.
type pathEscaper struct{ inQuery bool }

// Literal notes where the query begins.
func (p *pathEscaper) Literal(text string) string {
	p.inQuery = p.inQuery || strings.Contains(text, "?")
	return text
}

// Paste escapes a value, including colons: in a first segment one would end a scheme (RFC 3986 4.2).
func (p *pathEscaper) Paste(value any) (string, error) {
	text := pastedText(value)
	if p.inQuery {
		return url.QueryEscape(text), nil
	}
	if text == "" {
		return "", errors.New("the parameter has no value, and the path needs one")
	}
	return strings.ReplaceAll(url.PathEscape(text), ":", "%3A"), nil
}

type textEscaper func(string) string

// Literal returns the text unchanged.
func (textEscaper) Literal(text string) string { return text }

// Paste escapes a value.
func (p textEscaper) Paste(value any) (string, error) { return p(pastedText(value)), nil }

// pastedText renders a value as text; a missing one is empty.
func pastedText(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case template.JSON:
		return string(value)
	default:
		return textOf(value)
	}
}

// jsonEscaper escapes values for a JSON text. Inside a string a value becomes part of it; elsewhere it is a
// complete JSON value.
type jsonEscaper struct{ inString, escaped bool }

// Literal tracks the strings of the text.
func (p *jsonEscaper) Literal(text string) string {
	for i := range len(text) {
		switch c := text[i]; {
		case p.escaped:
			p.escaped = false
		case c == '\\' && p.inString:
			p.escaped = true
		case c == '"':
			p.inString = !p.inString
		}
	}
	return text
}

// Paste writes a value for its position.
func (p *jsonEscaper) Paste(value any) (string, error) {
	written, isJSON := value.(template.JSON)
	switch {
	case p.escaped:
		return "", errors.New("a value cannot follow a backslash")
	case p.inString:
		quoted := string(exactjson.EncodeOrNull(pastedText(value)))
		return quoted[1 : len(quoted)-1], nil
	case isJSON:
		return string(written), nil
	default:
		return string(exactjson.EncodeOrNull(value)), nil
	}
}
