package mcpclient

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"earshot/repositories"
)

// Bounds of a list of tools.
const (
	maxListBytes = 8 << 20 // all pages together
	maxListPages = 200
	maxListed    = 10_000
)

// Tools lists the tools of a server, and says whether it has more than are looked at. Its error
// is an *Error.
func (c *Client) Tools(ctx context.Context, server Server) (tools []repositories.OfferedTool, more bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	with, err := c.connect(ctx, server) // a session that is used again may answer by itself
	if err != nil {
		return nil, false, err
	}
	defer func() { go with.Close() }()
	left, cursor, seen := maxListBytes, "", map[string]bool{}
	for range maxListPages {
		page, next, size, err := pageOf(ctx, with, server, cursor, left)
		if err != nil {
			return nil, false, err
		}
		tools, left = append(tools, page...), left-size
		if next == "" {
			return tools, false, nil
		}
		if seen[next] || len(tools) > maxListed {
			break
		}
		seen[next], cursor = true, next
	}
	return tools[:min(len(tools), maxListed)], true, nil
}

// pageOf reads one page of a list, of so many bytes at most.
func pageOf(ctx context.Context, with *session, server Server, cursor string, most int) (page []repositories.OfferedTool, next string, size int, err error) {
	e := newExchange(server, most)
	listed, err := with.ListTools(e.in(ctx), &mcp.ListToolsParams{Cursor: cursor})
	if err != nil {
		return nil, "", 0, e.failure(false)
	}
	e.seal()
	var read struct {
		Tools []repositories.OfferedTool `json:"tools"`
	}
	if json.Unmarshal(e.response().Result, &read) != nil {
		return nil, "", 0, e.failure(false)
	}
	for i := range read.Tools {
		named := func(t *mcp.Tool) bool { return t.Name == read.Tools[i].Name }
		if !slices.ContainsFunc(listed.Tools, named) {
			read.Tools[i].Refused = "an x-mcp-header of its inputSchema is none that MCP allows"
		}
	}
	return read.Tools, listed.NextCursor, e.answer.Len(), nil
}
