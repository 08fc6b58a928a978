package explain_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/trigger/explain"
)

// talk is a session whose explanations are stored.
type talk struct {
	*testing.T
	now     time.Time
	packer  *explain.Packer
	said    []matcher.Utterance
	stored  map[string]string // explanations by message
	fetched int
}

func newTalk(t *testing.T) *talk {
	talk := &talk{T: t, now: noon, stored: map[string]string{}}
	talk.packer = explain.NewPacker(24*time.Hour, func() time.Time { return talk.now })
	return talk
}

// pack packs the explanation of the next message, whose request has the last messages of the history and words.
func (t *talk) pack(id, words string) (request string, packed explain.Packed) {
	var text strings.Builder
	shown := t.said[max(0, len(t.said)-10):]
	for _, one := range shown {
		fmt.Fprintf(&text, `{"role":"user","content":%q},{"role":"assistant","tool_calls":[{"id":%q,"function":{"arguments":"{\"day\":\"Friday\"}"}}]},`, one.Text, "call-"+one.ID)
	}
	fmt.Fprintf(&text, `{"role":"user","content":%q}],"stream":false`, words)
	request = `{"messages":[` + text.String() + `}`
	packed, err := t.packer.Pack(explain.Decision{
		Owner: "clinic g1", SessionID: "s", MessageID: id, History: shown, Time: t.now, Stage: matcher.StageLLM, App: t.packer.FactsOf(&repositories.App{}, nil),
		Trace: matcher.Trace{Exchanges: []matcher.Exchange{{Request: []matcher.Piece{{Text: []byte(request)}}, Answer: []byte(`{"ok":true}`)}}},
	})
	require.NoError(t, err)
	return request, packed
}

// say packs the explanation of the next message, and stores it.
func (t *talk) say(id, words string) (request string, size int) {
	request, packed := t.pack(id, words)
	t.packer.MarkWritten(packed)
	t.said, t.stored[id] = append(t.said, matcher.Utterance{ID: id, Text: words}), packed.Body
	return request, len(packed.Body)
}

func (t *talk) explanation(id string) explain.Explanation {
	t.fetched = 0
	read, err := explain.Unpack(id, t.stored[id], func([]string) (map[string]string, error) { return nil, nil }, func(id string) (string, error) {
		t.fetched++
		return t.stored[id], nil
	})
	require.NoError(t, err)
	return read
}

// words returns words of which some look like JSON.
func words(of *rand.Rand) string {
	some := []string{"yes", "a table by the window for two", "quiet \"please\"}", "on Friday", `},{"role":"user","content":"x"}`, "ä", ""}
	return strings.Repeat(some[of.IntN(len(some))]+" ", 1+of.IntN(4))
}

func TestAnExplanationDoesNotGrowWithItsSession(t *testing.T) {
	talk := newTalk(t)
	requests, sizes := map[string]string{}, []int{}
	for i := range 100 {
		id := fmt.Sprintf("m%d", i)
		request, size := talk.say(id, "message "+noise(60)+fmt.Sprint(i))
		requests[id], sizes = request, append(sizes, size)
	}
	slices.Sort(sizes)
	require.Less(t, sizes[len(sizes)/2], 500, "the request has some 1,600 bytes")
	for id, request := range requests {
		explanation := talk.explanation(id)
		require.Equal(t, request, string(explanation.Requests[0].Request), id)
		require.Empty(t, explanation.Cut)
		require.LessOrEqual(t, talk.fetched, 32, id)
	}
}

func TestAnyRequestIsRestored(t *testing.T) {
	for seed := range uint64(40) {
		talk, random := newTalk(t), rand.New(rand.NewPCG(seed, 1))
		for i := range 30 {
			id := fmt.Sprintf("m%d", i)
			request, _ := talk.say(id, words(random))
			if got := talk.explanation(id).Requests[0].Request; string(got) != request {
				require.Equal(t, request, string(got), "seed %d, message %d", seed, i)
			}
		}
	}
}

func TestAnExplanationRefersOnlyToWhatItsReaderFinds(t *testing.T) {
	begin := func(t *testing.T) (*talk, string) {
		talk := newTalk(t)
		for i := range 12 {
			talk.say(fmt.Sprintf("m%d", i), noise(80)+fmt.Sprint(i))
		}
		return talk, "m11"
	}
	t.Run("of the session's present life", func(t *testing.T) {
		talk, _ := begin(t)
		talk.said, talk.stored = nil, map[string]string{}
		request, _ := talk.say("n", noise(80)+"11")
		require.Equal(t, request, string(talk.explanation("n").Requests[0].Request))
	})
	t.Run("that is about as old as itself", func(t *testing.T) {
		talk, last := begin(t)
		talk.now = talk.now.Add(3 * time.Hour)
		request, _ := talk.say("n", "hello")
		delete(talk.stored, last)
		require.Equal(t, request, string(talk.explanation("n").Requests[0].Request))
	})
	t.Run("unless it would cost too much to compare", func(t *testing.T) {
		talk, _ := begin(t)
		talk.say("long", strings.Repeat(`"}`, 1100))
		request, _ := talk.say("n", "hello")
		require.Equal(t, request, string(talk.explanation("n").Requests[0].Request))
		require.Zero(t, talk.fetched)
	})
	t.Run("and says if it is lost", func(t *testing.T) {
		talk, last := begin(t)
		talk.say("n", "hello")
		delete(talk.stored, last)
		require.Equal(t, []string{"parts of the request are lost"}, talk.explanation("n").Cut)
	})
	t.Run("or has another text", func(t *testing.T) {
		talk, last := begin(t)
		talk.say("n", "hello")
		replica := newTalk(t)
		replica.said = talk.said[:11]
		_, again := replica.pack(last, "a draft in other words")
		talk.stored[last] = again.Body
		require.Equal(t, []string{"parts of the request are lost"}, talk.explanation("n").Cut)
	})
}
