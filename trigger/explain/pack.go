package explain

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/s2"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/parameters"
)

// Decision is what there is to be explained.
type Decision struct {
	// Owner is the life of the app that it belongs to; empty where it is not to be kept, and
	// then it has all its parts with it.
	Owner     string
	MessageID string
	Time      time.Time
	Stage     string
	Why       string
	Trace     *matcher.Trace
	// App are the facts of the app as it was matched; Session its own repositories, in the
	// order in which they win a name.
	App     *AppFacts
	Session []*repositories.Repository
	// Claims are what is verified of the user.
	Claims parameters.Claims
	// Evidence is that of the calls of the trace, and Verdicts what became of them, by their
	// numbers; a call without a verdict was dropped, as the trace says.
	Evidence map[int]map[string]*matcher.Evidence
	Verdicts map[int]Verdict
}

// Verdict is what became of a call.
type Verdict struct{ Verdict, Why, TriggerID string }

// kept is an explanation as it is kept.
type kept struct {
	Time     int64             `json:"at"` // ms
	Stage    string            `json:"stage"`
	Why      string            `json:"why"`
	Scope    []string          `json:"scope"` // pieces, each a listing
	Verified bool              `json:"verified,omitempty"`
	Barred   map[string]string `json:"barred,omitempty"`
	Limit    int               `json:"limit,omitempty"`
	Offered  string            `json:"offered,omitempty"` // a part: names
	Scores   []keptScore       `json:"scores,omitempty"`
	Requests []keptRequest     `json:"requests,omitempty"`
	Calls    []Call            `json:"calls,omitempty"`
	Notes    []string          `json:"notes,omitempty"`
	Cut      []string          `json:"cut,omitempty"`
}

type keptScore struct {
	Name  string  `json:"n"`
	Score float32 `json:"s"`
}

type keptRequest struct {
	Model   string   `json:"model"`
	Pieces  []string `json:"pieces"`
	LeftOut []string `json:"leftOut,omitempty"`
	Answer  string   `json:"answer"`
	Error   string   `json:"error,omitempty"`
	Millis  int64    `json:"ms"`
	Tokens  Tokens   `json:"tokens"`
}

// The most of what an explanation lists.
const (
	maxCalls  = 100
	maxScores = 16
	maxBarred = 200
)

// room are the bytes that a text may have, at the first try and where that is too much.
var room = []int{128 << 10, 16 << 10, 2 << 10, 256}

// Pack masks an explanation and packs it.
func (p *Packer) Pack(d Decision) (Packed, error) {
	w := &packing{Packer: p, Packed: Packed{owner: d.Owner}, mask: p.maskOf(d)}
	made := kept{
		Time: d.Time.UnixMilli(), Stage: d.Stage, Why: w.mask.text(d.Why), Scope: w.scope(d), Limit: d.Trace.Limit,
		Verified: len(d.Claims) > 0, Barred: w.barred(d), Notes: d.Trace.Notes,
	}
	for _, one := range d.Trace.Scores[:min(maxScores, len(d.Trace.Scores))] {
		made.Scores = append(made.Scores, keptScore{one.Tool.Name, one.Score})
	}
	if d.Trace.Offered != nil {
		made.Offered = w.share(exactjson.EncodeOrNull(namesOf(d.Trace.Offered)))
	}
	for _, most := range room {
		made.Cut = nil
		w.requests(&made, d.Trace.Exchanges, most)
		w.calls(&made, d, most)
		text, err := exactjson.Encode(made)
		if err != nil {
			return Packed{}, err
		}
		if w.Body = string(s2.Encode(nil, text)); len(w.Body) <= maxSize {
			return w.Packed, nil
		}
	}
	made.Cut, made.Requests, made.Calls, made.Barred = []string{"requests and calls are left out: they are too long to be kept"}, nil, nil, nil
	text, err := exactjson.Encode(made)
	w.Body = string(s2.Encode(nil, text))
	return w.Packed, err
}

func namesOf(tools []matcher.Candidate) []string {
	names := make([]string, len(tools))
	for i, one := range tools {
		names[i] = one.Tool.Name
	}
	return names
}

// maskOf masks the hidden values of all that is in scope, and the claims of the user.
func (p *Packer) maskOf(d Decision) mask {
	all := d.App.mask
	for _, repository := range d.Session {
		all = append(slices.Clip(all), p.facts(repository).mask...)
	}
	return append(slices.Clip(all), claimed(d.Claims)...)
}

// scope names the listings of what was there: the session's, then the app's as one part.
func (w *packing) scope(d Decision) (pieces []string) {
	for _, repository := range d.Session {
		pieces = append(pieces, shared+w.share(w.facts(repository).listing))
	}
	if d.App.list == nil {
		return pieces
	}
	for i, name := range d.App.names {
		w.needs(name, d.App.listings[i])
	}
	w.needs(d.App.listName, d.App.list)
	return append(pieces, listed+d.App.listName)
}

// barred says why a verified user may not use tools all the same.
func (w *packing) barred(d Decision) map[string]string {
	if len(d.Claims) == 0 {
		return nil
	}
	barred := map[string]string{}
	for _, repository := range slices.Concat(d.Session, d.App.ranked) {
		for i := range repository.Tools {
			if _, err := repository.Tools[i].For(d.Claims); err != nil && len(barred) < maxBarred {
				barred[toolKey(repository.SessionID != "", repository.ID, repository.Tools[i].Name)] = w.mask.text(err.Error())
			}
		}
	}
	return barred
}

// requests adds the requests to models, of which texts have at most so many bytes.
func (w *packing) requests(into *kept, exchanges []matcher.Exchange, most int) {
	into.Requests = nil
	for i, x := range exchanges {
		one := keptRequest{
			Model: x.Model, Pieces: w.pieces(x.Request, most), LeftOut: x.LeftOut, Error: w.mask.text(x.Error), Millis: x.Took.Milliseconds(),
			Tokens: Tokens{Prompt: x.PromptTokens, Cached: x.CachedTokens, Completion: x.CompletionTokens},
		}
		one.Answer = clip(w.mask.text(string(x.Answer)), most)
		if len(x.Answer) > most {
			into.Cut = append(into.Cut, fmt.Sprintf("requests/%d/response", i))
		}
		if slices.ContainsFunc(x.Request, func(piece matcher.Piece) bool { return !piece.Shared && len(piece.Text) > most }) {
			into.Cut = append(into.Cut, fmt.Sprintf("requests/%d/request", i))
		}
		into.Requests = append(into.Requests, one)
	}
}

// pieces are those of a request. All up to the last that is shared is the same for a while,
// and is shared as a whole.
func (w *packing) pieces(request []matcher.Piece, most int) []string {
	head := 0
	for i, piece := range request {
		if piece.Shared {
			head = i + 1
		}
	}
	list := w.head(request[:head])
	for _, piece := range request[head:] {
		list = append(list, literal+clip(w.mask.text(string(piece.Text)), most))
	}
	return list
}

// clip cuts the middle out of a long text.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	half := most / 2
	return strings.ToValidUTF8(text[:half], "") + fmt.Sprintf(" … %d bytes are left out here … ", len(text)-2*half) + strings.ToValidUTF8(text[len(text)-half:], "")
}

// calls adds the calls, with their verdicts.
func (w *packing) calls(into *kept, d Decision, most int) {
	into.Calls = nil
	if over := len(d.Trace.Calls) - maxCalls; over > 0 {
		into.Cut = append(into.Cut, fmt.Sprintf("calls: %d more", over))
	}
	for i, call := range d.Trace.Calls[:min(len(d.Trace.Calls), maxCalls)] {
		verdict, is := d.Verdicts[i+1]
		if !is {
			verdict = Verdict{Verdict: Dropped, Why: call.Dropped}
		}
		one := Call{
			Name: clip(call.Name, most), Arguments: w.arguments(call, most), Round: call.Round, Repaired: call.Repaired, Coerced: call.Coerced, Ignored: call.Ignored,
			Verdict: verdict.Verdict, Why: w.mask.text(verdict.Why), TriggerID: verdict.TriggerID, Evidence: w.evidence(d, i+1),
		}
		if call.Repository != nil {
			one.RepositoryID = call.Repository.ID
		}
		for _, fault := range call.Errors {
			one.Errors = append(one.Errors, parameters.ValueFault{Parameter: fault.Parameter, Detail: w.mask.text(fault.Detail)})
		}
		into.Calls = append(into.Calls, one)
	}
}

func (w *packing) arguments(call matcher.Call, most int) json.RawMessage {
	if call.Unread != "" {
		return exactjson.EncodeOrNull(clip(w.mask.text(call.Unread), most))
	}
	text := exactjson.EncodeOrNull(w.mask.arguments(call.Tool, call.Arguments))
	if len(text) > most {
		return exactjson.EncodeOrNull(clip(string(text), most))
	}
	return text
}

// evidence names the message itself where the matcher, which does not know its id, has found
// a value in it.
func (w *packing) evidence(d Decision, call int) map[string]*matcher.Evidence {
	named := maps.Clone(d.Evidence[call])
	for parameter, found := range named {
		if found == nil {
			continue
		}
		shown := matcher.Evidence{MessageID: found.MessageID, Words: w.mask.text(found.Words)}
		if shown.MessageID == "" {
			shown.MessageID = d.MessageID
		}
		named[parameter] = &shown
	}
	return named
}
