package matcher

import (
	"encoding/base64"
	"encoding/json"
)

// The SDK passes what it sends and what it gets through map[string]any, in which
// numbers lose digits and members their order. So JSON that must arrive as it is goes
// through it as a text: exact wraps it, and unwrapExact, the last to see a request,
// puts the JSON in its place.

// exactMember is the only member of an object that stands for the JSON in it.
const exactMember = "earshot-exact-json"

func exact(raw json.RawMessage) map[string]any { return map[string]any{exactMember: string(raw)} }

// exactText returns the JSON that an object stands for; nothing where it stands for
// none.
func exactText(object map[string]any) string {
	text, _ := object[exactMember].(string)
	return text
}

// unwrapExact puts JSON in the place of the objects that stand for it, and gives
// signatures the text that they had: the SDK encodes it once more. The SDK's body holds
// types of its own, so it goes through JSON first, as it would in the end.
func unwrapExact(body map[string]any) map[string]any {
	value, err := decodeStrict(encode(body))
	if err != nil {
		return body
	}
	unwrapped, _ := unwrapValue("", value).(map[string]any)
	return unwrapped
}

func unwrapValue(name string, value any) any {
	switch value := value.(type) {
	case map[string]any:
		if text := exactText(value); text != "" {
			return json.RawMessage(text)
		}
		for name, member := range value {
			value[name] = unwrapValue(name, member)
		}
	case []any:
		for i, one := range value {
			value[i] = unwrapValue("", one)
		}
	case string:
		if name == signatureMember {
			signature, _ := base64.StdEncoding.DecodeString(value)
			return string(signature)
		}
	}
	return value
}

// signatureMember is the member of a part that holds the model's signed thoughts.
const signatureMember = "thoughtSignature"
