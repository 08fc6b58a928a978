package main

import "fmt"

// exitWith is an error that says by the exit code alone what there is to say.
type exitWith int

// Error returns the code, for whoever prints it all the same.
func (e exitWith) Error() string { return fmt.Sprintf("exit code %d", int(e)) }
