package docs

import (
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"earshot/repositories/lists"
)

const (
	repliesChannel = "replies" // has the replies to all requests; NATS chooses its address
	problemMessage = "problem"
	// requestsTag marks requests, not events.
	requestsTag = "Requests"
)

var idInBraces = regexp.MustCompile(`{(\w+)}`)

// addRequests adds the operations that NATS serves to the description of events: the routes with a subject,
// with REST's bodies and answers.
func addRequests(events, rest object, table []Route) {
	components := events["components"].(object)
	a := asked{
		messages: components["messages"].(object), schemas: components["schemas"].(object), parameters: components["parameters"].(object),
		rest: rest["components"].(object), own: maps.Clone(components["schemas"].(object)),
	}
	channels, operations, servers := events["channels"].(object), events["operations"].(object), []any{object{"$ref": "#/servers/nats"}}
	replies := object{problemMessage: a.message(problemMessage, "The problem, where it was not done", exchanged{schema: object{"$ref": schemasPath + "Problem"}})}
	for _, endpoint := range table {
		operation, described := operationOf(rest, endpoint)
		if endpoint.Subject == "" || !described {
			continue
		}
		id, summary := operation["operationId"].(string), operation["summary"].(string)
		asks, says := id+"Request", id+"Reply"
		var answers []exchanged // of success
		responses := operation["responses"].(object)
		for _, status := range []string{"200", "201", "202"} {
			shown, _ := responses[status].(object)
			if name, refers := shown["$ref"].(string); refers {
				shown = a.rest["responses"].(object)[path.Base(name)].(object)
			}
			answers = append(answers, bodiesOf(shown)...)
		}
		answers = slices.CompactFunc(answers, func(one, next exchanged) bool { return reflect.DeepEqual(one.schema, next.schema) })
		replies[says] = a.message(says, "The answer to: "+summary, answers...)
		ids := object{}
		for _, found := range idInBraces.FindAllStringSubmatch(endpoint.Subject, -1) {
			name := found[1]
			if a.parameters[name] == nil {
				a.parameters[name] = object{"description": "As in the path of REST."}
			}
			ids[name] = object{"$ref": "#/components/parameters/" + name}
		}
		description := summary + ", as by " + endpoint.Method + " " + templated(endpoint.Path) + ". Where EARSHOT_NATS_INGRESS is on or keys."
		if endpoint.Earlier != "" {
			description += " " + endpoint.Earlier + ", the earlier name, is still answered."
		}
		channels[id] = object{
			"address": endpoint.Subject, "parameters": ids, "servers": servers, "description": description,
			"messages": object{asks: a.message(asks, summary, bodiesOf(operation["requestBody"])...)},
		}
		reply := "#/channels/" + repliesChannel
		operations[id] = object{
			"action": "receive", "channel": object{"$ref": "#/channels/" + id}, "summary": summary, "tags": []any{object{"name": requestsTag}},
			"messages": []any{object{"$ref": "#/channels/" + id + "/messages/" + asks}},
			"reply": object{
				"channel":  object{"$ref": reply},
				"messages": []any{object{"$ref": reply + "/messages/" + says}, object{"$ref": reply + "/messages/" + problemMessage}},
			},
		}
	}
	channels[repliesChannel] = object{
		"address": nil, "messages": replies, "servers": servers, "description": "The reply goes to the inbox that the request names.",
	}
}

// asked holds the components of the event description, to which those of requests are added.
type asked struct {
	messages, schemas, parameters object
	rest                          object // the components of REST
	own                           object // the schemas of the events
}

// message adds a message with one of several payloads, and returns a reference.
func (a asked) message(name, title string, of ...exchanged) object {
	made, payloads, examples := object{"name": name, "title": title, "contentType": "application/json"}, []any{}, []any{}
	for _, one := range of {
		payloads = append(payloads, a.adopted(one.schema))
		if one.example != nil {
			examples = append(examples, object{"payload": one.example})
		}
	}
	if len(payloads) == 1 {
		made["payload"] = payloads[0]
	} else if len(payloads) > 1 { // such as a created and a stored one
		made["payload"] = object{"anyOf": payloads}
	}
	if len(examples) > 0 {
		made["examples"] = examples
	}
	a.messages[name] = made
	return object{"$ref": "#/components/messages/" + name}
}

const schemasPath = "#/components/schemas/"

// exchanged is the body of a request or an answer.
type exchanged struct{ schema, example any }

func bodiesOf(described any) (all []exchanged) {
	of, _ := described.(object)
	kinds, _ := of["content"].(object)
	for _, kind := range kinds {
		all = append(all, exchanged{kind.(object)["schema"], kind.(object)["example"]})
	}
	return all
}

// adopted copies a REST schema, with all references, into the event schemas. A taken name gets a prefix.
func (a asked) adopted(schema any) any {
	switch value := schema.(type) {
	case object:
		made := object{}
		for key, part := range value {
			made[key] = a.adopted(part)
			text, is := part.(string)
			if !is || key != "$ref" {
				continue
			}
			name := strings.TrimPrefix(text, schemasPath)
			as := name
			if a.own[name] != nil {
				as = "Rest" + name
			}
			if made[key] = schemasPath + as; a.schemas[as] == nil {
				a.schemas[as] = object{} // it may refer to itself
				a.schemas[as] = a.adopted(a.rest["schemas"].(object)[name])
			}
		}
		return made
	case []any:
		return lists.Map(value, a.adopted)
	default:
		return schema
	}
}
