package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"earshot/api/answer"
	"earshot/repositories/bodies"
	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
)

// Methods that the SDK answers.
const (
	methodInitialize = "initialize"
	methodDiscover   = "server/discover"
	methodPing       = "ping"
)

// maxID is the largest number as an id: the SDK reads ids as floats, and would answer larger ones as others.
const maxID = 1 << 53

// readRequest reads a message and checks it as JSON-RPC and MCP have it, before any method or the SDK sees it. An
// error is an *rpcError; the request then has what could be read, its id above all. A request without a method is
// an answer, which nobody asked for here.
func readRequest(header http.Header, body []byte) (*rpcRequest, error) {
	version := header.Get(versionHeader)
	r := &rpcRequest{
		modern:        version == revision,
		acceptsStream: strings.Contains(strings.ToLower(strings.Join(header.Values("Accept"), ",")), "text/event-stream"),
	}
	members, err := membersOf(body)
	if err == nil {
		err = r.readEnvelope(members)
	}
	var tree map[string]any
	if err == nil {
		tree, err = exactTree(body)
	}
	if err != nil || !r.hasAnswer() {
		return r, err
	}
	if err := r.readParams(members["params"], tree["params"]); err != nil {
		return r, err
	}
	meta := r.Params.Meta
	if !r.modern {
		r.complete = version < revision && meta.Version == "" && (r.Method == methodList || r.Method == methodCall)
		return r, nil
	}
	r.complete = meta.Version == revision && meta.Capabilities != nil && header.Get(methodHeader) == r.Method &&
		(r.Method != methodCall || r.Params.Name != "" && header.Get(nameHeader) == r.Params.Name)
	return r, nil
}

// hasAnswer reports whether the message is to be answered. Others are notifications and answers.
func (r *rpcRequest) hasAnswer() bool { return r.Method != "" && len(r.ID) > 0 }

// membersOf returns the members of the one object that a body must be. Their names are those of the protocol,
// letter by letter.
func membersOf(body []byte) (members map[string]json.RawMessage, err error) {
	err = json.Unmarshal(body, &members)
	textFlaw := exactjson.TextFlaw(body)
	switch syntaxErr := (*json.SyntaxError)(nil); {
	case len(bytes.TrimSpace(body)) == 0:
		return nil, unreadable(codeParse, "the body is empty: a JSON-RPC message is to be in it")
	case textFlaw != "":
		return nil, unreadable(codeParse, "the body "+textFlaw)
	case errors.As(err, &syntaxErr):
		return nil, unreadable(codeParse, "the body is not one JSON value: "+syntaxErr.Error())
	case bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")):
		return nil, unreadable(codeInvalidRequest, "batches are not taken, in no revision: send each message in a request of its own")
	case err != nil || members == nil:
		return nil, unreadable(codeInvalidRequest, "the body is not an object, as a JSON-RPC message is")
	}
	return members, nil
}

// exactTree refuses what REST refuses in a body, as a name that is given twice: of a yes and a no, the last would count.
func exactTree(body []byte) (map[string]any, error) {
	read, err := bodies.Tree(body)
	if faults := (fault.List)(nil); errors.As(err, &faults) {
		code := codeInvalidParams
		for _, one := range faults {
			if one.Pointer != "/params" && !strings.HasPrefix(one.Pointer, "/params/") {
				code = codeInvalidRequest
			}
		}
		return nil, unreadable(code, err.Error())
	}
	tree, _ := read.(map[string]any)
	if wrong := otherCase(tree, reflect.TypeFor[envelope](), ""); wrong != "" {
		return nil, unreadable(codeInvalidRequest, wrong)
	}
	return tree, err
}

// envelope has the names of every message.
type envelope struct {
	Version any `json:"jsonrpc"`
	ID      any `json:"id"`
	Method  any `json:"method"`
	Params  any `json:"params"`
	Result  any `json:"result"`
	Error   any `json:"error"`
}

// otherCase describes a name that differs only in case from one of the type, which JSON tags would take; empty for
// none. at is the place of the value.
func otherCase(value any, of reflect.Type, at string) (wrong string) {
	object, _ := value.(map[string]any)
	switch of.Kind() {
	case reflect.Pointer:
		return otherCase(value, of.Elem(), at)
	case reflect.Map:
		for name, inner := range object {
			wrong = cmp.Or(wrong, otherCase(inner, of.Elem(), at+name+"."))
		}
	case reflect.Struct:
		for _, field := range reflect.VisibleFields(of) {
			known, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			for name, inner := range object {
				if name == known {
					wrong = cmp.Or(wrong, otherCase(inner, field.Type, at+name+"."))
				} else if strings.EqualFold(name, known) {
					return at + fault.Clip(name) + " is not known; " + at + known + " is"
				}
			}
		}
	}
	return wrong
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
	if !hasID && slices.Contains(answeredMethods, r.Method) {
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
	return err == nil && strconv.FormatInt(number, 10) == string(id) && -maxID <= number && number <= maxID
}

// answeredMethods are the methods that have an answer.
var answeredMethods = []string{
	methodList, methodCall, methodTaskGet, methodTaskUpdate, methodTaskCancel, methodSubscribe,
	methodInitialize, methodDiscover, methodPing,
}

// readParams reads the parameters of a request. Those of the SDK's methods are read only to refuse wrong types: the
// SDK would name its own.
func (r *rpcRequest) readParams(params json.RawMessage, tree any) error {
	target := any(&r.Params)
	switch r.Method {
	case methodInitialize:
		if params == nil || string(params) == "null" {
			return invalid(answer.InvalidBody, `params is missing: the client's protocolVersion, capabilities and clientInfo`)
		}
		target = &sdk.InitializeParams{}
	case methodDiscover, methodPing:
		target = &struct {
			Meta *requestMeta `json:"_meta"`
		}{&r.Params.Meta}
	default:
		if !slices.Contains(answeredMethods, r.Method) {
			return &rpcError{Code: codeUnknownMethod, Message: "there is no method " + exactQuote(r.Method) + " here"}
		}
	}
	if params == nil {
		return nil
	}
	if err := exactjson.Unmarshal(params, target); err != nil {
		return invalid(answer.InvalidBody, typeErrorText(err))
	}
	wrong := otherCase(tree, reflect.TypeOf(target), "params.")
	if object, _ := tree.(map[string]any); wrong == "" {
		wrong = otherCase(object["inputResponses"], reflect.TypeFor[map[string]response](), "params.inputResponses.")
	}
	if wrong != "" {
		return invalid(answer.InvalidBody, wrong)
	}
	return nil
}

// typeErrorText says which parameter has a wrong type, in the words of JSON.
func typeErrorText(err error) string {
	var typeErr *json.UnmarshalTypeError
	if !errors.As(err, &typeErr) {
		return "params: " + err.Error()
	}
	name := "params"
	if typeErr.Field != "" {
		name += "." + typeErr.Field
	}
	kind, _, _ := strings.Cut(typeErr.Value, " ") // "number 5" has its digits
	return name + " is " + jsonKinds[kind] + ", and is to be " + jsonKinds[kindOf(typeErr.Type)]
}

// jsonKinds are the words for encoding/json's names of values.
var jsonKinds = map[string]string{
	"string": "a text", "number": "a number", "bool": "true or false", "array": "a list", "object": "an object",
}

func kindOf(t reflect.Type) string {
	switch t.Kind() {
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

// refusal replaces the SDK's plain-text errors: a JSON-RPC client gets a readable error.
type refusal struct {
	http.ResponseWriter
	status int // of a plain-text error; 0 for any other answer
	text   bytes.Buffer
}

// WriteHeader withholds the header of a plain-text error.
func (r *refusal) WriteHeader(status int) {
	if status >= http.StatusBadRequest && strings.HasPrefix(r.Header().Get(echo.HeaderContentType), echo.MIMETextPlain) {
		r.status = status
		return
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write withholds the text of a plain-text error.
func (r *refusal) Write(part []byte) (int, error) {
	if r.status != 0 {
		return r.text.Write(part)
	}
	return r.ResponseWriter.Write(part)
}

// Flush flushes a stream.
func (r *refusal) Flush() {
	if f, ok := r.ResponseWriter.(http.Flusher); ok && r.status == 0 {
		f.Flush()
	}
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (r *refusal) Unwrap() http.ResponseWriter { return r.ResponseWriter }
