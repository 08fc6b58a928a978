package explain

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/s2"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/lists"
	"earshot/repositories/parameters"
	"earshot/repositories/secret"
)

// Decision is the input of an explanation.
type Decision struct {
	// Owner is the generation of the app; empty if the explanation is not stored and so includes all its parts.
	Owner     string
	SessionID string
	MessageID string
	// History are the earlier messages that the matcher saw.
	History []matcher.Utterance
	Time    time.Time
	Stage   string
	Why     string
	Trace   matcher.Trace
	// App are the facts of the app at the match; Session its own repositories, in the order in which they win a
	// name.
	App     *AppFacts
	Session []*repositories.Repository
	// Claims are the verified claims of the user.
	Claims parameters.Claims
	// Verdicts are those on the calls of the trace, in their order. A call without one was dropped for the reason in
	// the trace.
	Verdicts []Verdict
}

func (d Decision) verdict(call int) (of Verdict) {
	if call < len(d.Verdicts) {
		of = d.Verdicts[call]
	}
	return of
}

// Verdict is the outcome of a call.
type Verdict struct {
	Verdict, Why, TriggerID string
	Only                    string // of a fired call that has no effect, or none yet: its state in words
	Evidence                map[string]*matcher.Evidence
}

type packedExplanation struct {
	Time     int64             `json:"at"` // ms
	Stage    string            `json:"stage"`
	Why      string            `json:"why"`
	Scope    []string          `json:"scope"` // pieces, each a listing
	Verified bool              `json:"verified,omitempty"`
	Barred   map[string]string `json:"barred,omitempty"`
	Limit    int               `json:"limit,omitempty"`
	Offered  string            `json:"offered,omitempty"` // a part: names
	Scores   []packedScore     `json:"scores,omitempty"`
	Base     *base             `json:"base,omitempty"` // of the ranges in the first request
	Requests []packedRequest   `json:"requests,omitempty"`
	Calls    []Call            `json:"calls,omitempty"`
	Notes    []string          `json:"notes,omitempty"`
	Cut      []string          `json:"cut,omitempty"`
}

type packedScore struct {
	Name  string  `json:"n"`
	Score float32 `json:"s"`
}

type packedRequest struct {
	Model   string   `json:"model"`
	Pieces  []string `json:"pieces"`
	LeftOut []string `json:"leftOut,omitempty"`
	Answer  string   `json:"answer"`
	Error   string   `json:"error,omitempty"`
	Millis  int64    `json:"ms"`
	Tokens  Tokens   `json:"tokens"`
}

// Bounds of an explanation's lists.
const (
	maxCalls  = 100
	maxScores = 16
	maxBarred = 200
)

// textBounds are the bounds of a text in bytes, at the first and at further attempts.
var textBounds = []int{128 << 10, 16 << 10, 2 << 10, 256}

// Pack masks an explanation and packs it.
func (p *Packer) Pack(d Decision) (Packed, error) {
	// The mask covers the values of hidden parameters of all repositories in scope, and the claims of the user.
	var claims hiddenTexts
	for _, service := range d.Claims {
		claims.value(service)
	}
	masks := slices.Clip(d.App.mask)
	for _, repository := range d.Session {
		masks = append(masks, p.factsOf(repository).mask...)
	}
	w := &packing{Packer: p, Packed: Packed{owner: d.Owner}, mask: append(masks, claims.replacer()...)}

	packed := packedExplanation{
		Time: d.Time.UnixMilli(), Stage: d.Stage, Why: w.mask.text(d.Why), Scope: w.scope(d), Limit: d.Trace.Limit,
		Verified: len(d.Claims) > 0, Barred: w.barred(d), Notes: d.Trace.Notes,
	}
	for _, candidate := range d.Trace.Scores[:min(maxScores, len(d.Trace.Scores))] {
		packed.Scores = append(packed.Scores, packedScore{candidate.Tool.Name, candidate.Score})
	}
	if d.Trace.Offered != nil {
		names := lists.Map(d.Trace.Offered, func(candidate matcher.Candidate) string { return candidate.Tool.Name })
		packed.Offered = w.share(exactjson.EncodeOrNull(names))
	}
	for _, most := range textBounds {
		packed.Cut = nil
		w.requests(&packed, d, most)
		w.calls(&packed, d, most)
		if err := exactjson.Use(&packed, func(text []byte) { w.Body = compress(text) }); err != nil {
			return Packed{}, err
		}
		if len(w.Body) <= maxSize {
			return w.Packed, nil
		}
	}
	packed.Cut = []string{"requests and calls are left out: they are too long to be kept"}
	packed.Base, packed.Requests, packed.Calls, packed.Barred, w.asked = nil, nil, nil, nil, askedText{}
	err := exactjson.Use(&packed, func(text []byte) { w.Body = compress(text) })
	return w.Packed, err
}

func (w *packing) scope(d Decision) []string {
	pieces := make([]string, 0, len(d.Session)+1)
	for _, repository := range d.Session {
		pieces = append(pieces, shared+w.share(w.factsOf(repository).listing))
	}
	if d.App.list == nil {
		return pieces
	}
	if !w.isWritten(d.App.listName) { // if it is written, so are all its parts, of which there may be many (see shareHead)
		for i, name := range d.App.names {
			w.addPart(name, d.App.listings[i])
		}
		w.addPart(d.App.listName, d.App.list)
	}
	return append(pieces, listed+d.App.listName)
}

// barred returns the reasons why a verified user may still not use tools.
func (w *packing) barred(d Decision) map[string]string {
	if len(d.Claims) == 0 {
		return nil
	}
	refusals := map[string]string{}
	for _, repository := range slices.Concat(d.Session, d.App.ranked) {
		for i := range repository.Tools {
			if _, err := repository.Tools[i].For(d.Claims); err != nil && len(refusals) < maxBarred {
				refusals[toolKey(repository.SessionID != "", repository.ID, repository.Tools[i].Name)] = w.mask.text(err.Error())
			}
		}
	}
	return refusals
}

func (w *packing) requests(into *packedExplanation, d Decision, most int) {
	into.Base, into.Requests = nil, nil
	for i, x := range d.Trace.Exchanges {
		head := 0 // the pieces up to the last shared one stay the same for a while, and are shared as a whole
		for i, piece := range x.Request {
			if piece.Shared {
				head = i + 1
			}
		}
		request := packedRequest{
			Model: x.Model, Pieces: w.shareHead(make([]string, 0, 1+len(x.Request)-head), x.Request[:head]), LeftOut: x.LeftOut, Error: w.mask.text(x.Error), Millis: x.Took.Milliseconds(),
			Tokens: Tokens{Prompt: x.PromptTokens, Cached: x.CachedTokens, Completion: x.CompletionTokens},
		}
		if tail := w.joined(x.Request[head:], most); i == 0 {
			request.Pieces = append(request.Pieces, w.ranges(into, d, tail)...)
		} else {
			request.Pieces = append(request.Pieces, literal+string(tail))
		}
		request.Answer = clip(w.mask.text(string(x.Answer)), most)
		if len(x.Answer) > most {
			into.Cut = append(into.Cut, fmt.Sprintf("requests/%d/response", i))
		}
		if slices.ContainsFunc(x.Request, func(piece matcher.Piece) bool { return !piece.Shared && len(piece.Text) > most }) {
			into.Cut = append(into.Cut, fmt.Sprintf("requests/%d/request", i))
		}
		into.Requests = append(into.Requests, request)
	}
}

// joined returns the text of pieces, masked and each cut to most bytes.
func (w *packing) joined(pieces []matcher.Piece, most int) (text []byte) {
	if len(pieces) == 1 && len(w.mask) == 0 && len(pieces[0].Text) <= most {
		return pieces[0].Text
	}
	for _, piece := range pieces {
		text = append(text, clip(w.mask.text(string(piece.Text)), most)...)
	}
	return text
}

func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	half := most / 2
	return strings.ToValidUTF8(text[:half], "") + fmt.Sprintf(" … %d bytes are left out here … ", len(text)-2*half) + strings.ToValidUTF8(text[len(text)-half:], "")
}

func (w *packing) calls(into *packedExplanation, d Decision, most int) {
	into.Calls = nil
	if excess := len(d.Trace.Calls) - maxCalls; excess > 0 {
		into.Cut = append(into.Cut, fmt.Sprintf("calls: %d more", excess))
	}
	for i, call := range d.Trace.Calls[:min(len(d.Trace.Calls), maxCalls)] {
		verdict := d.verdict(i)
		if verdict.Verdict == "" {
			verdict.Verdict, verdict.Why = Dropped, call.Dropped
		}
		packedCall := Call{
			Name: clip(call.Name, most), Arguments: w.arguments(call, most), Round: call.Round, Repaired: call.Repaired, Coerced: call.Coerced, Ignored: call.Ignored,
			Verdict: verdict.Verdict, Why: w.mask.text(verdict.Why), TriggerID: verdict.TriggerID, Evidence: w.mask.evidence(verdict.Evidence),
		}
		if call.Repository != nil {
			packedCall.RepositoryID = call.Repository.ID
		}
		for _, fault := range call.Errors {
			packedCall.Errors = append(packedCall.Errors, parameters.ValueFault{Parameter: fault.Parameter, Detail: w.mask.text(fault.Detail)})
		}
		into.Calls = append(into.Calls, packedCall)
	}
}

// arguments returns the arguments of a call, without the values of hidden parameters.
func (w *packing) arguments(call matcher.Call, most int) json.RawMessage {
	if call.Unread != "" {
		return exactjson.EncodeOrNull(clip(w.mask.text(call.Unread), most))
	}
	masks, masked := len(w.mask) > 0, call.Arguments
	for name := range call.Arguments {
		masks = masks || call.Tool != nil && call.Tool.Params().Hidden(name)
	}
	if masks || masked == nil {
		masked = make(map[string]any, len(call.Arguments))
		for name, value := range call.Arguments {
			if call.Tool != nil && call.Tool.Params().Hidden(name) {
				value = secret.Masked
			}
			masked[w.mask.text(name)] = w.mask.value(value)
		}
	}
	text := exactjson.EncodeOrNull(exactjson.Members(masked))
	if len(text) > most {
		return exactjson.EncodeOrNull(clip(string(text), most))
	}
	return text
}

// maxSize bounds the stored bytes of an explanation, without its shared parts. The texts of a longer one are
// cut, and listed in Cut.
const maxSize = 64 << 10

// rewriteAfter is how long a shared part is assumed to exist after this process wrote it. It is then written again, for
// a Redis that lost its last writes.
const rewriteAfter = 10 * time.Minute

// Packed is an explanation in stored form.
type Packed struct {
	Body  string
	Parts map[string]string // the shared parts to write with it, by name

	owner, session string
	asked          askedText
}

// MarkWritten records that an explanation is written with its parts.
func (p *Packer) MarkWritten(packed Packed) {
	for name := range packed.Parts {
		p.written.Add([2]string{packed.owner, name}, p.now())
	}
	if packed.session != "" {
		p.texts.Add([2]string{packed.owner, packed.session}, packed.asked)
	}
}

// MarkDraft records that the explanation of a draft is written with its parts. Another draft may still replace it.
func (p *Packer) MarkDraft(packed Packed) {
	p.markParts(packed)
	p.drafts.Add(maphash.String(p.seed, packed.Body), Packed{owner: packed.owner, session: packed.session, asked: packed.asked})
}

func (p *Packer) markParts(packed Packed) {
	for name := range packed.Parts {
		p.written.Add([2]string{packed.owner, name}, p.now())
	}
}

type packing struct {
	*Packer
	Packed
	mask mask
}

func (w *packing) share(content []byte) string {
	name := w.name(content)
	w.addPart(name, content)
	return name
}

// addPart adds a part to write unless it was written recently. Its owner is a generation of an app, since the
// parts of a deleted app are gone.
func (w *packing) addPart(name string, content []byte) {
	if _, is := w.Parts[name]; is || w.isWritten(name) {
		return
	}
	if w.Parts == nil {
		w.Parts = map[string]string{}
	}
	w.Parts[name] = string(s2.Encode(nil, []byte(w.mask.text(string(content)))))
}

func (w *packing) isWritten(name string) bool {
	at, is := w.written.Get([2]string{w.owner, name})
	return is && w.owner != "" && w.now().Sub(at) < min(rewriteAfter, w.keep/2)
}

// shareHead appends the beginning of a request, shared as a list. If the list is known to be written, so are its parts:
// each part is kept twice as long as an explanation.
func (w *packing) shareHead(into []string, pieces []matcher.Piece) []string {
	if len(pieces) == 0 {
		return into
	}
	var h maphash.Hash
	h.SetSeed(w.seed)
	_, _ = h.WriteString(w.owner) // a hash never fails
	for _, piece := range pieces {
		_ = h.WriteByte(0)
		_, _ = h.Write(piece.Text)
	}
	key := h.Sum64()
	if piece, is := w.listNames.Get(key); is && w.isWritten(piece[len(listed):]) {
		return append(into, piece)
	}
	list := make([]string, len(pieces))
	for i, piece := range pieces {
		list[i] = literal + w.mask.text(string(piece.Text))
		if piece.Shared {
			list[i] = shared + w.share(piece.Text)
		}
	}
	piece := listed + w.share(exactjson.EncodeOrNull(list))
	w.listNames.Add(key, piece)
	return append(into, piece)
}

// A text in pieces is stored as a list of texts, each with a prefix for its kind.
const (
	literal = "="
	shared  = "#" // the name of a part that is a text
	listed  = "^" // the name of a part that is such a list
	ranged  = "<" // from:to, spans of the text of an earlier explanation
)

// Redecide returns the explanation of a message from that of its draft, with the time of the decision and the verdicts
// on its calls. The shared parts are already written.
func (p *Packer) Redecide(body string, at time.Time, verdicts []Verdict) (Packed, error) {
	packed, err := read(body, nil)
	if err != nil {
		return Packed{}, err
	}
	packed.Time = at.UnixMilli()
	for i := range packed.Calls {
		if i < len(verdicts) && verdicts[i].Verdict != "" {
			verdict := verdicts[i]
			packed.Calls[i].Verdict, packed.Calls[i].Why, packed.Calls[i].TriggerID = verdict.Verdict, verdict.Why, verdict.TriggerID
		}
	}
	text, err := exactjson.Encode(packed)
	of, _ := p.drafts.Get(maphash.String(p.seed, body)) // empty if another replica matched the draft
	of.Body = compress(text)
	return of, err
}
