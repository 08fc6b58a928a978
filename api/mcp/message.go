package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"earshot/api/answer"
	"earshot/repositories/exactjson"
)

// Methods that the SDK answers.
const (
	methodInitialize = "initialize"
	methodDiscover   = "server/discover"
	methodPing       = "ping"
)

// mostID is the largest number as an id: the SDK reads ids as floats, and would answer larger ones as others.
const mostID = 1 << 53

// readRequest reads a message and checks it as JSON-RPC and MCP have it, before any method or the SDK sees it. An
// error is an *rpcError; the request then has what could be read, its id above all. A request without a method is
// an answer, which nobody asked for here.
func readRequest(header http.Header, body []byte) (*rpcRequest, error) {
	version := header.Get(versionHeader)
	r := &rpcRequest{
		modern:  version == revision,
		streams: strings.Contains(strings.ToLower(strings.Join(header.Values("Accept"), ",")), "text/event-stream"),
	}
	members, err := membersOf(body)
	if err == nil {
		err = r.readEnvelope(members)
	}
	if err != nil || !r.asks() {
		return r, err
	}
	if err := r.readParams(members["params"]); err != nil {
		return r, err
	}
	meta := r.Params.Meta
	if !r.modern {
		r.plain = version < revision && meta.Version == "" && (r.Method == methodList || r.Method == methodCall)
		return r, nil
	}
	r.plain = meta.Version == revision && meta.Capabilities != nil && header.Get(methodHeader) == r.Method &&
		(r.Method != methodCall || r.Params.Name != "" && header.Get(nameHeader) == r.Params.Name)
	return r, nil
}

// asks reports whether the message is to be answered. Others are notifications and answers.
func (r *rpcRequest) asks() bool { return r.Method != "" && len(r.ID) > 0 }

// membersOf returns the members of the one object that a body must be. Their names are those of the protocol,
// letter by letter.
func membersOf(body []byte) (members map[string]json.RawMessage, err error) {
	err = json.Unmarshal(body, &members)
	flaw := exactjson.TextFlaw(body)
	switch broken := (*json.SyntaxError)(nil); {
	case len(bytes.TrimSpace(body)) == 0:
		return nil, unreadable(codeParse, "the body is empty: a JSON-RPC message is to be in it")
	case flaw != "":
		return nil, unreadable(codeParse, "the body "+flaw)
	case errors.As(err, &broken):
		return nil, unreadable(codeParse, "the body is not one JSON value: "+broken.Error())
	case bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")):
		return nil, unreadable(codeInvalidRequest, "batches are not taken, in no revision: send each message in a request of its own")
	case err != nil || members == nil:
		return nil, unreadable(codeInvalidRequest, "the body is no object: a JSON-RPC message is one")
	}
	return members, nil
}

func unreadable(code int, message string) error {
	return &rpcError{Code: code, Message: message, Data: errorData{Code: answer.InvalidBody}}
}

// readEnvelope reads what every message of JSON-RPC has.
func (r *rpcRequest) readEnvelope(members map[string]json.RawMessage) error {
	id, hasID := members["id"]
	if hasID && !isID(id) {
		return unreadable(codeInvalidRequest, "id is to be a text, or a whole number to 2^53; a notification has none")
	}
	r.ID = id
	if string(members["jsonrpc"]) != `"2.0"` {
		return unreadable(codeInvalidRequest, `jsonrpc is to be "2.0"`)
	}
	method, hasMethod := members["method"]
	if !hasMethod {
		if hasID && (members["result"] != nil || members["error"] != nil) {
			return nil // an answer
		}
		return unreadable(codeInvalidRequest, `method is missing: what is asked for, as "tools/list"`)
	}
	if json.Unmarshal(method, &r.Method) != nil || r.Method == "" {
		return unreadable(codeInvalidRequest, `method is to be a text, as "tools/list"`)
	}
	if !hasID && slices.Contains(haveAnswers, r.Method) {
		return unreadable(codeInvalidRequest, "id is missing: "+r.Method+" has an answer")
	}
	return nil
}

// isID reports whether an id comes back from the SDK as it was sent.
func isID(id json.RawMessage) bool {
	if id[0] == '"' {
		return true
	}
	number, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && strconv.FormatInt(number, 10) == string(id) && -mostID <= number && number <= mostID
}

// haveAnswers are the methods that have an answer.
var haveAnswers = []string{
	methodList, methodCall, methodTaskGet, methodTaskUpdate, methodTaskCancel, methodSubscribe,
	methodInitialize, methodDiscover, methodPing,
}

// readParams reads the parameters of a request. Those of the SDK's methods are read only to refuse wrong types: the
// SDK would name its own.
func (r *rpcRequest) readParams(params json.RawMessage) error {
	into := any(&r.Params)
	switch r.Method {
	case methodInitialize:
		if params == nil || string(params) == "null" {
			return invalid(answer.InvalidBody, `params is missing: the client's protocolVersion, capabilities and clientInfo`)
		}
		into = &sdk.InitializeParams{}
	case methodDiscover, methodPing:
		into = &struct {
			Meta *requestMeta `json:"_meta"`
		}{&r.Params.Meta}
	default:
		if !slices.Contains(haveAnswers, r.Method) {
			return &rpcError{Code: codeUnknownMethod, Message: "there is no method " + exactQuote(r.Method) + " here"}
		}
	}
	if params == nil {
		return nil
	}
	if err := exactjson.Unmarshal(params, into); err != nil {
		return invalid(answer.InvalidBody, mistyped(err))
	}
	return nil
}

// mistyped says which parameter has a wrong type, in the words of JSON.
func mistyped(err error) string {
	wrong := (*json.UnmarshalTypeError)(nil)
	if !errors.As(err, &wrong) {
		return "params: " + err.Error()
	}
	name := "params"
	if wrong.Field != "" {
		name += "." + wrong.Field
	}
	is, _, _ := strings.Cut(wrong.Value, " ") // "number 5" has its digits
	return name + " is " + jsonKinds[is] + ", and is to be " + jsonKinds[kindOf(wrong.Type)]
}

// jsonKinds are the words for encoding/json's names of values.
var jsonKinds = map[string]string{
	"string": "a text", "number": "a number", "bool": "true or false", "array": "a list", "object": "an object",
}

func kindOf(of reflect.Type) string {
	switch of.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Slice, reflect.Array:
		return "array"
	case reflect.Map, reflect.Struct, reflect.Pointer, reflect.Interface:
		return "object"
	}
	return "number"
}
