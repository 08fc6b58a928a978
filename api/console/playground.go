package console

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"earshot/repositories/annotations"
	"earshot/repositories/plaintext"
)

type playground struct {
	*conversation
	Session string
	Text    string // of a refused message
	Actor   string
	Fault   *problem
	Tools   []scopedTool
	Host    string
	Denied  string // why the tools cannot be read
}

type scopedTool struct {
	Repository, Name, Description string
	Example                       string
	OfSession                     bool
}

// Of returns the tool's session; empty for the app.
func (t scopedTool) Of(session string) string {
	if t.OfSession {
		return session
	}
	return ""
}

func playgroundPage(v *pageRequest) error {
	session := v.r.URL.Query().Get("session")
	if session == "" {
		return v.redirect(link("apps", v.app(), "playground") + "?session=playground-" + strings.ToLower(rand.Text()[:6]))
	}
	return v.showPlayground(http.StatusOK, playground{Session: session, Actor: "user"})
}

func (v *pageRequest) showPlayground(status int, shown playground) error {
	found, err := v.conversation(shown.Session, "")
	if err != nil {
		return err
	}
	shown.conversation, shown.Host = found, v.r.Host
	// A session's tool hides the app's tool of the same name.
	seen := map[string]bool{}
	for _, session := range []string{shown.Session, ""} {
		var found list[repository]
		if err := v.get(owner(v.app(), session)+"/repositories?limit=100", &found); err != nil {
			shown.Denied, shown.Tools = problemOf(err).Detail, nil
			break
		}
		for _, of := range found.Items {
			for _, one := range of.Tools {
				if seen[one.Name] {
					continue
				}
				seen[one.Name] = true
				tool := scopedTool{Repository: of.ID, Name: one.Name, Description: plaintext.Text(one.Description), OfSession: session != ""}
				if len(one.Examples) > 0 {
					tool.Example = plaintext.Text(annotations.Plain(one.Examples[0]))
				}
				shown.Tools = append(shown.Tools, tool)
			}
		}
	}
	return v.renderStatus(status, "playground", "Playground", shown)
}

// postMessage posts a message and redirects, so that a reload posts nothing.
func postMessage(v *pageRequest) error {
	form := v.r.PostForm
	shown := playground{Session: form.Get("session"), Text: form.Get("text"), Actor: form.Get("actor")}
	body, _ := json.Marshal(map[string]string{"actor": shown.Actor, "text": shown.Text}) // strings always encode
	err := v.call(http.MethodPost, v1("apps", v.app(), "sessions", shown.Session, "messages"), body, nil)
	if err == nil {
		return v.redirect(link("apps", v.app(), "playground") + "?session=" + url.QueryEscape(shown.Session))
	}
	if refused(err, http.StatusUnauthorized) != nil {
		return err
	}
	shown.Fault = problemOf(err)
	return v.showPlayground(shown.Fault.Status, shown)
}
