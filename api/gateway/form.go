package gateway

// form is how clients write to a model, and it to them: as chat completions, or as responses. It is
// made anew for each request, and knows what of the answer its client has.
type form interface {
	// path is where the model takes requests, below its URL.
	path() string
	// resume reads a body in which a client goes on from what it was given here in place of the model's
	// own, and returns it as the model's host knows it.
	resume(body []byte) []byte
	// list is the field that has the messages. It may have a text in their place, of the user.
	list() (field string, orText bool)
	// lengths are the fields that bound the length of an answer. The first is for a request without one.
	lengths(openAI bool) []string
	// offers reports whether tools can be offered with a request.
	offers(c *chat) bool
	// tool writes a tool as the model is offered it.
	tool(name, description string, schema any) []byte
	// called writes calls and their results as messages.
	called(calls []call, results []result) [][]byte
	// whole takes the answer of a round that is not streamed: what is to be different in it for the
	// client, or that the model is asked again.
	whole(a *acting, text []byte) (edits []edit, again bool)
	// stream takes the answer of a round that is streamed.
	stream(a *acting) stream
	// fault writes an error as the last event of a stream.
	fault(problem []byte) []byte
}

// stream is the answer of a round as it comes.
type stream interface {
	// take takes an event, whose data is an object, and returns what of it is for the client.
	take(event []byte, data span) ([]byte, error)
	// silent reports whether the rest of the round is not for the client.
	silent() bool
	// end ends the round, and reports whether the model is asked again. Its error says that the
	// answer is not whole.
	end() (again bool, err error)
}

// sums are the counts of tokens that are added up over the rounds of an answer.
var sums = []string{"prompt_tokens", "completion_tokens", "input_tokens", "output_tokens", "total_tokens"}
