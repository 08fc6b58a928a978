package console

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"earshot/repositories/annotations"
	"earshot/repositories/plaintext"
)

// playground is what the page Playground shows: a conversation, and what came of it.
type playground struct {
	*conversation
	Session string
	Text    string // that was not taken
	Actor   string
	Fault   *problem
	Tools   []scopedTool
	Host    string
	Denied  string // why the tools cannot be read
}

// scopedTool is a tool that the session can set off.
type scopedTool struct {
	Repository, Name, Description string
	Example                       string
	OfSession                     bool
}

func playgroundPage(v *visit) error {
	session := v.r.URL.Query().Get("session")
	if session == "" {
		v.redirect(link("apps", v.app(), "playground") + "?session=playground-" + strings.ToLower(rand.Text()[:6]))
		return nil
	}
	return v.showPlayground(http.StatusOK, playground{Session: session, Actor: "user"})
}

func (v *visit) showPlayground(status int, shown playground) error {
	found, err := v.conversation(shown.Session, "")
	if err != nil {
		return err
	}
	shown.conversation, shown.Host = found, v.r.Host
	if shown.Tools, err = v.toolsInScope(shown.Session); err != nil {
		shown.Denied = problemOf(err).Detail
	}
	return v.renderStatus(status, "playground", "Playground", shown)
}

// say posts a message, and shows what came of it. The way back over a reload asks nothing
// again: the page is another one.
func say(v *visit) error {
	if err := v.r.ParseForm(); err != nil {
		return err
	}
	form := v.r.PostForm
	shown := playground{Session: form.Get("session"), Text: form.Get("text"), Actor: form.Get("actor")}
	body, _ := json.Marshal(map[string]string{"actor": shown.Actor, "text": shown.Text}) // texts alone
	err := v.call(http.MethodPost, v1("apps", v.app(), "sessions", shown.Session, "messages"), body, nil)
	if err == nil {
		v.redirect(link("apps", v.app(), "playground") + "?session=" + url.QueryEscape(shown.Session))
		return nil
	}
	shown.Fault = problemOf(err)
	var found *problem
	if errors.As(err, &found) && found.Status == http.StatusUnauthorized {
		return err
	}
	return v.showPlayground(shown.Fault.Status, shown)
}

// repository is as much of one as lists of tools need.
type repository struct {
	ID      string `json:"repositoryId"`
	Options struct {
		TriggerOnce bool `json:"triggerOnce"`
		Exclusive   bool `json:"exclusive"`
	} `json:"options"`
	Tools []struct {
		Name        string   `json:"name"`
		Description string   `json:"description"`
		Examples    []string `json:"examples"`
	} `json:"tools"`
}

// toolsInScope lists the tools of a session and of its app. On equal names the session's
// is the one that fires, and the other is left out.
func (v *visit) toolsInScope(session string) ([]scopedTool, error) {
	var tools []scopedTool
	seen := map[string]bool{}
	for i, path := range []string{v1("apps", v.app(), "sessions", session, "repositories"), v1("apps", v.app(), "repositories")} {
		var found list[repository]
		if err := v.get(path+"?limit=100", &found); err != nil {
			return nil, err
		}
		for _, of := range found.Items {
			for _, one := range of.Tools {
				if seen[one.Name] {
					continue
				}
				seen[one.Name] = true
				shown := scopedTool{Repository: of.ID, Name: one.Name, Description: plaintext.Text(one.Description), OfSession: i == 0}
				if len(one.Examples) > 0 {
					shown.Example = plaintext.Text(annotations.Plain(one.Examples[0]))
				}
				tools = append(tools, shown)
			}
		}
	}
	return tools, nil
}
