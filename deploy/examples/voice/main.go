// Command voice is a front-end that is spoken to: it sends what a recognizer hears as drafts,
// decides when the speaker is silent, and takes back when it is interrupted.
package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
)

// pace is the time between two words of a recognizer.
const pace = 150 * time.Millisecond

func main() {
	heard, err := os.Open(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	url := strings.Replace(os.Getenv("EARSHOT_URL"), "http", "ws", 1) + "/v1/apps/clinic/sessions/" + os.Args[2] + "/socket"
	header := http.Header{"Authorization": {"Bearer " + os.Getenv("EARSHOT_TOKEN")}}
	socket, _, err := websocket.Dial(context.Background(), url, &websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		log.Fatal(err)
	}
	socket.SetReadLimit(2 << 20) // an answer has at most 1 MiB
	f := frontEnd{socket: socket, answers: make(chan frame)}
	go f.read()
	if err := f.listen(heard); err != nil {
		log.Fatal(err)
	}
}

// frontEnd has one session, and a token for it that a back-end has given it.
type frontEnd struct {
	socket    *websocket.Conn
	answers   chan frame     // to all but drafts, one by one
	utterance string         // the id of what is being said
	drafts    sync.WaitGroup // those that are not answered yet
	settling  []string       // triggers that may still be taken back
}

// frame is what we need of an answer; an event has no status.
type frame struct {
	ID     string `json:"id"`
	Status int    `json:"status"`
	Body   struct {
		Detail  string `json:"detail"` // of a refusal
		Matches []struct {
			TriggerID string         `json:"triggerId"`
			Name      string         `json:"name"`
			Values    map[string]any `json:"values"`
			State     string         `json:"state"`
			DueAt     *time.Time     `json:"dueAt"` // until then it can be taken back
			Event     struct {
				State string `json:"state"`
			} `json:"event"`
		} `json:"matches"`
	} `json:"body"`
}

// request is a frame to the service: a name, ids and a body.
type request map[string]any

// isDraft is the id of requests whose answers nobody waits for.
const isDraft = "draft"

// read shows the answers to drafts as they come, and hands out the others.
func (f *frontEnd) read() {
	for {
		var got frame
		if err := wsjson.Read(context.Background(), f.socket, &got); err != nil {
			log.Fatal(err)
		}
		switch {
		case got.ID == isDraft:
			got.show("hears") // nothing, where a newer one overtook it
			f.drafts.Done()
		case got.Status > 0:
			f.answers <- got
		}
	}
}

// ask sends a request, and waits for its answer.
func (f *frontEnd) ask(asked request) (frame, error) {
	asked["id"] = "1"
	if err := wsjson.Write(context.Background(), f.socket, asked); err != nil {
		return frame{}, err
	}
	got := <-f.answers
	if got.Status >= http.StatusBadRequest {
		return got, fmt.Errorf("%s: %d: %s", asked["request"], got.Status, got.Body.Detail)
	}
	return got, nil
}

// listen reads what the recognizer hears, a line each: a transcript of all that was said so far, "." when the speaker
// is silent, "-" when nobody had spoken to us, and "!" when the speaker cuts in.
func (f *frontEnd) listen(heard io.Reader) (err error) {
	lines, transcript := bufio.NewScanner(heard), ""
	for lines.Scan() && err == nil {
		switch line := lines.Text(); line {
		case ".":
			err, transcript = f.decide(transcript), ""
		case "-":
			err, transcript = f.forget(), ""
		case "!":
			err = f.takeBack()
		default:
			transcript, err = line, f.draft(line)
		}
		time.Sleep(pace)
	}
	if err != nil {
		return err
	}
	return lines.Err()
}

func (f *frontEnd) message(text string, final bool) request {
	return request{"request": "message", "body": request{"messageId": f.utterance, "actor": "user", "text": text, "final": final}}
}

// draft sends a transcript, and waits for no answer.
func (f *frontEnd) draft(text string) error {
	if f.utterance == "" {
		f.utterance = rand.Text()
	}
	asked := f.message(text, false)
	asked["id"] = isDraft
	f.drafts.Add(1)
	return wsjson.Write(context.Background(), f.socket, asked)
}

// decide commits what was said, by its text: should drafts have overtaken each other, it is matched once more.
func (f *frontEnd) decide(text string) error {
	said, err := f.ask(f.message(text, true))
	if err != nil {
		return err
	}
	f.utterance, f.settling = "", nil
	for _, match := range said.Body.Matches {
		if match.State == "pending" && match.DueAt != nil {
			f.settling = append(f.settling, match.TriggerID)
		}
	}
	said.show("does")
	return nil
}

// forget takes the draft back, once it is there.
func (f *frontEnd) forget() error {
	f.drafts.Wait()
	_, err := f.ask(request{"request": "withdraw", "messageId": f.utterance})
	f.utterance = ""
	fmt.Println("forgets")
	return err
}

// takeBack cancels what has not settled yet. What has is a 409, and too late.
func (f *frontEnd) takeBack() error {
	for _, trigger := range f.settling {
		if _, err := f.ask(request{"request": "cancel", "triggerId": trigger}); err != nil {
			return err
		}
		fmt.Println("takes back")
	}
	f.settling = nil
	return nil
}

func (a frame) show(verb string) {
	for _, match := range a.Body.Matches {
		values, _ := json.Marshal(match.Values) // came out of JSON
		fmt.Printf("%s %s %s: %s\n", verb, match.Name, values, match.Event.State)
	}
}
