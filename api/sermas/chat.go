package sermas

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/api/auth"
)

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
