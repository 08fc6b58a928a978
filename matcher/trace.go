package matcher

import (
	"context"
	"time"

	"earshot/repositories/parameters"
)

// Trace explains a Result. It is written for every message, so it only refers to existing data. It contains the
// texts of conversations and models, unmasked.
type Trace struct {
	// Scores are of candidates that were compared with the message by words, the best first; possibly not of all.
	Scores []Score
	// Offered are the candidates that the model saw if there were more than Limit; nil if it saw all.
	Offered []Candidate
	Limit   int
	// Exchanges are the requests to the model, in order.
	Exchanges []Exchange
	// Calls are all found calls, whether or not they became a Match or Rejected.
	Calls []Call
	// Nearest are the candidates nearest to a message that calls for none, the best first, at most MostNearest; nil
	// if no more are in scope.
	Nearest []Candidate
	Silence string   // why no call was found, as the end of "Nothing fired: …"; empty if one was
	Notes   []string // other remarks, such as on an ineffective setting
}

// MostNearest is how many tools are named if a message calls for none.
const MostNearest = 64

// Score is a candidate's similarity to a text: from 0 to 1.3.
type Score struct {
	Candidate
	Score float32
}

// Exchange is one request to a model, and its answer.
type Exchange struct {
	Model   string
	Request []Piece // the body as sent; LeftOut names members that were omitted because the model refuses them
	LeftOut []string
	Answer  []byte // the body as received; Error is why it is not usable
	Error   string
	Took    time.Duration
	// Tokens, as far as the provider reports them. Cached ones are included in the prompt's.
	PromptTokens, CachedTokens, CompletionTokens int
}

// Piece is a part of a text. A shared one is the same in the requests of many messages.
type Piece struct {
	Text   []byte
	Shared bool
}

// Call is a call that was found for a message.
type Call struct {
	// Candidate is the tool; empty if no tool in scope has the name.
	Candidate
	Name      string
	Arguments map[string]any // as given, by parameter name; Unread is their text if they are unreadable
	Unread    string
	// Repaired means that they were not well-formed JSON. Coerced names those that were converted, Ignored those
	// without a parameter.
	Repaired         bool
	Coerced, Ignored []string
	Errors           []parameters.ValueFault
	Round            int    // the number of the model's answer with the call, from 1; 0 without a model
	Dropped          string // why it is neither a Match nor Rejected, as a sentence
}

type traceKey struct{}

// Recorded returns a context that makes a Matcher write the Trace.
func Recorded(ctx context.Context) (context.Context, *Trace) {
	trace := &Trace{}
	return context.WithValue(ctx, traceKey{}, trace), trace
}

// TraceOf returns the trace to write; nil for none.
func TraceOf(ctx context.Context) *Trace {
	trace, _ := ctx.Value(traceKey{}).(*Trace)
	return trace
}

// Add adds a call and returns its number for a Match or Rejected; 0 without a trace.
func (t *Trace) Add(call Call) int {
	if t == nil {
		return 0
	}
	t.Calls = append(t.Calls, call)
	return len(t.Calls)
}

// Silent records why no call was found.
func (t *Trace) Silent(why string) {
	if t != nil {
		t.Silence = why
	}
}

// Note adds a remark, as a sentence.
func (t *Trace) Note(what string) {
	if t != nil {
		t.Notes = append(t.Notes, what)
	}
}

// Asked adds a request to a model.
func (t *Trace) Asked(exchange Exchange) {
	if t != nil {
		t.Exchanges = append(t.Exchanges, exchange)
	}
}
