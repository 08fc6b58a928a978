package matcher

import (
	"context"
	"time"

	"earshot/repositories/parameters"
)

// Trace is how a Result came about, for people who ask why. It is written for every message,
// so it refers to what is there anyway and works nothing out. It holds what conversations and
// models say, unmasked.
type Trace struct {
	// Scores are those of the candidates that were compared with the message by their
	// words, the best first; not all need be among them.
	Scores []Score
	// Offered are the candidates that the model was shown, where there were more than the
	// Limit of a request; else nil, and it was shown all of them.
	Offered []Candidate
	Limit   int
	// Exchanges are the requests to the model, in their order.
	Exchanges []Exchange
	// Calls are those that were found, whether or not they became a Match or Rejected.
	Calls []Call
	// Nearest are the candidates that a message which calls for none was nearest to, the best first, at
	// most MostNearest; nil where no more are in scope.
	Nearest []Candidate
	// Silence is why no call was found, as the end of "Nothing fired: …"; empty where one was.
	Silence string
	// Notes say what else is to be known, such as a setting that does not hold.
	Notes []string
}

// MostNearest is how many tools are named where a message calls for none.
const MostNearest = 64

// Score is how near a candidate is to a text: 0 for nothing in common, 1.3 at most.
type Score struct {
	Candidate
	Score float32
}

// Exchange is one request to a model, and its answer.
type Exchange struct {
	Model string
	// Request is the body that was sent; LeftOut names members that were not, as the model
	// is known to refuse them.
	Request []Piece
	LeftOut []string
	// Answer is the body that came back, as it came; Error says why it is of no use.
	Answer []byte
	Error  string
	Took   time.Duration
	// Tokens, as far as the provider reports them. Cached are among those of the prompt.
	PromptTokens, CachedTokens, CompletionTokens int
}

// Piece is a part of a text. A shared one is the same in the requests of many messages.
type Piece struct {
	Text   []byte
	Shared bool
}

// Call is a call that was found for a message.
type Call struct {
	// Candidate is the tool; empty where the name stands for none in scope.
	Candidate
	Name string
	// Arguments are as they were given, by the names of the parameters; Unread is their text
	// where it cannot be read at all.
	Arguments map[string]any
	Unread    string
	// Repaired says that they were not well-formed JSON. Coerced names those that were
	// changed in form, Ignored those that no parameter asks for.
	Repaired         bool
	Coerced, Ignored []string
	Errors           []parameters.ValueFault
	// Round is the answer of the model that has it, from 1; 0 where no model was asked.
	Round int
	// Dropped says why it is neither a Match nor Rejected, as a sentence.
	Dropped string
}

type traceKey struct{}

// Recorded returns a context under which a Matcher writes a Trace.
func Recorded(ctx context.Context) (context.Context, *Trace) {
	trace := &Trace{}
	return context.WithValue(ctx, traceKey{}, trace), trace
}

// TraceOf returns the trace that is to be written; nil for none.
func TraceOf(ctx context.Context) *Trace {
	trace, _ := ctx.Value(traceKey{}).(*Trace)
	return trace
}

// Add adds a call, and returns its number for a Match or Rejected; 0 without a trace.
func (t *Trace) Add(call Call) int {
	if t == nil {
		return 0
	}
	t.Calls = append(t.Calls, call)
	return len(t.Calls)
}

// Silent notes why no call was found.
func (t *Trace) Silent(why string) {
	if t != nil {
		t.Silence = why
	}
}

// Note adds what else is to be known, as a sentence.
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
