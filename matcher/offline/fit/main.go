// Command fit finds the weights of matcher/offline/confidence, and prints them as the table that
// stands there, with what comes of them at the bars. It reads the development data that
// EARSHOT_EVAL_DATA names, and prints the same each time.
//
//	EARSHOT_EVAL_DATA=/path/to/data go run ./matcher/offline/fit
package main

import (
	"fmt"
	"log"
	"math/rand/v2"
	"os"

	"earshot/matcher/offline"
)

func main() {
	folder := os.Getenv("EARSHOT_EVAL_DATA")
	if folder == "" {
		log.Fatal("set EARSHOT_EVAL_DATA to the folder with clinc/tools.json, clinc/dev.jsonl, clinc/train.jsonl and bfcl/cases.jsonl")
	}
	speech, calls, err := read(folder)
	if err != nil {
		log.Fatal(err)
	}
	base, weights := fitted(drawn(rand.New(rand.NewPCG(17, 1)), speech, calls))
	printTable(base, weights)
	measure(speech, calls)
}

// printTable prints the weights as Go.
func printTable(base float64, weights []float64) {
	fmt.Printf("var base, weights = %.2f, Signs{\n", base)
	for i, name := range offline.SignNames {
		fmt.Printf("\t%s: %.2f,\n", name, weights[i])
	}
	fmt.Println("}")
}

// bars are those of the settings of apps: offline.bar, and llm.when for what is decided without
// a model.
var bars = []struct {
	name  string
	least float64
}{{"likely", offline.Likely}, {"certain", offline.Certain}, {"sure", offline.Sure}}
