// Package earshot is a client of Earshot for Go. It needs the standard library alone:
//
//	client, err := earshot.New("http://127.0.0.1:8080", earshot.WithKey(os.Getenv("EARSHOT_KEY")))
//	session := client.App("clinic").Session("s1")
//	answer, err := session.Say(ctx, "I want an appointment on Friday")
//	for _, match := range answer.Matches {
//		fmt.Println(match.Name, match.Values)
//	}
//
// An [App] and a [Session] are names; no request is made for them. Both have tools, repositories, direct triggers and
// events. Requests and answers are structs with the fields of /openapi.json. An id is 1 to 128 of A-Z a-z 0-9 _ -, and
// begins with a letter or digit; those of the path may be left out. A credential is never returned: it reads as ***, and
// *** sent back keeps what is stored.
//
// What the service refuses is a [*Problem], which errors.As finds and errors.Is tells apart:
//
//	if errors.Is(err, earshot.ErrNotFound) { … }
//
// A request without an answer is sent again if that does no harm: messages and direct triggers get an id before they are
// sent, so that each counts once.
//
// AgentTools are the tools in scope for a model of your own: an [AgentTool] is what langchaingo calls a tools.Tool, and
// Functions lists them as OpenAI's functions. The module langchain beside this one has the types of langchaingo. With
// [App.Serve], functions of yours answer triggers. [Client.Do] makes all other requests.
//
// All of it is safe for concurrent use.
package earshot
