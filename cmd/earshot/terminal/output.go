package terminal

import (
	"io"
	"os"
	"sync/atomic"
)

// Output is the output of a command. It keeps the first error, so that printing need not check each line.
type Output struct {
	out    io.Writer
	failed atomic.Pointer[error]
}

// NewOutput returns the output to out.
func NewOutput(out io.Writer) *Output { return &Output{out: out} }

// Write implements io.Writer.
func (o *Output) Write(text []byte) (int, error) {
	n, err := o.out.Write(text)
	if err != nil {
		o.failed.CompareAndSwap(nil, &err)
	}
	return n, err
}

// Err returns the first error.
func (o *Output) Err() error {
	if err := o.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// fileOf returns the file of an output, if it is one.
func fileOf(out io.Writer) (file *os.File, is bool) {
	if wrapped, is := out.(*Output); is {
		out = wrapped.out
	}
	file, is = out.(*os.File)
	return file, is
}
