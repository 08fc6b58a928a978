package api

import (
	_ "embed" // for the schema
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"earshot/repositories"
	"earshot/trigger"
)

// bodiesSchema describes the bodies that are not definitions. It is what they are
// checked against and what /openapi.json shows.
//
//go:embed bodies.schema.json
var bodiesSchema []byte

const (
	// mostText is the longest text of a message, in bytes: ten times what people
	// write, and still far within what a model reads.
	mostText = 64 << 10
	// mostMessageID is the longest messageId, in characters.
	mostMessageID = 128
)

// newBodies compiles the schema with the rules about single texts that it refers to.
func newBodies() *repositories.Bodies {
	return repositories.NewBodies(bodiesSchema, map[string]func(string) error{
		"id":           func(id string) error { return repositories.CheckID("the id", id) },
		"tool-name":    repositories.CheckToolName,
		"message-id":   checkMessageID,
		"message-text": checkText,
		"key-life":     func(text string) error { return checkLife(text, mostKeyLife, "720h") },
		"token-life":   func(text string) error { return checkLife(text, mostTokenLife, "1h") },
	})
}

// decodeMessage reads the body of a posted message; app and session are the path's.
func decodeMessage(bodies *repositories.Bodies, body []byte) (trigger.Message, error) {
	var given struct {
		MessageID string `json:"messageId"`
		Actor     string `json:"actor"`
		Text      string `json:"text"`
	}
	err := bodies.Decode("Message", body, &given)
	return trigger.Message{ID: given.MessageID, Actor: given.Actor, Text: given.Text}, err
}

// decodeDirect reads the body of a direct trigger; app and session are the path's. The
// numbers among the values keep the digits that were sent, as json.Number.
func decodeDirect(bodies *repositories.Bodies, body []byte) (trigger.Direct, error) {
	var given struct {
		Name         string         `json:"name"`
		RepositoryID string         `json:"repositoryId"`
		Values       map[string]any `json:"values"`
		Source       string         `json:"source"`
		TriggerID    string         `json:"triggerId"`
	}
	err := bodies.Decode("Direct", body, &given)
	return trigger.Direct{
		Name: given.Name, RepositoryID: given.RepositoryID, Values: given.Values,
		Source: given.Source, TriggerID: given.TriggerID,
	}, err
}

// checkMessageID is wider than CheckID: the id of a message is no part of a subject,
// and front-ends have their own forms. What does not print would only confuse.
func checkMessageID(id string) error {
	foreign := strings.ContainsFunc(id, func(r rune) bool { return !unicode.IsPrint(r) || unicode.IsSpace(r) })
	if foreign || id == "" || utf8.RuneCountInString(id) > mostMessageID {
		return fmt.Errorf("must be 1 to %d printable characters without spaces", mostMessageID)
	}
	return nil
}

func checkText(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("must not be empty")
	}
	if len(text) > mostText {
		return fmt.Errorf("is %d bytes long; the most is %d", len(text), mostText)
	}
	return nil
}
