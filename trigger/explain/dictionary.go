package explain

import (
	"strings"

	"github.com/klauspost/compress/s2"

	"earshot/trigger/shorttext"
)

// dictionary is the text that most explanations share: field names, fixed sentences, and the form of requests
// to models and their answers. An explanation refers to it, and takes about a third of the size. Stored
// explanations need it unchanged: another dictionary would need another mark.
var dictionary = shorttext.New(16<<20, `"verified":true,"barred":{"limit":32,"offered":"scores":[{"n":","s":0.0"notes":["cut":["requests/0/response","requests/0/request"`+
	`"leftOut":["error":"unreadmissing.unreaderrors":[{"parameter":","detail":"ignored":[`+
	`{"type":"message","role":"assistant","content":[{"type":"tool_use","id":"toolu_","name":"input":{}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":`+
	`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"args":{"role":"model"},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":"candidatesTokenCount":"totalTokenCount":`+
	`The call was accepted; it has no result to show.Nothing else fired or was rejected, and this tool takes what is left.It asks first, and has no effect until it is confirmed.`+
	`The words of the message call for it, with values that the tool takes.Nothing was called for. It was called, but its values are missing or wrong: `+
	`{"id":"chatcmpl-","object":"chat.completion","created":17,"model":"gpt-4o-mini","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_","type":"function","function":{"name":"","arguments":"{\"\":\"`+
	`\"}"}}],"refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}},"service_tier":"default","system_fingerprint":"fp_`+
	`{"at":1795553166310,"stage":"offline","why":"Nothing fired.","scope":["^{"at":1795553166310,"stage":"llm","why":"Fired booking/book-table.","scope":["^HKqGYs_66g7K-DE_"],"requests":[{"model":"gpt-4o-mini","pieces":["^fNF4Ui4katrbg7UE",`+
	`"=},{\"role\":\"assistant\",\"content\":\"\"},{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"call_\",\"type\":\"function\",\"function\":{\"name\":\"\",\"arguments\":\"{\\\"\\\":\\\"\\\"}\"}}]},{\"role\":\"tool\",\"content\":\"The call was accepted; it has no result to show.\",\"tool_call_id\":\"`+
	`"=},{\"role\":\"system\",\"content\":\"Current date and time: Tuesday, 2026-11-24, 20:46 UTC (UTC+00:00).\"},{\"role\":\"user\",\"content\":\"\"}],\"stream\":false}"],`+
	`"answer":"{\"id\":\"chatcmpl-\",\"object\":\"chat.completion\",\"created\":17,\"model\":\"gpt-4o-mini\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call_\",\"type\":\"function\",\"function\":{\"name\":\"`+
	`\",\"arguments\":\"{\\\"day\\\":\\\"Friday\\\"}\"}}],\"refusal\":null,\"annotations\":[]},\"logprobs\":null,\"finish_reason\":\"tool_calls\"}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1,\"total_tokens\":2,\"prompt_tokens_details\":{\"cached_tokens\":0,\"audio_tokens\":0},`+
	`\"completion_tokens_details\":{\"reasoning_tokens\":0,\"audio_tokens\":0,\"accepted_prediction_tokens\":0,\"rejected_prediction_tokens\":0}},\"service_tier\":\"default\",\"system_fingerprint\":\"fp_\"}","ms":15,"tokens":{"prompt":1,"cached":0,"completion":1}}],`+
	`"calls":[{"repositoryId":"","name":"","arguments":{"":""},"round":1,"repaired":false,"coerced":null,"errors":null,"evidence":{"":{"messageId":"","words":""}},"verdict":"rejected","verdict":"dropped","verdict":"fired","why":"The model called it, with values that the tool takes.","triggerId":"`)

func compress(text []byte) string { return dictionary.Pack(text) }

// decompress reverses compress, also of earlier builds, which had no dictionary.
func decompress(body string) ([]byte, error) {
	if strings.HasPrefix(body, shorttext.Mark) {
		return dictionary.Unpack(body)
	}
	return s2.Decode(nil, []byte(body))
}
