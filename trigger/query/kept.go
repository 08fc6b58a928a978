package query

import (
	"bytes"
	"errors"
	"strings"

	"earshot/repositories/exactjson"
	"earshot/trigger/shorttext"
)

// words is the text that most records and decisions share. Stored records need it unchanged: another dictionary
// would need another mark.
var words = shorttext.New(mostShort, `"metadata":{"repaired":true,"coerced":[""],"default":"enum":["","format":"date-time","items":{"type":"object","properties":{"type":"array",`+
	`"type":"integer"},"type":"number"},"type":"boolean"},"required":false,"type":"string"},{"description":"","parameter":"","required":true,`+
	`"auth":{"":"expired"},"missing":[""],"errors":[{"parameter":"","detail":""}],"ask":""}],"rejected":[{"repositoryId":"","name":"","values":{},`+
	`"emitter":{"subject":"app.","state":"pending"},"call":{"state":"pending","attempts":0},"returnDirect":true,"skipResponse":true,"state":"confirming",`+
	`"dueAt":"2026-","of":"","digest":"","question":"","expiresAt":"2026-","source":"ui","source":"task","source":"agent",`+
	`{"event":{"subject":"tool.trigger.","state":"pending"},"returnDirect":false,"skipResponse":false,"appId":"","sessionId":"","messageId":"","text":"","ts":"2026-1",`+
	`"schema":[{"description":"","parameter":"","required":true,"type":"string"}],"evidence":{"":{"messageId":"","words":""},"":null},"state":"","attempts":null}`+
	`{"messageId":"","matches":[],"rejected":[],"reply":null,"skipResponse":false}`+
	`{"messageId":"","matches":[{"triggerId":"","repositoryId":"","name":"","source":"message","values":{"":""},"event":{"subject":"tool.trigger.","state":"pending"},`+
	`"returnDirect":false,"skipResponse":false}],"rejected":[],"reply":null,"skipResponse":false}`)

// mostShort bounds the texts, in bytes, that are packed. A longer one is stored as it is, so that unpacking
// takes no more memory than the text has in Redis.
const mostShort = 16 << 10

// A stored record begins with the fields that a search examines (see Triggers.prefilter), as JSON, followed by
// all other fields, packed. There one byte stands for the messageId and one for the tool's name, as JSON has
// them. The triggerId is its key.
type keptHead struct {
	MessageID    string            `json:"messageId,omitempty"`
	RepositoryID string            `json:"repositoryId"`
	Name         string            `json:"name"`
	Source       string            `json:"source"`
	Values       exactjson.Members `json:"values"`
}

type keptRest struct {
	*Record
	TriggerID    *struct{} `json:"triggerId,omitempty"` // nil, like all fields of the head
	MessageID    *struct{} `json:"messageId,omitempty"`
	RepositoryID *struct{} `json:"repositoryId,omitempty"`
	Name         *struct{} `json:"name,omitempty"`
	Source       *struct{} `json:"source,omitempty"`
	Values       *struct{} `json:"values,omitempty"`
}

// leastNamed is the least length of a text that a byte stands for.
const leastNamed = 3

// Bytes that stand for texts that the rest often repeats: no JSON has such bytes.
const (
	messageMark = "\x01"
	nameMark    = "\x02"
)

// shortened replaces the messageId and the name in the rest, if JSON has them unescaped.
func (h keptHead) shortened(rest []byte) []byte {
	if namable(h.MessageID) {
		rest = bytes.ReplaceAll(rest, []byte(h.MessageID), []byte(messageMark))
	}
	if namable(h.Name) {
		rest = bytes.ReplaceAll(rest, []byte(h.Name), []byte(nameMark))
	}
	return rest
}

// lengthened reverses shortened: a name may have contained the messageId.
func (h keptHead) lengthened(rest string) string {
	return strings.ReplaceAll(strings.ReplaceAll(rest, nameMark, h.Name), messageMark, h.MessageID)
}

// namable reports whether a byte may stand for a text: it is long enough, and JSON does not escape it.
func namable(text string) bool {
	return len(text) >= leastNamed && !strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' || r > '~' || strings.ContainsRune(`"\<>&`, r)
	})
}

// Kept returns the record as it is stored under its triggerId, and the size of its JSON in bytes.
func (r *Record) Kept() (kept string, size int, err error) {
	head := keptHead{r.MessageID, r.RepositoryID, r.Name, r.Source, r.Values}
	var restErr error
	err = exactjson.Use(&head, func(first []byte) {
		restErr = exactjson.Use(&keptRest{Record: r}, func(rest []byte) {
			if size = len(first) + len(rest); size <= mostShort {
				kept = words.PackAfter(first, head.shortened(rest))
			}
		})
	})
	if err = errors.Join(err, restErr); err == nil && size > mostShort {
		kept, err = exactjson.Text(r)
		size = len(kept)
	}
	return kept, size, err
}

// readKept reverses Kept, also of earlier builds, which stored plain JSON.
func (r *Record) readKept(triggerID, kept string) error {
	at := strings.Index(kept, shorttext.Mark)
	if at < 0 {
		return exactjson.Unmarshal([]byte(kept), r)
	}
	var head keptHead
	if err := exactjson.Unmarshal([]byte(kept[:at]), &head); err != nil {
		return err
	}
	text, err := words.Unpack(kept[at:])
	if err != nil {
		return err
	}
	if err := exactjson.Unmarshal([]byte(head.lengthened(string(text))), r); err != nil {
		return err
	}
	r.TriggerID, r.MessageID, r.RepositoryID, r.Name, r.Source, r.Values = triggerID, head.MessageID, head.RepositoryID, head.Name, head.Source, head.Values
	return nil
}

// Kept returns the answer as it is stored under its messageId.
func (a Answer) Kept() (string, error) {
	a.MessageID = ""
	kept := ""
	err := exactjson.Use(&a, func(text []byte) {
		if len(text) > mostShort {
			kept = string(text)
		} else {
			kept = words.Pack(text)
		}
	})
	return kept, err
}

// ReadDecision reverses Answer.Kept, also of earlier builds, which stored plain JSON.
func ReadDecision(messageID, decision string) (answer Answer, err error) {
	err = readDecision(decision, &answer)
	answer.MessageID = messageID
	return answer, err
}

// readDecision reads a stored answer into all of it, or into a part.
func readDecision(decision string, into any) (err error) {
	text := []byte(decision)
	if strings.HasPrefix(decision, shorttext.Mark) {
		if text, err = words.Unpack(decision); err != nil {
			return err
		}
	}
	return exactjson.Unmarshal(text, into)
}
