// Package earshot is a client of Earshot for Go. It needs the standard library alone:
//
//	client, err := earshot.New("http://127.0.0.1:8080", earshot.WithKey(os.Getenv("EARSHOT_KEY")))
//	session := client.App("clinic").Session("s1")
//	answer, err := session.Say(ctx, "I want an appointment on Friday")
//	for _, match := range answer.Matches {
//		fmt.Println(match.Name, match.Values)
//	}
//
// An [App] and a [Session] are names that are spoken to; making one asks nobody. Both have tools,
// repositories, direct triggers and events. What is sent and answered are plain structs with the
// fields of /openapi.json.
//
// What the service refuses is a [*Problem], which errors.As finds and errors.Is tells apart:
//
//	if errors.Is(err, earshot.ErrNotFound) { … }
//
// A request whose answer was lost is sent again, where that does no harm: messages and direct
// triggers get an id before they are sent, so that each happens once, however often it is sent.
//
// AgentTools are the tools in scope for a model of one's own: an [AgentTool] is what langchaingo
// calls a tools.Tool, and Functions lists them as OpenAI's functions. The module langchain beside
// this one has the types of langchaingo. [App.Serve] is the other way round: functions of yours
// answer triggers.
//
// Everything here is safe for concurrent use. What has no method of its own is reached by
// [Client.Do].
package earshot
