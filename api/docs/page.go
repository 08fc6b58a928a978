package docs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"earshot/repositories/lists"
)

// The data of the page /docs, from the descriptions.
type (
	pageData struct {
		Title, Summary, Description string
		Style, Script               string // names of the files
		Groups                      []group
		Calls                       shownOperation
		Events                      shownEvents
		Schemas                     []schemaSection
		Fault                       string
	}
	group struct {
		Name, Description string
		Operations        []shownOperation
	}
	shownOperation struct {
		ID, Method, Path, Summary, Description string
		Needs                                  string // which key
		Open, Streams, User                    bool
		Parameters                             []row
		Body                                   *shownBody
		Answers, Faults                        []response
		Curl                                   string
	}
	shownBody struct {
		Schema, Description, Example string
		Required                     bool
		Rows                         []row
	}
	response    struct{ Status, Description, Schema, Example string }
	shownEvents struct {
		Description string
		Headers     []row
		Channels    []channel
	}
	channel struct {
		Name, Address, Description, Example string
		Rows                                []row
	}
	schemaSection struct {
		Name, Description string
		Rows              []row
	}
)

// samples are the ids in examples and forms.
var samples = map[string]string{
	"appId": "clinic", "sessionId": "s1", "repositoryId": "booking", "triggerId": "t1", "keyId": "k7c2", "messageId": "m1", "name": "request-for-appointment",
}

func pageOf(table []Route, document, described object, by order) pageData {
	r := reader{document, by}
	info := r.follow(document["info"])
	data := pageData{
		Title: word(info, "title"), Summary: word(info, "summary"), Description: word(info, "description"),
		Events: eventsOf(described, by),
		Fault:  r.example(r.follow(reference("responses", "BadRequest"))),
	}
	for _, tag := range document["tags"].([]any) {
		tag := tag.(object)
		shown := group{Name: word(tag, "name"), Description: word(tag, "description")}
		for _, endpoint := range table {
			described, ok := operationOf(document, endpoint)
			if ok && slices.Contains(described["tags"].([]any), tag["name"]) {
				shown.Operations = append(shown.Operations, r.operation(endpoint, described))
			}
		}
		if shown.Operations != nil {
			data.Groups = append(data.Groups, shown)
		}
	}
	schemas := document["components"].(object)["schemas"].(object)
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		if rows := r.rows(schemas[name], ""); rows != nil {
			data.Schemas = append(data.Schemas, schemaSection{name, word(schemas[name].(object), "description"), rows})
		}
	}
	call := document["webhooks"].(object)["toolCall"].(object)["post"].(object)
	data.Calls = r.operation(Route{Method: "POST", Path: "the tool's url", Open: true}, call)
	return data
}

func (r reader) operation(endpoint Route, described object) shownOperation {
	security, _ := described["security"].([]any)
	shown := shownOperation{
		ID: word(described, "operationId"), Method: endpoint.Method, Path: templated(endpoint.Path),
		Summary: word(described, "summary"), Description: word(described, "description"),
		Open: endpoint.Open, Needs: needs(endpoint), User: len(security) > 1,
	}
	if of := r.follow(described["requestBody"]); of != nil {
		schema := of["content"].(object)["application/json"].(object)["schema"].(object)
		_, name := r.typeOf(schema)
		shown.Body = &shownBody{
			Schema: name, Description: word(r.follow(schema), "description"), Example: r.example(of),
			Required: of["required"] == true, Rows: r.rows(schema, ""),
		}
	}
	parameters, _ := described["parameters"].([]any)
	for _, parameter := range parameters {
		of := r.follow(parameter)
		one := r.row(of["schema"].(object))
		one.Name, one.In, one.Description, one.Required = word(of, "name"), word(of, "in"), word(of, "description"), of["required"] == true
		if one.Required {
			one.Value = samples[one.Name]
		}
		shown.Parameters = append(shown.Parameters, one)
	}
	responses := described["responses"].(object)
	for _, status := range slices.Sorted(maps.Keys(responses)) {
		of := r.follow(responses[status])
		answer := response{Status: status, Description: word(of, "description")}
		content, _ := of["content"].(object)
		for kind, media := range content {
			if schema, ok := media.(object)["schema"].(object); ok && kind == "application/json" {
				_, answer.Schema = r.typeOf(schema)
			}
			answer.Example = r.example(of)
		}
		if status < "4" {
			shown.Answers = append(shown.Answers, answer)
		} else {
			shown.Faults = append(shown.Faults, answer)
		}
	}
	content, _ := r.follow(responses["200"])["content"].(object)
	shown.Streams = content["text/event-stream"] != nil
	shown.Curl = curl(shown)
	return shown
}

func needs(endpoint Route) string {
	if endpoint.Anyone {
		return "any key or token"
	}
	var words []string
	for _, scope := range endpoint.Scopes {
		words = append(words, "a key of scope "+string(scope))
	}
	if endpoint.FrontEnd {
		words = append(words, "the session's token")
	}
	words = append(words, "the admin's key")
	return strings.Join(words, ", or ")
}

// example returns the example of a body of any media type; empty for none.
func (r reader) example(body object) string {
	content, _ := body["content"].(object)
	for _, media := range content {
		switch example := media.(object)["example"].(type) {
		case nil:
		case string:
			return example
		default:
			return r.order.indented(example, "")
		}
	}
	return ""
}

// curl returns the command line of the example call.
func curl(of shownOperation) string {
	path := of.Path
	for _, parameter := range of.Parameters {
		path = strings.ReplaceAll(path, "{"+parameter.Name+"}", parameter.Value)
	}
	line := "curl"
	if of.Streams {
		line += " -N"
	}
	if of.Method != "GET" {
		line += " -X " + of.Method
	}
	line += ` "$EARSHOT_URL` + path + `"`
	if !of.Open {
		line += ` -H "Authorization: Bearer $EARSHOT_KEY"`
	}
	if of.Body != nil {
		line += " -H 'Content-Type: application/json' -d '" + strings.ReplaceAll(of.Body.Example, "'", `'\''`) + "'"
	}
	return line
}

func eventsOf(described object, by order) shownEvents {
	r := reader{described, by}
	channels := described["channels"].(object)
	shown := shownEvents{Description: word(r.follow(described["info"]), "description"), Headers: r.rows(r.follow(object{"$ref": "#/components/schemas/Headers"}), "")}
	for _, name := range slices.Sorted(maps.Keys(channels)) {
		of := channels[name].(object)
		for _, message := range of["messages"].(object) {
			message := r.follow(message)
			example := message["examples"].([]any)[0].(object)["payload"]
			shown.Channels = append(shown.Channels, channel{
				name, word(of, "address"), word(of, "description"), by.indented(example, ""), r.rows(message["payload"], ""),
			})
		}
	}
	return shown
}

// row is a field of a body, or a parameter.
type row struct {
	Name        string // with its parent objects: prompt.text
	In          string // of a parameter: path, query or header
	Type        string
	Schema      string // the type's schema, if it has its own section
	Required    bool
	Limits      []string
	Description string
	Value       string // of a parameter: the form's initial value
}

// reader reads a description and resolves references.
type reader struct {
	document object
	order    order
}

// follow returns an object, resolving references.
func (r reader) follow(value any) object {
	found, _ := value.(object)
	text, ok := found["$ref"].(string)
	if !ok {
		return found
	}
	target := any(r.document)
	for token := range strings.SplitSeq(strings.TrimPrefix(text, "#/"), "/") {
		target = target.(object)[token]
	}
	return r.follow(target)
}

// rows lists the fields of an object, including nested ones.
func (r reader) rows(schema any, within string) []row {
	of := r.follow(schema)
	properties, _ := of["properties"].(object)
	required, _ := of["required"].([]any)
	var found []row
	for _, name := range r.order.keys(properties, required) {
		property, _ := properties[name].(object)
		one := r.row(property)
		one.Name, one.Required = within+name, slices.Contains(required, any(name))
		found = append(found, one)
		if one.Schema != "" {
			continue
		}
		// The fields are those of the property, of a list's items, or of a map's values.
		inner, suffix := any(property), "."
		for _, key := range []string{"additionalProperties", "items"} {
			if of, ok := property[key].(object); ok && of["$ref"] == nil {
				inner = of
			}
		}
		switch {
		case property["items"] != nil:
			suffix = "[]."
		case property["properties"] == nil:
			suffix = ".*."
		}
		found = append(found, r.rows(inner, within+name+suffix)...)
	}
	return found
}

// row describes a property, with the description of its schema as a fallback.
func (r reader) row(property object) row {
	of := r.follow(property)
	label, name := r.typeOf(property)
	return row{Type: label, Schema: name, Limits: limitsOf(of), Description: cmp.Or(word(property, "description"), word(of, "description"))}
}

// typeOf returns the type's label, and the name of the referenced schema, if any.
func (r reader) typeOf(schema object) (label, name string) {
	if text, ok := schema["$ref"].(string); ok {
		name = text[strings.LastIndex(text, "/")+1:]
		if r.follow(schema)["properties"] == nil {
			label, _ = r.typeOf(r.follow(schema))
			return label, ""
		}
		return name, name
	}
	if choice, ok := schema["anyOf"].([]any); ok {
		var labels []string
		for _, one := range choice {
			text, to := r.typeOf(one.(object))
			labels, name = append(labels, text), cmp.Or(name, to)
		}
		return strings.Join(labels, " or "), name
	}
	switch kind := schema["type"].(type) {
	case string:
		label = kind
	case []any:
		label = listed(kind, " or ")
	default:
		label = "any"
	}
	if items, ok := schema["items"].(object); ok && len(items) > 0 {
		of, to := r.typeOf(items)
		return strings.Replace(label, "array", "array of "+of, 1), to
	}
	if values, ok := schema["additionalProperties"].(object); ok && schema["properties"] == nil {
		of, to := r.typeOf(values)
		return strings.Replace(label, "object", "object of "+of, 1), to
	}
	return label, ""
}

// limitsOf describes the limits and default of a value. Patterns are left out, as descriptions explain them
// better.
func limitsOf(schema object) []string {
	var limits []string
	if values, ok := schema["enum"].([]any); ok {
		limits = append(limits, listed(values, ", "))
	}
	for _, limit := range []struct{ key, words string }{
		{"minimum", "at least %s"}, {"maximum", "at most %s"}, {"minLength", "at least %s characters"}, {"maxLength", "at most %s characters"},
		{"minItems", "at least %s"}, {"maxItems", "at most %s of them"}, {"format", "%s"}, {"default", "default %s"},
	} {
		if value, ok := schema[limit.key]; ok {
			limits = append(limits, fmt.Sprintf(limit.words, plainText(value)))
		}
	}
	return limits
}

func listed(values []any, between string) string {
	return strings.Join(lists.Map(values, plainText), between)
}

func word(from object, key string) string {
	text, _ := from[key].(string)
	return text
}

// order ranks field names by their first occurrence in the descriptions, whose order is meaningful and lost in
// Go maps.
type order map[string]int

// read records one value's keys: field names if the value is a schema's properties, and all keys of an example.
func (o order) read(from *json.Decoder, fields, example bool) {
	token, err := from.Token()
	if err != nil {
		return
	}
	switch token {
	case json.Delim('{'):
		for from.More() {
			key, _ := from.Token()
			name := key.(string)
			if (fields || example) && o[name] == 0 {
				o[name] = len(o) + 1
			}
			o.read(from, name == "properties" && !fields, example || name == "example" || name == "x-examples")
		}
		_, _ = from.Token()
	case json.Delim('['):
		for from.More() {
			o.read(from, false, example)
		}
		_, _ = from.Token()
	}
}

// keys sorts the keys of an object in this order, those of first before others.
func (o order) keys(of object, first []any) []string {
	return slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		if sooner := slices.Contains(first, any(a)); sooner != slices.Contains(first, any(b)) {
			if sooner {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(o[a], o[b]), strings.Compare(a, b))
	})
}

// indented formats a decoded JSON value.
func (o order) indented(value any, indent string) string {
	deeper := indent + "  "
	var parts []string
	ends := "{}"
	switch value := value.(type) {
	case object:
		for _, key := range o.keys(value, nil) {
			parts = append(parts, literal(key)+": "+o.indented(value[key], deeper))
		}
	case []any:
		ends = "[]"
		for _, part := range value {
			parts = append(parts, o.indented(part, deeper))
		}
	default:
		return literal(value)
	}
	if oneLine := ends[:1] + strings.Join(parts, ", ") + ends[1:]; len(oneLine) < 60 && !strings.Contains(oneLine, "\n") {
		return oneLine
	}
	return ends[:1] + "\n" + deeper + strings.Join(parts, ",\n"+deeper) + "\n" + indent + ends[1:]
}

func literal(value any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // it came from JSON
	return strings.TrimSpace(text.String())
}
