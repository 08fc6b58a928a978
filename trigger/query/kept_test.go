package query

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/trigger/ledger"
	"earshot/trigger/shorttext"
)

// fired returns a record of a message.
func fired(messageID, name, text string) Record {
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

func TestARecordIsReadAsItWasKept(t *testing.T) {
	t.Parallel()
	for _, record := range []Record{
		fired("RI3DTCM5ZIVCVZ6EXY4KEM4MAH", "cancel-window-kitchen", "Good morning, please cancel the window of the kitchen, on Friday"),
		fired(`m "<\`+"\u2028é", "cancel-window-kitchen", `m "<\`+"\u2028\x00\x01\x02é cancel-window-kitchen"),
		fired("s", "s61", "s61 "+strings.Repeat("tool.trigger", 1000)),
		fired("", "book", ""),
		fired("m1", "book", strings.Repeat("x", mostShort)),
	} {
		plain, err := exactjson.Text(record)
		require.NoError(t, err)
		kept, size, err := record.Kept()
		require.NoError(t, err)
		require.InDelta(t, len(plain), size, 60, "it counts for what it is, not for how it is kept")
		for _, stored := range []string{kept, plain} { // an earlier build has kept JSON
			read, err := ReadStored(&ledger.StoredTrigger{ID: record.TriggerID, Record: stored})
			require.NoError(t, err)
			read.Record.Attempts, read.Record.Match.State, read.Record.State = nil, "", "" // which follow from what is kept beside it
			again, err := exactjson.Text(read.Record)
			require.NoError(t, err)
			require.Equal(t, plain, again)
		}
		short := strings.Contains(kept, shorttext.Mark)
		require.Equal(t, len(plain) <= mostShort, short)
		require.Contains(t, kept, `"name":"`+record.Name+`","source":"message","values":{"day":"Friday","n":9007199254740993}`, "a search looks into it")
	}
	usual := fired("RI3DTCM5ZIVCVZ6EXY4KEM4MAH", "cancel-window-kitchen", "Good morning, please cancel the window of the kitchen, on Friday")
	kept, size, err := usual.Kept()
	require.NoError(t, err)
	require.Less(t, len(kept), size*3/5)
}

func TestADecisionIsReadAsItWasKept(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "noon", strings.Repeat("noon ", mostShort)} {
		record := fired("m1", "cancel-window-kitchen", text)
		record.Values["text"] = text
		answer := Answer{MessageID: "m1", Matches: []Match{record.Match}, Rejected: []Rejected{}, Reply: json.RawMessage("null")}
		plain, err := exactjson.Text(answer)
		require.NoError(t, err)
		kept, err := answer.Kept()
		require.NoError(t, err)
		for _, stored := range []string{kept, plain} {
			read, err := ReadDecision("m1", stored)
			require.NoError(t, err)
			require.Equal(t, answer, read)
		}
		if len(plain) < mostShort {
			require.Less(t, len(kept), len(plain)/2)
		}
	}
}

func TestWhatIsKeptAndDamagedIsAnError(t *testing.T) {
	t.Parallel()
	record := fired("m1", "cancel-window-kitchen", "please cancel the window")
	whole, _, err := record.Kept()
	require.NoError(t, err)
	decision, err := Answer{Matches: []Match{record.Match}}.Kept()
	require.NoError(t, err)
	damaged := []string{"\x00", "{}\x00", "{}\x00\xff\xff\xff\xff\x7f", "{}" + decision[:9], `{"name":1}` + whole[strings.Index(whole, "\x00"):]}
	for n := 1; n < len(whole); n++ {
		if whole[n] != shorttext.Mark[0] { // up to there it is JSON
			damaged = append(damaged, whole[:n])
		}
	}
	for _, kept := range damaged {
		_, err := ReadStored(&ledger.StoredTrigger{ID: "t1", Record: kept})
		require.Error(t, err, "%q", kept)
		_, err = ReadDecision("m1", strings.TrimLeft(kept, "{}"))
		require.Error(t, err, "%q", kept)
	}
	huge := words.Pack([]byte(`"` + strings.Repeat("x", 2*mostShort) + `"`))
	_, err = ReadDecision("m1", huge)
	require.ErrorContains(t, err, "they are said to be")
}

// TestTheWordsAreThoseOfWhatIsKept reads a record stored by an earlier build with the same mark.
func TestTheWordsAreThoseOfWhatIsKept(t *testing.T) {
	t.Parallel()
	answer, err := ReadDecision("m1", decidedEarlier)
	require.NoError(t, err)
	require.Equal(t, "tool.trigger.bench.s61.book", answer.Matches[0].Event.Subject)
}

const decidedEarlier = "\x00\xb6\x02\xa2\xfd\x00\x04t1F\xff\x00\x18tools-09\x06\fbook~\n\x01\x84day\":\"Friday\",\"n\":9007199254740993\x8a(\x01$bench.s61.\x11s!6\x15\x00`\x00}"

func TestTheStateOfAnEventIsReadWithTheSubjectOfItsRecord(t *testing.T) {
	t.Parallel()
	record := fired("m1", "book", "book")
	kept, _, err := record.Kept()
	require.NoError(t, err)
	want := EventState{Subject: record.Event.Subject, State: StateFailed, Error: "no"}
	short, err := want.Kept()
	require.NoError(t, err)
	require.NotContains(t, short, "subject")
	whole, err := exactjson.Text(want) // as earlier builds have kept it
	require.NoError(t, err)
	for _, state := range []string{short, whole} {
		read, err := ReadStored(&ledger.StoredTrigger{ID: record.TriggerID, Record: kept, Event: state})
		require.NoError(t, err)
		require.Equal(t, want, *read.Record.Event)
		require.Equal(t, StatePending, read.Decided.Event.State)
	}
}
