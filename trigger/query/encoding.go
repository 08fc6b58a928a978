package query

import (
	"bytes"
	"errors"
	"strings"

	"earshot/repositories/exactjson"
	"earshot/trigger/shorttext"
)

// dictionary is the text that most records and decisions share. Stored records need it unchanged: another dictionary
// would need another mark.
var dictionary = shorttext.New(mostPacked, `"metadata":{"repaired":true,"coerced":[""],"default":"enum":["","format":"date-time","items":{"type":"object","properties":{"type":"array",`+
	`"type":"integer"},"type":"number"},"type":"boolean"},"required":false,"type":"string"},{"description":"","parameter":"","required":true,`+
	`"auth":{"":"expired"},"missing":[""],"errors":[{"parameter":"","detail":""}],"ask":""}],"rejected":[{"repositoryId":"","name":"","values":{},`+
	`"emitter":{"subject":"app.","state":"pending"},"call":{"state":"pending","attempts":0},"returnDirect":true,"skipResponse":true,"state":"confirming",`+
	`"dueAt":"2026-","of":"","digest":"","question":"","expiresAt":"2026-","source":"ui","source":"task","source":"agent",`+
	`{"event":{"subject":"tool.trigger.","state":"pending"},"returnDirect":false,"skipResponse":false,"appId":"","sessionId":"","messageId":"","text":"","ts":"2026-1",`+
	`"schema":[{"description":"","parameter":"","required":true,"type":"string"}],"evidence":{"":{"messageId":"","words":""},"":null},"state":"","attempts":null}`+
	`{"messageId":"","matches":[],"rejected":[],"reply":null,"skipResponse":false}`+
	`{"messageId":"","matches":[{"triggerId":"","repositoryId":"","name":"","source":"message","values":{"":""},"event":{"subject":"tool.trigger.","state":"pending"},`+
	`"returnDirect":false,"skipResponse":false}],"rejected":[],"reply":null,"skipResponse":false}`)

// mostPacked bounds the texts, in bytes, that are packed. A longer one is stored as it is, so that unpacking
// takes no more memory than the text has in Redis.
const mostPacked = 16 << 10

// A stored record begins with the fields that a search examines (see Triggers.prefilter), as JSON, followed by
// all other fields, packed. There one byte stands for the messageId and one for the tool's name, as JSON has
// them. The triggerId is its key.
type storedHead struct {
	MessageID    string            `json:"messageId,omitempty"`
	RepositoryID string            `json:"repositoryId"`
	Name         string            `json:"name"`
	Source       string            `json:"source"`
	Values       exactjson.Members `json:"values"`
}

type storedRest struct {
	*Record
	TriggerID    *struct{} `json:"triggerId,omitempty"` // nil, like all fields of the head
	MessageID    *struct{} `json:"messageId,omitempty"`
	RepositoryID *struct{} `json:"repositoryId,omitempty"`
	Name         *struct{} `json:"name,omitempty"`
	Source       *struct{} `json:"source,omitempty"`
	Values       *struct{} `json:"values,omitempty"`
}

// leastReplaced is the least length of a text that a byte stands for.
const leastReplaced = 3

// Bytes that stand for texts that the packed fields often repeat: no JSON has such bytes.
const (
	messageMark = "\x01"
	nameMark    = "\x02"
)

// replaceNames replaces the messageId and the name in a text, if JSON has them unescaped.
func (h storedHead) replaceNames(text []byte) []byte {
	if replaceable(h.MessageID) {
		text = bytes.ReplaceAll(text, []byte(h.MessageID), []byte(messageMark))
	}
	if replaceable(h.Name) {
		text = bytes.ReplaceAll(text, []byte(h.Name), []byte(nameMark))
	}
	return text
}

// restoreNames reverses replaceNames: a name may have contained the messageId.
func (h storedHead) restoreNames(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, nameMark, h.Name), messageMark, h.MessageID)
}

// replaceable reports whether a byte may stand for a text: it is long enough, and JSON does not escape it.
func replaceable(text string) bool {
	return len(text) >= leastReplaced && !strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' || r > '~' || strings.ContainsRune(`"\<>&`, r)
	})
}

// Encode returns the record as it is stored under its triggerId, and the size of its JSON in bytes.
func (r *Record) Encode() (encoded string, size int, err error) {
	head := storedHead{r.MessageID, r.RepositoryID, r.Name, r.Source, r.Values}
	var restErr error
	err = exactjson.Use(&head, func(headText []byte) {
		restErr = exactjson.Use(&storedRest{Record: r}, func(restText []byte) {
			if size = len(headText) + len(restText); size <= mostPacked {
				encoded = dictionary.PackAfter(headText, head.replaceNames(restText))
			}
		})
	})
	if err = errors.Join(err, restErr); err == nil && size > mostPacked {
		encoded, err = exactjson.Text(r)
		size = len(encoded)
	}
	return encoded, size, err
}

// decode reverses Encode. Earlier builds stored plain JSON, which it reads as well.
func (r *Record) decode(triggerID, encoded string) error {
	mark := strings.Index(encoded, shorttext.Mark)
	if mark < 0 {
		return exactjson.Unmarshal([]byte(encoded), r)
	}
	var head storedHead
	if err := exactjson.Unmarshal([]byte(encoded[:mark]), &head); err != nil {
		return err
	}
	text, err := dictionary.Unpack(encoded[mark:])
	if err != nil {
		return err
	}
	if err := exactjson.Unmarshal([]byte(head.restoreNames(string(text))), r); err != nil {
		return err
	}
	r.TriggerID, r.MessageID, r.RepositoryID, r.Name, r.Source, r.Values = triggerID, head.MessageID, head.RepositoryID, head.Name, head.Source, head.Values
	return nil
}

// Encode returns the answer as it is stored under its messageId.
func (a Answer) Encode() (string, error) {
	a.MessageID = ""
	encoded := ""
	err := exactjson.Use(&a, func(text []byte) {
		if len(text) > mostPacked {
			encoded = string(text)
		} else {
			encoded = dictionary.Pack(text)
		}
	})
	return encoded, err
}

// ReadDecision reverses Answer.Encode. Earlier builds stored plain JSON, which it reads as well.
func ReadDecision(messageID, decision string) (answer Answer, err error) {
	err = readDecision(decision, &answer)
	answer.MessageID = messageID
	return answer, err
}

// readDecision reads a stored answer into an Answer, or into a type with some of its fields.
func readDecision(decision string, into any) (err error) {
	text := []byte(decision)
	if strings.HasPrefix(decision, shorttext.Mark) {
		if text, err = dictionary.Unpack(decision); err != nil {
			return err
		}
	}
	return exactjson.Unmarshal(text, into)
}
