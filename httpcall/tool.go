package httpcall

import (
	"net/http"
	"net/url"

	"earshot/repositories"
	"earshot/repositories/secret"
	"earshot/repositories/template"
	"earshot/trigger/effect"
)

// partsOfTool makes the request of an http tool to its source.
func partsOfTool(app *repositories.App, delivery effect.Effect) (callParts, error) {
	tool, values := delivery.Call.Tool, delivery.Call.Values
	source, there := app.Source(tool.Source)
	if !there || source.Type != repositories.SourceHTTP {
		return callParts{}, dead(effect.ReasonRequest, "app %q has no http source %q that the tool works on", app.ID, clip(tool.Source))
	}
	if err := tool.CheckDestination(app); err != nil {
		return callParts{}, dead(effect.ReasonAuth, "%s", err)
	}
	target, err := toolURL(source, tool, values)
	if err != nil {
		return callParts{}, err
	}
	body, err := toolBody(source, tool, values)
	if err != nil {
		return callParts{}, err
	}
	request := repositories.Request{}
	if tool.Request != nil {
		request = *tool.Request
	}
	request.Method = tool.Method
	request.Headers, err = toolHeaders(source, tool, values)
	return callParts{
		request: &request, target: target, body: body,
		credentials: source.QueryParams.Credentials(), terse: !source.ReturnFullError,
	}, err
}

// toolURL resolves the filled path against the source's base, and adds the parameters
// of both to the query.
func toolURL(source repositories.Source, tool *repositories.Tool, values map[string]any) (*url.URL, error) {
	path, err := fill("path", tool.Path, values, &pathPlace{}, template.PathEscape, template.QueryEscape)
	if err != nil {
		return nil, err
	}
	if len(path) > mostURL {
		return nil, dead(effect.ReasonRequest, "the values make the path longer than %d bytes", mostURL)
	}
	target, err := repositories.Resolve(source.BaseURL, path)
	if err != nil {
		return nil, dead(effect.ReasonRequest, "the path of the tool %s", err)
	}
	added := url.Values{}
	for name, value := range source.QueryParams {
		added.Add(name, value.Reveal())
	}
	for _, name := range repositories.ParameterNames(tool.QueryParams) {
		addQuery(added, name, values[name])
	}
	if query := added.Encode(); query != "" && target.RawQuery != "" {
		target.RawQuery += "&" + query
	} else if query != "" {
		target.RawQuery = query
	}
	if len(target.RawQuery) > mostURL {
		return nil, dead(effect.ReasonRequest, "the values make the query longer than %d bytes", mostURL)
	}
	return target, nil
}

// addQuery adds a value: each member of a list under the same name, and nothing for a
// value that is missing.
func addQuery(query url.Values, name string, value any) {
	switch value := value.(type) {
	case nil:
	case []any:
		for _, member := range value {
			query.Add(name, textOf(member))
		}
	default:
		query.Add(name, textOf(value))
	}
}

// toolBody fills the template of the body; nil where there is none.
func toolBody(source repositories.Source, tool *repositories.Tool, values map[string]any) ([]byte, error) {
	if tool.RequestBody == "" {
		return nil, nil
	}
	kind := repositories.BodyType(source.Headers, tool.Headers)
	if kind == "" && len(repositories.ParameterNames(tool.BodyParams)) > 0 {
		return nil, dead(effect.ReasonRequest, "the Content-Type of the source is none that values can be escaped for")
	}
	text, err := fill("requestBody", tool.RequestBody, values, placeIn(kind), template.ToJSON)
	if err != nil {
		return nil, err
	}
	if kind == repositories.BodyJSON && !validJSON(text) {
		return nil, dead(effect.ReasonRequest, "the requestBody is not JSON when its values are filled in; a body of another kind has its Content-Type in headers")
	}
	return []byte(text), nil
}

// toolHeaders merges the headers of the source, of the tool, and those that are
// parameters, of which the later win. A parameter without a value is left out.
func toolHeaders(source repositories.Source, tool *repositories.Tool, values map[string]any) (repositories.Headers, error) {
	merged := repositories.Headers{}
	for _, given := range []repositories.Headers{source.Headers, tool.Headers} {
		for name, value := range given {
			merged[http.CanonicalHeaderKey(name)] = value
		}
	}
	for _, name := range repositories.ParameterNames(tool.HeaderParams) {
		switch value := values[name].(type) {
		case nil:
		case string:
			merged[http.CanonicalHeaderKey(name)] = secret.New(value)
		default:
			return nil, dead(effect.ReasonRequest, "the header parameter %q is no string", clip(name))
		}
	}
	return merged, nil
}

// fill fills one template of a tool.
func fill(what, text string, values map[string]any, place template.Place, functions ...string) (string, error) {
	parsed, err := template.Parse(text, functions...)
	if err == nil {
		text, err = parsed.Fill(values, place)
	}
	if err != nil {
		return "", dead(effect.ReasonRequest, "the %s of the tool: %s", what, clip(err.Error()))
	}
	return text, nil
}
