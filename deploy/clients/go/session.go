package earshot

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"iter"
	"time"
)

// Session speaks of one conversation of an app. Making one asks nobody, and a session begins with its first use.
type Session struct {
	scope
	id string
}

// Session names a conversation.
func (a *App) Session(id string) *Session {
	return &Session{scope: scope{client: a.client, path: a.path + "/" + join("sessions", id), app: a.path}, id: id}
}

// ID is the name of the session.
func (s *Session) ID() string { return s.id }

// Put says what is known of the session in advance.
func (s *Session) Put(ctx context.Context, session SessionDefinition) (SessionState, error) {
	return ask[SessionState](ctx, s.client, put(s.path, session))
}

// Get reads the session, with the calls that lack values. One that nobody used is ErrNotFound.
func (s *Session) Get(ctx context.Context) (SessionState, error) {
	return ask[SessionState](ctx, s.client, get(s.path))
}

// Close ends the session: its history and its repositories go, what is owed is delivered.
func (s *Session) Close(ctx context.Context) error { return s.client.send(ctx, remove(s.path), nil) }

// Erase forgets all that was said and done in the session, on the streams too. What is owed is dropped.
func (s *Session) Erase(ctx context.Context) error {
	return s.client.send(ctx, remove(s.path).asking("erase", "true"), nil)
}

// Token makes a token for a front-end, good for this session alone; a life of 0 is an hour.
func (s *Session) Token(ctx context.Context, life time.Duration) (Token, error) {
	asked := map[string]any{}
	if life > 0 {
		asked["expiresIn"] = Duration(life)
	}
	return ask[Token](ctx, s.client, post(s.path+"/token", asked))
}

// Say posts what a user says.
func (s *Session) Say(ctx context.Context, text string) (*Answer, error) {
	return s.Post(ctx, Message{Text: text})
}

// PostOption changes how a message is taken.
type PostOption func(call) call

// DryRun matches the message; nothing is stored, and nothing fires.
func DryRun() PostOption { return func(r call) call { return r.asking("dryRun", "true") } }

// Explain has the answer say why it came out so.
func Explain() PostOption { return func(r call) call { return r.asking("explain", "true") } }

// AsUser sends a user's ID token for one of the app's authentication services.
func AsUser(service, idToken string) PostOption {
	return func(r call) call { return r.with(service+"_token", idToken) }
}

// Post posts a message and waits for its decision. A missing MessageID is made, so that a repeat counts once. Actor is user by
// default.
func (s *Session) Post(ctx context.Context, message Message, options ...PostOption) (*Answer, error) {
	return ask[*Answer](ctx, s.client, s.posting(message, nil, options))
}

// Send posts a message, waits only until it is stored, and returns its id. Its decision comes as events.
func (s *Session) Send(ctx context.Context, message Message, options ...PostOption) (messageID string, err error) {
	accepted, err := ask[struct {
		MessageID string `json:"messageId"`
	}](ctx, s.client, s.posting(message, nil, options).with("Prefer", "respond-async"))
	return accepted.MessageID, err
}

// Draft matches an interim transcript; nothing fires. Another text with the same MessageID replaces it. Commit or Withdraw end it.
func (s *Session) Draft(ctx context.Context, message Message, options ...PostOption) (*Answer, error) {
	return ask[*Answer](ctx, s.client, s.posting(message, Ptr(false), options))
}

func (s *Session) posting(message Message, final *bool, options []PostOption) call {
	message.MessageID, message.Actor = cmp.Or(message.MessageID, rand.Text()), cmp.Or(message.Actor, "user")
	body := struct {
		Message
		Final *bool `json:"final,omitempty"`
	}{message, final}
	r := post(s.path+"/messages", body).repeated()
	for _, option := range options {
		r = option(r)
	}
	return r
}

// Commit decides a draft.
func (s *Session) Commit(ctx context.Context, messageID string) (*Answer, error) {
	return ask[*Answer](ctx, s.client, post(s.ofMessage(messageID)+"/commit", nil).repeated())
}

// Withdraw takes a draft back. Of a message that was decided it is ErrConflict, with its triggers.
func (s *Session) Withdraw(ctx context.Context, messageID string) error {
	return s.client.send(ctx, remove(s.ofMessage(messageID)), nil)
}

func (s *Session) ofMessage(id string) string { return s.path + "/" + join("messages", id) }

// Message reads one message with what came of it.
func (s *Session) Message(ctx context.Context, messageID string) (Entry, error) {
	return ask[Entry](ctx, s.client, get(s.ofMessage(messageID)))
}

// Explain reads why a message came out as it did: see /openapi.json for its fields.
func (s *Session) Explain(ctx context.Context, messageID string) (json.RawMessage, error) {
	return ask[json.RawMessage](ctx, s.client, get(s.ofMessage(messageID)+"/explain"))
}

// Messages lists the history, the oldest first; from a time on, unless that is zero.
func (s *Session) Messages(ctx context.Context, since time.Time) iter.Seq2[Entry, error] {
	return pages[Entry](ctx, s.client, filter(get(s.path+"/messages"), map[string]string{"since": moment(since)}))
}

// Export writes all that is kept of the session, as JSON lines.
func (s *Session) Export(ctx context.Context, to io.Writer) error {
	return s.client.export(ctx, s.path+"/export", to)
}

func (c *Client) export(ctx context.Context, path string, to io.Writer) error {
	response, err := c.open(ctx, get(path), nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(to, response.Body)
	return err
}
