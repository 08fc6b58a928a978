package api

import (
	"bytes"
	"cmp"
	_ "embed" // for the schema
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/repositories"
	"earshot/repositories/bodies"
	"earshot/repositories/fault"
	"earshot/repositories/locale"
)

// withBody adapts a handler that needs a JSON body.
func withBody(handle func(c echo.Context, body []byte) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		body, err := readBody(c)
		if err != nil {
			return err
		}
		return handle(c, body)
	}
}

func readBody(c echo.Context) ([]byte, error) {
	body, err := readOptional(c)
	if err == nil && len(body) == 0 {
		return nil, answer.BadBody(fault.Missing, "a JSON body is needed and there is none")
	}
	return body, err
}

// readOptional reads the JSON body, which may be missing. The middleware limitBodies has bounded it.
func readOptional(c echo.Context) ([]byte, error) {
	header := c.Request().Header
	if encoding := header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, unsupported("Content-Encoding "+answer.Quote(encoding)+" is not read; send the body as it is").With("Accept-Encoding", "identity")
	}
	if given := header.Get("Content-Type"); given != "" && given != echo.MIMEApplicationJSON { // application/json or a +json type (RFC 6839), in UTF-8
		kind, parameters, err := mime.ParseMediaType(given)
		kin := strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")
		if err != nil || kind != echo.MIMEApplicationJSON && !kin || !strings.EqualFold(cmp.Or(parameters["charset"], "utf-8"), "utf-8") {
			return nil, unsupported("Content-Type " + answer.Quote(given) + " is not read; send application/json")
		}
	}
	return answer.ReadBody(c.Request().Body)
}

// decodeOptional reads a JSON body by its schema; without a body, into stays as it is.
func decodeOptional(c echo.Context, known *bodies.Definitions, schema string, into any) error {
	body, err := readOptional(c)
	if err != nil || len(body) == 0 {
		return err
	}
	return known.Decode(schema, body, into)
}

// drainBody reads the unused body of a request before the answer: net/http would read it afterwards, too late
// to report that it did not arrive.
func drainBody(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := drain(c.Request()); err != nil {
			return err
		}
		return next(c)
	}
}

// drain discards a body. It fails if the body is too late or too long, not if it breaks off. A client that
// sends Expect: 100-continue keeps its body.
func drain(request *http.Request) error {
	if keepsBody(request) {
		return nil
	}
	_, err := io.Copy(io.Discard, request.Body)
	var size *http.MaxBytesError
	if errors.As(err, &size) || errors.Is(err, os.ErrDeadlineExceeded) {
		return answer.Unread(err)
	}
	return nil
}

func keepsBody(request *http.Request) bool {
	return strings.EqualFold(request.Header.Get("Expect"), "100-continue")
}

// Bounds of the rest of a body that is too long.
const (
	restTime = 2 * time.Second
	mostRest = 64 << 20
)

// discardRest reads the rest of a body that is too long, after the answer. A connection that is closed with unread bytes
// is reset, and a client that sends its whole body before it reads would lose the answer.
func discardRest(c echo.Context, body io.Reader) {
	if c.Request().ProtoMajor > 1 || keepsBody(c.Request()) {
		return
	}
	connection := http.NewResponseController(c.Response())
	if connection.Flush() == nil && connection.SetReadDeadline(time.Now().Add(restTime)) == nil {
		_, _ = io.CopyN(io.Discard, body, mostRest) // a client that goes away needs no answer
	}
}

// maxUnread is how many bytes of a body are looked at on a route that takes none.
const maxUnread = 4 << 10

var errNoBody = fault.List{{Detail: "the request takes no body; leave it out"}}

// refuseBody refuses a body on a route that takes none, except null and {}: a filter there would be ignored, and the request
// would change everything.
func refuseBody(accepted []string) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			body := c.Request().Body
			head, err := io.ReadAll(io.LimitReader(body, maxUnread))
			excess := int64(0)
			if err == nil {
				excess, err = io.Copy(io.Discard, body)
			}
			if err != nil {
				return answer.Unread(err)
			}
			if excess > 0 {
				return errNoBody
			}
			if err := checkNoBody(head, accepted); err != nil {
				return err
			}
			return next(c)
		}
	}
}

// checkNoBody returns a fault for each field, with the query parameter that it may have meant.
func checkNoBody(body []byte, accepted []string) error {
	if text := string(bytes.TrimSpace(body)); text == "" || text == "null" {
		return nil
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		return errNoBody
	}
	var faults fault.List
	for _, name := range slices.Sorted(maps.Keys(object)) {
		advice := "leave it out"
		if suggestion := fault.DidYouMean(name, accepted).Suggestion; suggestion != "" {
			advice = "put this into the query: ?" + suggestion + "=…"
		}
		faults.Put(fault.Fault{Pointer: fault.Point(name), Detail: "the request takes no body; " + advice, Meant: fault.Meant{Code: fault.UnknownField}})
	}
	return faults.Err()
}

func unsupported(detail string) *answer.Problem {
	return answer.NewProblem(answer.UnsupportedMediaType, detail).With("Accept", echo.MIMEApplicationJSON)
}

// bodiesSchema describes the request bodies that are not definitions. It is part of /openapi.json.
//
//go:embed bodies.schema.json
var bodiesSchema []byte

const (
	maxText      = 64 << 10 // bytes: ten times a long human message, and far within the context of a model
	maxMessageID = 128      // characters
)

func newBodies() *bodies.Definitions {
	definitions := bodies.Compile(bodiesSchema, map[string]func(string) error{
		"id":         func(id string) error { return repositories.CheckID("the id", id) },
		"user":       func(name string) error { return repositories.CheckUser("the user", name) },
		"tool-name":  repositories.CheckToolName,
		"message-id": checkMessageID,
		"message-text": func(text string) error {
			if strings.TrimSpace(text) == "" {
				return errors.New("must not be empty")
			}
			if len(text) > maxText {
				return fmt.Errorf("has %d bytes; the limit is %d", len(text), maxText)
			}
			return nil
		},
		"key-life":     func(text string) error { return checkLife(text, maxKeyLife, "720h") },
		"token-life":   func(text string) error { return checkLife(text, maxTokenLife, "1h") },
		"session-life": func(text string) error { return checkLife(text, maxSessionLife, "2h") },
		"language":     locale.CheckLanguage,
		"time-zone":    locale.CheckZone,
	})
	definitions.Absent = true
	return definitions
}

func checkMetadata(body *bodies.Body, metadata repositories.Metadata) {
	if err := repositories.CheckMetadata(metadata); err != nil {
		body.Add(fault.Point("metadata"), "%s", err)
	}
}

// checkMessageID allows more than CheckID: a message id is no part of a subject, and front-ends have their
// own formats.
func checkMessageID(id string) error {
	invalid := strings.ContainsFunc(id, func(r rune) bool { return !unicode.IsPrint(r) || unicode.IsSpace(r) })
	if invalid || id == "" || utf8.RuneCountInString(id) > maxMessageID {
		return fmt.Errorf("must be 1 to %d printable characters without spaces", maxMessageID)
	}
	return nil
}

// unescaping decodes what a proxy before the model's host may read as a path.
var unescaping = strings.NewReplacer("%2e", ".", "%2E", ".", "%2f", "/", "%2F", "/", "%5c", `\`, "%5C", `\`, "%25", "%")

// checkModelID accepts any name of a model at its host, but no path out of its folder, however often it is encoded.
func checkModelID(id string) error {
	for plain, encoded := id, ""; plain != encoded; plain = unescaping.Replace(plain) {
		encoded = plain
		for part := range strings.FieldsFuncSeq(plain, func(r rune) bool { return r == '/' || r == '\\' }) {
			if part == "." || part == ".." {
				return fmt.Errorf("must name a model, not a path such as %q", id)
			}
		}
	}
	return checkMessageID(id)
}

// idempotent returns the id of a body, or else the header Idempotency-Key.
func idempotent(c echo.Context, field, id string, check func(string) error) (string, error) {
	const header = "Idempotency-Key"
	key := c.Request().Header.Get(header)
	switch {
	case key == "" || key == id:
		return id, nil
	case id != "":
		return "", answer.NewProblem(answer.IdempotencyKeyDiffers, header+" is "+answer.Quote(key)+" and "+field+" "+answer.Quote(id)+": send one of them, or the same in both")
	}
	if err := check(key); err != nil {
		return "", answer.NewProblem(answer.InvalidIdempotencyKey, header+" "+answer.Quote(key)+" is not a valid "+field+": "+err.Error())
	}
	return key, nil
}

// The longest lifetimes of credentials and sessions.
const (
	// maxKeyLife is ten years. A key without an expiry never expires.
	maxKeyLife = 10 * 365 * 24 * time.Hour
	// maxSessionLife bounds how long an unused session is kept.
	maxSessionLife = 365 * 24 * time.Hour
	maxTokenLife   = 24 * time.Hour // set by the contract
)

func checkLife(text string, limit time.Duration, example string) error {
	duration, err := time.ParseDuration(text)
	if err != nil || duration < time.Second || duration > limit {
		return fmt.Errorf("%s is not a duration from 1s to %dh, as %s", answer.Quote(text), int(limit.Hours()), example)
	}
	return nil
}
