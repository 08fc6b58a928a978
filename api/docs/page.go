package docs

import (
	_ "embed"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// What the page /docs shows, taken out of the descriptions for programs, so that the
// two cannot say different things.
type (
	docsData struct {
		Title, Summary, Description string
		Groups                      []docsGroup
		EventsDescription           string
		Channels                    []docsChannel
		Fault                       string
	}
	docsGroup struct {
		Name, Description string
		Operations        []docsOperation
	}
	docsOperation struct {
		ID, Method, Path, Summary, Description string
		Open                                   bool
		Parameters                             []docsParameter
		Example                                string
		Responses                              []docsResponse
	}
	docsParameter struct{ Name, In, Description string }
	docsResponse  struct{ Status, Description, Example string }
	docsChannel   struct{ Address, Description, Example string }
)

// reader reads a description, and resolves the references in it.
type reader struct{ document object }

// follow returns the object at a key, behind a reference where there is one.
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

func pageOfDocs(table []Route, document, described object) docsData {
	r := reader{document}
	info := r.follow(document["info"])
	data := docsData{
		Title: word(info, "title"), Summary: word(info, "summary"), Description: word(info, "description"),
		EventsDescription: word(reader{described}.follow(described["info"]), "description"),
		Channels:          channelsOf(described),
		Fault:             r.example(r.follow(object{"$ref": "#/components/responses/BadRequest"})),
	}
	for _, tag := range document["tags"].([]any) {
		tag := tag.(object)
		group := docsGroup{Name: word(tag, "name"), Description: word(tag, "description")}
		group.Operations = r.operations(table, group.Name)
		data.Groups = append(data.Groups, group)
	}
	return data
}

// operations lists those of one tag, in the order of the table.
func (r reader) operations(table []Route, tag string) []docsOperation {
	var found []docsOperation
	for _, endpoint := range table {
		operation, ok := operationOf(r.document, endpoint)
		if ok && slices.Contains(operation["tags"].([]any), any(tag)) {
			found = append(found, r.operation(endpoint, operation))
		}
	}
	return found
}

func (r reader) operation(endpoint Route, operation object) docsOperation {
	shown := docsOperation{
		ID: word(operation, "operationId"), Method: endpoint.Method, Path: templated(endpoint.Path),
		Summary: word(operation, "summary"), Description: word(operation, "description"),
		Open: endpoint.Open, Example: r.example(r.follow(operation["requestBody"])),
	}
	parameters, _ := operation["parameters"].([]any)
	for _, parameter := range parameters {
		p := r.follow(parameter)
		shown.Parameters = append(shown.Parameters, docsParameter{word(p, "name"), word(p, "in"), word(p, "description")})
	}
	responses := operation["responses"].(object)
	for _, status := range slices.Sorted(maps.Keys(responses)) {
		response := r.follow(responses[status])
		shown.Responses = append(shown.Responses, docsResponse{status, word(response, "description"), r.successExample(status, response)})
	}
	return shown
}

// successExample leaves out the examples of problems, which the page shows once.
func (r reader) successExample(status string, response object) string {
	if !strings.HasPrefix(status, "2") {
		return ""
	}
	return r.example(response)
}

// example writes the example of a body, whatever its media type; empty for none.
func (r reader) example(body object) string {
	content, _ := body["content"].(object)
	for _, media := range content {
		if example, ok := media.(object)["example"]; ok {
			return indented(example)
		}
	}
	return ""
}

func channelsOf(described object) []docsChannel {
	r := reader{described}
	channels := described["channels"].(object)
	var shown []docsChannel
	for _, name := range slices.Sorted(maps.Keys(channels)) {
		channel := channels[name].(object)
		for _, message := range channel["messages"].(object) {
			examples := r.follow(message)["examples"].([]any)
			shown = append(shown, docsChannel{word(channel, "address"), word(channel, "description"), indented(examples[0].(object)["payload"])})
		}
	}
	return shown
}

func word(from object, key string) string {
	text, _ := from[key].(string)
	return text
}

// indented writes a value that came from JSON, which cannot fail.
func indented(value any) string {
	text, _ := json.MarshalIndent(value, "", "  ")
	return string(text)
}
