// Command voice is a front-end that is spoken to: it posts what a recognizer hears as drafts,
// decides when the speaker is silent, and takes back when it is interrupted.
package main

import (
	"bufio"
	"bytes"
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
)

// pace is the time between two words of a recognizer.
const pace = 150 * time.Millisecond

func main() {
	heard, err := os.Open(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	f := frontEnd{server: os.Getenv("EARSHOT_URL"), token: os.Getenv("EARSHOT_KEY"), interrupt: func() {}}
	f.app = f.server + "/v1/apps/clinic"
	f.session = f.app + "/sessions/" + os.Args[2]
	if err := f.listen(heard); err != nil {
		log.Fatal(err)
	}
}

// frontEnd has one session. In production a back-end gives it a token for that; here it makes
// one with a key of scope messages.
type frontEnd struct {
	server, app, session, token string

	utterance string             // the id of what is being said
	interrupt context.CancelFunc // ends the request about an older transcript
	drafts    sync.WaitGroup
	settling  []string // triggers that may still be taken back
}

// answer is what we need of the answer to a message.
type answer struct {
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
	Token string `json:"token"`
}

// listen reads what the recognizer hears, a line each: a transcript of all that was said so far, "." when the speaker
// is silent, "-" when nobody had spoken to us, and "!" when the speaker cuts in.
func (f *frontEnd) listen(heard io.Reader) error {
	made, err := f.ask(context.Background(), http.MethodPost, f.session+"/token", nil)
	if err != nil {
		return err
	}
	f.token = made.Token
	lines, transcript := bufio.NewScanner(heard), ""
	for lines.Scan() {
		switch line := lines.Text(); line {
		case ".":
			err, transcript = f.decide(transcript), ""
		case "-":
			err, transcript = f.forget(), ""
		case "!":
			err = f.takeBack()
		default:
			transcript = line
			f.draft(line)
		}
		if err != nil {
			return err
		}
		time.Sleep(pace)
	}
	return lines.Err()
}

// draft posts a transcript. It waits for no answer: a newer transcript ends the request about
// an older one, which Earshot gives up as well.
func (f *frontEnd) draft(text string) {
	f.interrupt()
	if f.utterance == "" {
		f.utterance = rand.Text()
	}
	ctx, cancel := context.WithCancel(context.Background())
	f.interrupt = cancel
	body := map[string]any{"messageId": f.utterance, "actor": "user", "text": text, "final": false}
	f.drafts.Go(func() {
		if said, err := f.ask(ctx, http.MethodPost, f.session+"/messages", body); err == nil {
			said.show("hears")
		}
	})
}

// decide commits what was said, by its text: should drafts have overtaken each other, it is matched once more.
func (f *frontEnd) decide(text string) error {
	body := map[string]any{"messageId": f.utterance, "actor": "user", "text": text, "final": true}
	said, err := f.ask(context.Background(), http.MethodPost, f.session+"/messages", body)
	if err != nil {
		return err
	}
	f.utterance, f.settling = "", nil
	for _, match := range said.Matches {
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
	_, err := f.ask(context.Background(), http.MethodDelete, f.session+"/messages/"+f.utterance, nil)
	f.utterance = ""
	fmt.Println("forgets")
	return err
}

// takeBack cancels what has not settled yet. What has is a 409, and too late.
func (f *frontEnd) takeBack() error {
	for _, trigger := range f.settling {
		if _, err := f.ask(context.Background(), http.MethodPost, f.app+"/triggers/"+trigger+"/cancel", nil); err != nil {
			return err
		}
		fmt.Println("takes back")
	}
	f.settling = nil
	return nil
}

func (a answer) show(verb string) {
	for _, match := range a.Matches {
		values, _ := json.Marshal(match.Values) // came out of JSON
		fmt.Printf("%s %s %s: %s\n", verb, match.Name, values, match.Event.State)
	}
}

// ask makes a request, and reads what it is answered.
func (f *frontEnd) ask(ctx context.Context, method, url string, body any) (answer, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return answer{}, err
	}
	if body == nil {
		text = nil
	}
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(text))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Authorization", "Bearer "+f.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	said, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil || response.StatusCode == http.StatusNoContent {
		return answer{}, err
	}
	if response.StatusCode >= http.StatusBadRequest {
		return answer{}, fmt.Errorf("%s %s: %s: %s", method, url, response.Status, strings.TrimSpace(string(said)))
	}
	var read answer
	return read, json.Unmarshal(said, &read)
}
