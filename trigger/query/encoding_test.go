package query

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/trigger/ledger"
	"earshot/trigger/shorttext"
)

func newRecord(messageID, name, text string) Record {
	match := Match{
		TriggerID: "4fa24b8b91fbe59ec537b82c752e8f4e", RepositoryID: "tools-0", Name: name, Source: SourceMessage,
		Values: map[string]any{"day": "Friday", "n": json.Number("9007199254740993")},
		Event:  &EventState{Subject: "tool.trigger.bench.s61." + name, State: StatePending},
	}
	return Record{
		Match: match, AppID: "bench", SessionID: "s61", MessageID: messageID, Text: text, Time: time.Unix(1795819986, 610942706).UTC(),
		Schema:   json.RawMessage(`[{"description":"wished day","parameter":"day","required":true,"type":"string"}]`),
		Metadata: repositories.Metadata(`{"desk":"A"}`),
		Evidence: map[string]*matcher.Evidence{"day": {MessageID: messageID, Words: "Friday"}, "n": nil},
	}
}

func TestARecordIsReadAsItWasStored(t *testing.T) {
	t.Parallel()
	for _, record := range []Record{
		newRecord("RI3DTCM5ZIVCVZ6EXY4KEM4MAH", "cancel-window-kitchen", "Good morning, please cancel the window of the kitchen, on Friday"),
		newRecord(`m "<\`+"\u2028é", "cancel-window-kitchen", `m "<\`+"\u2028\x00\x01\x02é cancel-window-kitchen"),
		newRecord("s", "s61", "s61 "+strings.Repeat("tool.trigger", 1000)),
		newRecord("", "book", ""),
		newRecord("m1", "book", strings.Repeat("x", mostPacked)),
	} {
		plain := testbed.Got(exactjson.Text(record))(t)
		encoded, size, err := record.Encode()
		require.NoError(t, err)
		require.InDelta(t, len(plain), size, 60, "the size is that of the JSON, not of the packed text")
		for _, stored := range []string{encoded, plain} { // an earlier build stored plain JSON
			read := testbed.Got(ReadStoredTrigger(&ledger.StoredTrigger{ID: record.TriggerID, Record: stored}))(t)
			read.Record.Attempts, read.Record.Match.State, read.Record.State = nil, "", "" // they follow from other fields of the trigger
			again := testbed.Got(exactjson.Text(read.Record))(t)
			require.Equal(t, plain, again)
		}
		short := strings.Contains(encoded, shorttext.Mark)
		require.Equal(t, len(plain) <= mostPacked, short)
		require.Contains(t, encoded, `"name":"`+record.Name+`","source":"message","values":{"day":"Friday","n":9007199254740993}`, "a search looks into it")
	}
	usual := newRecord("RI3DTCM5ZIVCVZ6EXY4KEM4MAH", "cancel-window-kitchen", "Good morning, please cancel the window of the kitchen, on Friday")
	encoded, size, err := usual.Encode()
	require.NoError(t, err)
	require.Less(t, len(encoded), size*3/5)
}

func TestADecisionIsReadAsItWasStored(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "noon", strings.Repeat("noon ", mostPacked)} {
		record := newRecord("m1", "cancel-window-kitchen", text)
		record.Values["text"] = text
		answer := Answer{MessageID: "m1", Matches: []Match{record.Match}, Rejected: []Rejected{}, Reply: json.RawMessage("null")}
		plain := testbed.Got(exactjson.Text(answer))(t)
		encoded := testbed.Got(answer.Encode())(t)
		for _, stored := range []string{encoded, plain} {
			read := testbed.Got(ReadDecision("m1", stored))(t)
			require.Equal(t, answer, read)
		}
		if len(plain) < mostPacked {
			require.Less(t, len(encoded), len(plain)/2)
		}
	}
}

func TestADamagedRecordIsAnError(t *testing.T) {
	t.Parallel()
	record := newRecord("m1", "cancel-window-kitchen", "please cancel the window")
	whole, _, err := record.Encode()
	require.NoError(t, err)
	decision := testbed.Got(Answer{Matches: []Match{record.Match}}.Encode())(t)
	damaged := []string{"\x00", "{}\x00", "{}\x00\xff\xff\xff\xff\x7f", "{}" + decision[:9], `{"name":1}` + whole[strings.Index(whole, "\x00"):]}
	for n := 1; n < len(whole); n++ {
		if whole[n] != shorttext.Mark[0] { // the part before the mark is JSON
			damaged = append(damaged, whole[:n])
		}
	}
	for _, encoded := range damaged {
		_, err := ReadStoredTrigger(&ledger.StoredTrigger{ID: "t1", Record: encoded})
		require.Error(t, err, "%q", encoded)
		_, err = ReadDecision("m1", strings.TrimLeft(encoded, "{}"))
		require.Error(t, err, "%q", encoded)
	}
	huge := dictionary.Pack([]byte(`"` + strings.Repeat("x", 2*mostPacked) + `"`))
	_, err = ReadDecision("m1", huge)
	require.ErrorContains(t, err, "they are said to be")
}

// TestTheDictionaryReadsEarlierRecords reads a record stored by an earlier build with the same mark.
func TestTheDictionaryReadsEarlierRecords(t *testing.T) {
	t.Parallel()
	answer := testbed.Got(ReadDecision("m1", decidedEarlier))(t)
	require.Equal(t, "tool.trigger.bench.s61.book", answer.Matches[0].Event.Subject)
}

const decidedEarlier = "\x00\xb6\x02\xa2\xfd\x00\x04t1F\xff\x00\x18tools-09\x06\fbook~\n\x01\x84day\":\"Friday\",\"n\":9007199254740993\x8a(\x01$bench.s61.\x11s!6\x15\x00`\x00}"

func TestTheStateOfAnEventIsReadWithTheSubjectOfItsRecord(t *testing.T) {
	t.Parallel()
	record := newRecord("m1", "book", "book")
	encoded, _, err := record.Encode()
	require.NoError(t, err)
	want := EventState{Subject: record.Event.Subject, State: StateFailed, Error: "no"}
	short := testbed.Got(want.Encode())(t)
	require.NotContains(t, short, "subject")
	whole, err := exactjson.Text(want) // as earlier builds stored it
	require.NoError(t, err)
	for _, state := range []string{short, whole} {
		read := testbed.Got(ReadStoredTrigger(&ledger.StoredTrigger{ID: record.TriggerID, Record: encoded, Event: state}))(t)
		require.Equal(t, want, *read.Record.Event)
		require.Equal(t, StatePending, read.Decided.Event.State)
	}
}
