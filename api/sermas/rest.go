package sermas

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/repositories"
	"earshot/repositories/audit"
	"earshot/repositories/bodies"
	"earshot/repositories/fault"
)

var v1 = answer.V1

func repositoryPath(scope repositories.Scope, id string) string {
	if scope.SessionID == "" {
		return v1("apps", scope.AppID, "repositories", id)
	}
	return v1("apps", scope.AppID, "sessions", scope.SessionID, "repositories", id)
}

// notPassed are request headers about the body, or about what only REST has.
var notPassed = []string{"Content-Length", "Transfer-Encoding", "Expect", "Prefer"}

// conditions are headers of writes, which REST checks.
var conditions = []string{"If-Match", "If-None-Match"}

// ask calls REST with the key, user, origin and trace of the client's request.
func (h *handler) ask(c echo.Context, method, path string, body []byte) (*answer.Recorder, error) {
	outer := c.Request()
	request, err := http.NewRequestWithContext(audit.WithVia(outer.Context(), audit.ViaSERMAS), method, path, bytes.NewReader(body))
	if err != nil {
		return nil, answer.NewProblem(answer.InvalidPath, "the ids in the path are not valid")
	}
	request.Host, request.RemoteAddr, request.TLS, request.RequestURI = outer.Host, outer.RemoteAddr, outer.TLS, path
	request.Header = outer.Header.Clone()
	for _, name := range notPassed {
		request.Header.Del(name)
	}
	if method == http.MethodGet { // it only prepares the answer or the write
		unconditional(request)
	}
	return answer.Record(h.REST, request), nil
}

func unconditional(request *http.Request) {
	for _, name := range conditions {
		request.Header.Del(name)
	}
}

// restHeaders are headers of a REST answer that do not apply here.
var restHeaders = []string{"Content-Length", "Location", "Etag"}

// relay answers with REST's answer, or returns err; status replaces a success status.
func relay(c echo.Context, got *answer.Recorder, status int, err error) error {
	if err != nil {
		return err
	}
	header := c.Response().Header()
	maps.Copy(header, got.Header())
	for _, name := range restHeaders {
		header.Del(name)
	}
	if got.Status >= http.StatusBadRequest {
		status = got.Status
	}
	if got.Body.Len() == 0 || status == http.StatusNoContent {
		header.Del(echo.HeaderContentType)
		return c.NoContent(status)
	}
	return c.Blob(status, header.Get(echo.HeaderContentType), got.Body.Bytes())
}

func failed(got *answer.Recorder) bool { return got.Status >= http.StatusBadRequest }

// fields are the members of a JSON object, as sent.
type fields map[string]json.RawMessage

// readBody reads a JSON body by the rules of REST: a field that is given twice is a fault.
func readBody(c echo.Context) (body []byte, tree any, err error) {
	if body, err = answer.ReadBody(c.Request().Body); err == nil {
		tree, err = bodies.Tree(body)
	}
	return body, tree, err
}

// readFields reads a JSON object. Null fields count as missing.
func readFields(c echo.Context) (fields, error) {
	body, _, err := readBody(c)
	if err != nil {
		return nil, err
	}
	var read fields
	if err := json.Unmarshal(body, &read); err != nil || read == nil {
		return nil, fault.List{{Detail: "is no JSON object"}}
	}
	maps.DeleteFunc(read, func(_ string, value json.RawMessage) bool { return string(value) == "null" })
	return read, nil
}

// text reads a string field; empty if missing.
func (f fields) text(faults *fault.List, name string) string {
	raw, has := f[name]
	if !has {
		return ""
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		faults.Add(fault.Point(name), "is not a string")
	}
	return text
}

// needed is text for a required field.
func (f fields) needed(faults *fault.List, name string) string {
	before := len(*faults)
	text := f.text(faults, name)
	if text == "" && len(*faults) == before {
		faults.Add(fault.Point(name), "is missing")
	}
	return text
}

func (f fields) without(names ...string) {
	for _, name := range names {
		delete(f, name)
	}
}

// appOf returns the app of a request without one in its path: from the body, the query, the key or token, or for the
// admin the only app. The caller checks that the key or token is good for it.
func (h *handler) appOf(c echo.Context, who auth.Principal, named string) (string, error) {
	asked := c.QueryParam("appId")
	if named != "" && asked != "" && named != asked {
		return "", answer.NewProblem(answer.InvalidQuery, "appId is "+answer.Quote(asked)+", but the body says "+answer.Quote(named))
	}
	if id := cmp.Or(named, asked, who.AppID()); id != "" {
		if err := repositories.CheckID("appId", id); err != nil {
			return "", answer.NewProblem(answer.InvalidPath, err.Error())
		}
		return id, nil
	}
	apps, next, err := h.Store.Apps(c.Request().Context(), "", 2)
	if err != nil {
		return "", err
	}
	if len(apps) != 1 || next != "" {
		return "", answer.NewProblem(answer.InvalidBody, "the app is not named: give ?appId=, appId in the body, or a token or key of the app")
	}
	return apps[0].ID, nil
}

// allowOrigin lets a page of an allowed origin read an answer that REST did not make.
func (h *handler) allowOrigin(c echo.Context, appID string) {
	origin := c.Request().Header.Get(echo.HeaderOrigin)
	if origin == "" {
		return
	}
	c.Response().Header().Add(echo.HeaderVary, echo.HeaderOrigin)
	if allowed, err := h.Store.AllowsOrigin(c.Request().Context(), appID, origin); err == nil && allowed {
		c.Response().Header().Set(echo.HeaderAccessControlAllowOrigin, origin)
	}
}

// leftOut are unsupported paths of SERMAS with their replacements.
var leftOut = []struct{ path, instead string }{
	{"/session", "sessions begin with their first use; PUT /v1/apps/{appId}/sessions/{sessionId} says something of one in advance, DELETE closes it"},
	{"/ui", "a button is a direct trigger: POST /v1/apps/{appId}/sessions/{sessionId}/triggers"},
	{"/app", "apps are the admin's: PUT, GET and DELETE /v1/apps/{appId}; /api/app/{appId}/tools takes PUT"},
	{"/platform/app", "modules are part of the app: PUT or PATCH /v1/apps/{appId}"},
	{"/auth", "users sign in with their own service, whose ID tokens are sent in a header (authServices of the app)"},
	{"/dialogue/tasks", "a tool asks for what it lacks by itself (required and ask of its parameters)"},
	{"/dialogue/speech", "speech is left to others; texts are taken at /api/dialogue/speech/chat/{appId}/{sessionId}"},
}

const served = "POST /api/platform/token, …/access_token, …/refresh and …/refresh_token; POST, PUT and DELETE /api/dialogue/tools/{repositoryId}; " +
	"PUT /api/app/{appId}/tools; POST /api/dialogue/speech/chat/{appId}/{sessionId}; GET /api/dialogue/memory/{sessionId}"

// unknown answers for unsupported paths, and names the supported ones.
func (h *handler) unknown(c echo.Context) error {
	if !h.On {
		return answer.NewProblem(answer.UnknownPath, "this service does not serve clients of SERMAS: start it with EARSHOT_SERMAS=on (--sermas on); /docs lists its paths")
	}
	asked := strings.TrimPrefix(c.Request().URL.Path, root)
	instead := ""
	for _, one := range leftOut {
		if asked == one.path || strings.HasPrefix(asked, one.path+"/") {
			instead = ": " + one.instead
		}
	}
	return answer.NewProblem(answer.UnknownPath, fmt.Sprintf("this path of SERMAS is not served%s. Served paths: %s", instead, served))
}

// notOfChat are further fields of SERMAS's messages that are ignored: voices, avatars, and those in the path.
var notOfChat = []string{"appId", "sessionId", "gender", "emotion", "chunkId", "ttsEnabled", "isWelcome", "llm", "avatar", "ssml"}

// chat posts a message. Like SERMAS's, the answer has no body.
func (h *handler) chat(c echo.Context) error {
	message, err := readFields(c)
	if err != nil {
		return err
	}
	message.without(append(slices.Clone(ofSERMAS), notOfChat...)...)
	actor, said := "user", ""
	if raw, has := message["actor"]; !has || json.Unmarshal(raw, &said) == nil { // REST lists what is no text with all other faults
		if said == "agent" {
			actor = said
		}
		message["actor"], _ = json.Marshal(actor)
	}
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	got, err := h.ask(c, http.MethodPost, v1("apps", c.Param("appId"), "sessions", c.Param("sessionId"), "messages"), body)
	if err != nil || failed(got) {
		return relay(c, got, http.StatusCreated, err)
	}
	var taken struct{ MessageID string }
	if json.Unmarshal(got.Body.Bytes(), &taken) == nil {
		c.Response().Header().Set("X-Earshot-Message-Id", taken.MessageID)
	}
	got.Body.Reset()
	return relay(c, got, http.StatusCreated, nil)
}

type remembered struct {
	Role     string         `json:"role"`
	Content  string         `json:"content"`
	Type     string         `json:"type"`
	Name     string         `json:"name,omitempty"`
	Time     time.Time      `json:"ts"`
	Metadata map[string]any `json:"metadata,omitempty"`
}

type entry struct {
	MessageID string    `json:"messageId"`
	Actor     string    `json:"actor"`
	Text      string    `json:"text"`
	Time      time.Time `json:"ts"`
	Triggers  []struct {
		TriggerID    string `json:"triggerId"`
		RepositoryID string `json:"repositoryId"`
		Name         string `json:"name"`
	} `json:"triggers"`
}

// memory answers with the history of a session, oldest first: the newest messages that fit a page.
func (h *handler) memory(c echo.Context) error {
	appID, err := h.appOf(c, auth.PrincipalOf(c), "")
	if err != nil {
		return err
	}
	newest, refused, err := h.history(c, v1("apps", appID, "sessions", c.Param("sessionId"), "messages"))
	if err != nil || refused != nil {
		return relay(c, refused, http.StatusOK, err)
	}
	list := []remembered{}
	for _, one := range slices.Backward(newest) { // replies are separate messages
		message := remembered{Role: "user", Content: one.Text, Type: "message", Time: one.Time, Metadata: map[string]any{"messageId": one.MessageID}}
		if one.Actor != "user" {
			message.Role = "assistant"
		}
		if len(one.Triggers) > 0 {
			message.Metadata["triggers"] = one.Triggers
		}
		list = append(list, message)
	}
	h.allowOrigin(c, appID)
	return answer.JSON(c, http.StatusOK, list)
}

// history reads messages, the newest first, until they fill a page.
func (h *handler) history(c echo.Context, path string) (newest []entry, refused *answer.Recorder, err error) {
	after, read := "", 0
	for {
		got, err := h.ask(c, http.MethodGet, path+"?order=desc&limit=200&after="+url.QueryEscape(after), nil)
		if err != nil || failed(got) {
			return nil, got, err
		}
		var page struct {
			Items []entry
			Next  string
		}
		read += got.Body.Len()
		if err := json.Unmarshal(got.Body.Bytes(), &page); err != nil {
			return nil, nil, err
		}
		if newest = append(newest, page.Items...); page.Next == "" || read >= maxBody {
			return newest, nil, nil
		}
		after = page.Next
	}
}
