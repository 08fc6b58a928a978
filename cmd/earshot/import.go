package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"earshot/repositories/files"
)

type importOptions struct {
	files.OpenAPIOptions
	output       string
	force, merge bool
}

func newImportOpenAPI(env environment) *cobra.Command {
	o := &importOptions{}
	cmd := &cobra.Command{
		Use:         "openapi FILE",
		Annotations: offline,
		Short:       "Make tools from the operations of an OpenAPI document",
		Long: "Read an OpenAPI document, version 3.0 to 3.2, as YAML or JSON, and write a file for apply. The file\n" +
			"has a source with the address of the API, a tool for each operation, and a repository of the\n" +
			"tools. Credentials become variables such as ${CRM_TOKEN}, which it lists at the end. Operations\n" +
			"with different credentials get a source each. Notes say what could not be converted. Nothing is\n" +
			"fetched, and only overlays are read beside the document.\n\n" +
			"x-earshot-FIELD on an operation or its path sets a field of the tool, as in\n" +
			"x-earshot-confirm: always. Exits with 1 if the document has an error. - is standard input.",
		Example: "  earshot import openapi petstore.yaml -o petstore.earshot.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			o.Stdin = env.in
			if err := o.readEarlier(); err != nil {
				return err
			}
			made, err := files.FromOpenAPI(args[0], o.OpenAPIOptions)
			if err != nil {
				return err
			}
			for _, note := range made.Notes {
				fmt.Fprintf(env.err, "note: %s\n", note)
			}
			return o.write(made, env)
		},
	}
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "`FILE` to write; default: standard output")
	cmd.Flags().BoolVar(&o.force, "force", false, "overwrite an existing file")
	cmd.Flags().BoolVar(&o.merge, "merge", false, "keep edits in the file of an earlier import, and update the rest from the document")
	cmd.Flags().StringVar(&o.Name, "name", "", "`ID` of the source and the repository; default: made from the document's title")
	cmd.Flags().StringArrayVar(&o.Paths, "path", nil, "take only operations whose path begins with `PATH`, as /pets; may be repeated")
	cmd.Flags().StringArrayVar(&o.Overlays, "overlay", nil, "`FILE` of an OpenAPI Overlay, version 1.0 or 1.1, to apply first; may be repeated, in order")
	cmd.Flags().BoolVar(&o.ConfirmWrites, "confirm-writes", false, "make each tool that is not a GET ask first, unless the document sets x-earshot-confirm")
	cmd.Flags().StringVar(&o.BaseURL, "base-url", "", "`URL` of the API; default: the document's first server")
	return cmd
}

// readEarlier reads the file to merge into. A missing file is created later.
func (o *importOptions) readEarlier() error {
	switch {
	case !o.merge:
		return nil
	case o.output == "":
		return errors.New("--merge is about a file: name it with --output")
	case o.force:
		return errors.New("--merge keeps what --force writes over: give one of them")
	}
	text, err := os.ReadFile(o.output)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	o.Into = &files.Imported{Path: o.output, Text: string(text)}
	return err
}

func (o *importOptions) write(made *files.OpenAPI, env environment) error {
	where := "standard output"
	if o.Into != nil {
		where = o.output
		if err := writeOver(o.output, made.Text, nil); err != nil {
			return err
		}
	} else if o.output != "" {
		flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
		if o.force {
			flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
		}
		file, err := os.OpenFile(o.output, flags, 0o600)
		if errors.Is(err, os.ErrExist) {
			return fmt.Errorf("%s is there already, perhaps with changes of yours: name another file, keep them with --merge, or give --force", o.output)
		}
		if err != nil {
			return err
		}
		where = o.output
		_, err = io.WriteString(file, made.Text)
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
	} else if _, err := io.WriteString(env.out, made.Text); err != nil {
		return err
	}
	fmt.Fprintf(env.err, "%s of %s written to %s\n", plural(made.Tools, "tool"), plural(made.Operations, "operation"), where)
	if len(made.Variables) > 0 {
		fmt.Fprintf(env.err, "to be set where it is read: %s\n", strings.Join(made.Variables, ", "))
	}
	return nil
}
