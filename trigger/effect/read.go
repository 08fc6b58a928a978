package effect

import (
	"sync"

	"earshot/repositories/bodies"
	"earshot/repositories/fault"
)

// AnswerSchema describes the body of an answer, as Given of /openapi.json does for people.
const AnswerSchema = `{"$defs": {"Given": {
  "type": "object",
  "additionalProperties": false,
  "required": ["ok"],
  "properties": {"ok": {"type": "boolean"}, "result": {}, "error": {"type": "string"}}
}}}`

var answerBodies = sync.OnceValue(func() *bodies.Definitions {
	described := bodies.Compile([]byte(AnswerSchema), nil)
	described.Absent = true
	return described
})

// ReadAnswer reads the body of an answer, over REST and NATS alike. It returns a fault.List if the body is none: an
// answer that says two things, or something that is not understood, must not end the wait.
func ReadAnswer(body []byte) (Answer, error) {
	read, err := answerBodies().Read("Given", body)
	if err != nil {
		return Answer{}, err
	}
	var given Answer
	read.Into(&given)
	_, hasResult := read.Object()["result"]
	if ok, has := read.Object()["ok"].(bool); has {
		switch {
		case ok && given.Error != "":
			read.Add(fault.Point("error"), "belongs to an answer whose ok is false")
		case !ok && given.Error == "":
			read.Miss(fault.Point("error"), ": where ok is false it says why")
		}
		if !ok && hasResult {
			read.Add(fault.Point("result"), "belongs to an answer whose ok is true")
		}
	}
	return given, read.Err()
}
