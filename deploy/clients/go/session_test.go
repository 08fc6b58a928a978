package earshot_test

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	earshot "earshot/deploy/clients/go"
)

func TestAConversation(t *testing.T) {
	app := clinic(t, service(t), "go-talk")
	session := app.Session("s1")
	_, err := session.Get(t.Context())
	equal(t, true, errors.Is(err, earshot.ErrNotFound))
	known := got(session.Put(t.Context(), earshot.SessionDefinition{Language: "en", ExpiresIn: earshot.Duration(2 * time.Hour), Metadata: map[string]any{"channel": "desk"}}))(t)
	equal(t, "en", known.Language)

	draft := got(session.Draft(t.Context(), earshot.Message{MessageID: "m1", Text: "I want an appointment on Friday"}))(t)
	equal(t, "draft", draft.Matches[0].State)
	decided := got(session.Commit(t.Context(), "m1"))(t)
	equal(t, "delivered", decided.Matches[0].State)
	equal(t, true, errors.Is(session.Withdraw(t.Context(), "m1"), earshot.ErrConflict))
	_, err = session.Draft(t.Context(), earshot.Message{MessageID: "m2", Text: "I want"})
	must(t, err)
	must(t, session.Withdraw(t.Context(), "m2"))

	dry := got(session.Post(t.Context(), earshot.Message{Text: "I want an appointment on Monday"}, earshot.DryRun(), earshot.Explain()))(t)
	equal(t, true, strings.Contains(string(dry.Explain), `"stage"`))
	asked := got(session.Say(t.Context(), "I want an appointment"))(t)
	equal(t, "day", asked.Rejected[0].Missing[0])
	known = got(session.Get(t.Context()))(t)
	equal(t, "book", known.Open[0].Name)

	sent := got(session.Send(t.Context(), earshot.Message{Actor: "agent", Text: "For which day?"}))(t)
	var said []string
	for entry, err := range session.Messages(t.Context(), time.Time{}) {
		must(t, err)
		said = append(said, entry.Actor+": "+entry.Text)
	}
	equal(t, "user: I want an appointment on Friday|user: I want an appointment|agent: For which day?", strings.Join(said, "|"))
	entry := got(session.Message(t.Context(), sent))(t)
	equal(t, "agent", entry.Actor)
	why := got(session.Explain(t.Context(), "m1"))(t)
	equal(t, true, strings.Contains(string(why), `"verdict":"fired"`))
	var kept bytes.Buffer
	must(t, session.Export(t.Context(), &kept))
	equal(t, true, strings.Contains(kept.String(), "For which day?"))
	must(t, session.Erase(t.Context()))
	_, err = session.Message(t.Context(), "m1")
	equal(t, true, errors.Is(err, earshot.ErrNotFound))
}

func TestAFrontEndHasATokenOfItsSession(t *testing.T) {
	app := clinic(t, service(t), "go-token")
	token := got(app.Session("s1").Token(t.Context(), time.Minute))(t)
	front := got(earshot.New(os.Getenv("EARSHOT_URL"), earshot.WithKey(token.Token)))(t)
	answer := got(front.App("go-token").Session("s1").Say(t.Context(), "I want an appointment on Friday"))(t)
	equal(t, "Friday", answer.Matches[0].Values["day"].(string))
	_, err := front.App("go-token").Session("s2").Say(t.Context(), "I want an appointment on Friday")
	equal(t, true, errors.Is(err, earshot.ErrForbidden))
	var heard []string
	for event, err := range front.App("go-token").Session("s1").Events(t.Context(), "0") {
		must(t, err)
		if heard = append(heard, event.Kind); event.Kind == "tool.trigger" {
			break
		}
	}
	equal(t, true, slices.Contains(heard, "tool.trigger"))
}

func TestAnAppIsLookedAtAndChanged(t *testing.T) {
	app := clinic(t, service(t), "go-app")
	changed := got(app.Patch(t.Context(), map[string]any{"settings": map[string]any{"chatModeEnabled": true}}))(t)
	equal(t, "Clinic true", changed.Name+" "+map[bool]string{true: "true"}[changed.Settings.ChatModeEnabled])
	made := got(app.MakeKey(t.Context(), earshot.KeyRequest{Name: "back-end", Scopes: []string{"messages"}, ExpiresIn: earshot.Duration(time.Hour)}))(t)
	through := got(earshot.New(os.Getenv("EARSHOT_URL"), earshot.WithKey(made.Key)))(t)
	who := got(through.WhoAmI(t.Context()))(t)
	equal(t, made.KeyID, who.KeyID)
	_, err := through.App("go-app").Get(t.Context())
	equal(t, true, errors.Is(err, earshot.ErrForbidden))
	must(t, app.RevokeKey(t.Context(), made.KeyID))
	found := got(app.FindTools(t.Context(), "an appointment", 1))(t)
	equal(t, "book", found[0].Name)
	var ids []string
	for one, err := range service(t).Apps(t.Context()) {
		must(t, err)
		ids = append(ids, one.AppID)
	}
	equal(t, true, strings.Contains(strings.Join(ids, " "), "go-app"))
	must(t, app.DeleteRepository(t.Context(), "desk"))
	for range app.Repositories(t.Context()) {
		t.Fatal("there is none")
	}
	must(t, app.Delete(t.Context()))
	_, err = app.Get(t.Context())
	equal(t, true, errors.Is(err, earshot.ErrNotFound))
}
