package files_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"earshot/repositories/files"
)

// Read makes the bodies of the REST API from a folder of definitions. It fills in variables of the environment.
func ExampleRead() {
	folder := folderOf(`kind: app
name: clinic
---
kind: tool
name: book
type: http
source: calendar
method: POST
path: /bookings
description: Book an appointment
---
kind: source
name: calendar
type: http
baseUrl: https://${HOST:calendar.example}
`)
	defer os.RemoveAll(folder)

	set, err := files.Read([]string{folder}, files.Options{Lookup: func(string) (string, bool) { return "", false }})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(set.AppID, string(set.App.Body()))
	for _, repository := range set.Repositories {
		fmt.Println(repository.ID, repository.Names("tools"))
	}
	// Output:
	// clinic {"sources":[{"name":"calendar","type":"http","baseUrl":"https://calendar.example"}]}
	// default [book]
}

// All faults of all files are reported at once, each with its place.
func ExampleFaults() {
	folder := folderOf("kind: tool\nname: book a visit\ndescripton: Book a visit\n")
	defer os.RemoveAll(folder)

	_, err := files.Read([]string{folder}, files.Options{AppID: "clinic"})
	for _, fault := range err.(files.Faults) {
		fmt.Printf("%d:%d %s\n", fault.Line, fault.Column, fault.Detail)
	}
	// Output:
	// 2:7 tool "book a visit": name: name "book a visit" is not a tool name: 1 to 64 of A-Z a-z 0-9 _ -
	// 3:1 tool "book a visit": descripton: unknown field "descripton"; did you mean "description"?
}

func folderOf(content string) string {
	folder, err := os.MkdirTemp("", "tools")
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "tools.yaml"), []byte(content), 0o600); err != nil {
		log.Fatal(err)
	}
	return folder
}
