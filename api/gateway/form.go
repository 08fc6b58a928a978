package gateway

// form is an API format of the model: chat completions or responses. There is one per request, and it tracks
// how much of the answer the client has.
type form interface {
	// path returns the endpoint's path below the model's URL.
	path() string
	// resume restores a body that refers to rewritten ids, so that the model's host knows them.
	resume(body []byte) []byte
	// list returns the field with the messages; orText reports that a plain user text is allowed instead.
	list() (field string, orText bool)
	// lengths returns the fields that bound the answer's length, the default one first.
	lengths(openAI bool) []string
	offers(c *chat) bool
	// tool writes a tool for the model.
	tool(name, description string, schema any) []byte
	called(calls []call, results []result) [][]byte
	// whole processes an unstreamed answer. It returns edits for the client, or that the model must be
	// asked again.
	whole(a *acting, text []byte) (edits []edit, retry bool)
	// stream returns the processor of a streamed answer.
	stream(a *acting) stream
	// fault writes an error as the last event of a stream.
	fault(problem []byte) []byte
}

// stream processes the streamed answer of a round.
type stream interface {
	// take processes an event with a JSON object, and returns the client's part.
	take(event []byte, data span) ([]byte, error)
	// silent reports whether the rest of the round is hidden from the client.
	silent() bool
	// end ends the round and reports whether to ask the model again. It fails if the answer is incomplete.
	end() (retry bool, err error)
}

// sums lists the token counts that are added up over the rounds.
var sums = []string{"prompt_tokens", "completion_tokens", "input_tokens", "output_tokens", "total_tokens"}
