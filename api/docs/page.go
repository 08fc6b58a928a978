package docs

import (
	"maps"
	"slices"
	"strings"
)

// What the page /docs shows, taken out of the descriptions for programs, so that the
// two cannot say different things.
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

// samples are the ids with which examples and forms begin.
var samples = map[string]string{
	"appId": "clinic", "sessionId": "s1", "repositoryId": "booking", "triggerId": "t1", "keyId": "k7c2", "messageId": "m1", "name": "request-for-appointment",
}

func pageOf(table []Route, document, described object, by order) pageData {
	r := reader{document, by}
	info := r.follow(document["info"])
	data := pageData{
		Title: word(info, "title"), Summary: word(info, "summary"), Description: word(info, "description"),
		Events: eventsOf(described, by), Schemas: r.schemas(),
		Fault: r.example(r.follow(reference("responses", "BadRequest"))),
	}
	for _, tag := range document["tags"].([]any) {
		tag := tag.(object)
		shown := group{Name: word(tag, "name"), Description: word(tag, "description")}
		if shown.Operations = r.operations(table, shown.Name); shown.Operations != nil {
			data.Groups = append(data.Groups, shown)
		}
	}
	call := document["webhooks"].(object)["toolCall"].(object)["post"].(object)
	data.Calls = r.operation(Route{Method: "POST", Path: "the tool's url", Open: true}, call)
	return data
}

// operations lists those of one tag, in the order of the table.
func (r reader) operations(table []Route, tag string) []shownOperation {
	var found []shownOperation
	for _, endpoint := range table {
		described, ok := operationOf(r.document, endpoint)
		if ok && slices.Contains(described["tags"].([]any), any(tag)) {
			found = append(found, r.operation(endpoint, described))
		}
	}
	return found
}

func (r reader) operation(endpoint Route, described object) shownOperation {
	security, _ := described["security"].([]any)
	shown := shownOperation{
		ID: word(described, "operationId"), Method: endpoint.Method, Path: templated(endpoint.Path),
		Summary: word(described, "summary"), Description: word(described, "description"),
		Open: endpoint.Open, Needs: needs(endpoint), User: len(security) > 1, Body: r.body(described),
	}
	parameters, _ := described["parameters"].([]any)
	for _, parameter := range parameters {
		shown.Parameters = append(shown.Parameters, r.parameter(r.follow(parameter)))
	}
	responses := described["responses"].(object)
	for _, status := range slices.Sorted(maps.Keys(responses)) {
		answer := r.response(status, r.follow(responses[status]))
		if status < "4" {
			shown.Answers = append(shown.Answers, answer)
		} else {
			shown.Faults = append(shown.Faults, answer)
		}
	}
	shown.Streams = r.streams(responses)
	shown.Curl = curl(shown)
	return shown
}

// needs says in words which keys are good for a route.
func needs(endpoint Route) string {
	if endpoint.Anyone {
		return "any key or token"
	}
	var words []string
	for _, scope := range endpoint.Scopes {
		words = append(words, "a key of scope "+scope)
	}
	if endpoint.FrontEnd {
		words = append(words, "the session's token")
	}
	words = append(words, "the admin's key")
	return strings.Join(words, ", or ")
}

func (r reader) streams(responses object) bool {
	content, _ := r.follow(responses["200"])["content"].(object)
	return content["text/event-stream"] != nil
}

func (r reader) parameter(of object) row {
	shown := r.row(of["schema"].(object))
	shown.Name, shown.In, shown.Description = word(of, "name"), word(of, "in"), word(of, "description")
	shown.Required = of["required"] == true
	if shown.Required {
		shown.Value = samples[shown.Name]
	}
	return shown
}

func (r reader) body(described object) *shownBody {
	of := r.follow(described["requestBody"])
	if of == nil {
		return nil
	}
	media := of["content"].(object)["application/json"].(object)
	schema := media["schema"].(object)
	_, name := r.typeOf(schema)
	return &shownBody{
		Schema: name, Description: word(r.follow(schema), "description"), Example: r.example(of),
		Required: of["required"] == true, Rows: r.rows(schema, ""),
	}
}

func (r reader) response(status string, of object) response {
	shown := response{Status: status, Description: word(of, "description")}
	content, _ := of["content"].(object)
	for kind, media := range content {
		if schema, ok := media.(object)["schema"].(object); ok && kind == "application/json" {
			_, shown.Schema = r.typeOf(schema)
		}
		shown.Example = r.example(of)
	}
	return shown
}

// example writes the example of a body, whatever its media type; empty for none.
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

// curl is the line that makes the call of the examples.
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

// schemas lists the objects that have fields of their own.
func (r reader) schemas() []schemaSection {
	all := r.document["components"].(object)["schemas"].(object)
	var found []schemaSection
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if rows := r.rows(all[name], ""); rows != nil {
			found = append(found, schemaSection{name, word(all[name].(object), "description"), rows})
		}
	}
	return found
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
