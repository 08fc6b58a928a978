package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/trace"

	"earshot/matcher"
	"earshot/repositories/tracing"
)

// ask sends one request under its own time limit. The span contains no text of the conversation.
func (l *LLM) ask(ctx context.Context, turn *llmTurn, request chatRequest) (completion, error) {
	model := turn.model
	ctx, span := tracing.Start(ctx, "chat "+request.model, trace.SpanKindClient)
	limited, cancel := context.WithTimeout(ctx, l.options.Timeout)
	defer cancel()
	recorded := matcher.TraceOf(ctx)
	if recorded != nil {
		request.wire = &wire{}
	}
	start := l.options.Now()
	answer, err := model.provider.complete(limited, request)
	unavailable, known := errors.AsType[*matcher.Unavailable](err)
	switch {
	case err == nil || known:
	case errors.Is(ctx.Err(), context.Canceled): // the caller cancelled
		err = fmt.Errorf("asking the LLM: %w", ctx.Err())
	default:
		err = &matcher.Unavailable{Reason: fmt.Sprintf("no answer within %s", l.options.Timeout)}
	}
	if known && unavailable.Detail != "" {
		l.options.Logger.WarnContext(ctx, "llm.unreached", "model", request.model, "error", unavailable.Detail)
	}
	exchange := Exchange{App: appOf(turn.request), Model: request.model, Took: l.options.Now().Sub(start), Usage: answer.usage, Err: err}
	l.options.Observe(exchange)
	if recorded != nil {
		recorded.Asked(l.traced(request, exchange))
	}

	if !span.IsRecording() {
		return answer, err
	}
	name, fault := model.name, ""
	if name == "gemini" {
		name = "gcp.gen_ai" // in OpenTelemetry's conventions
	}
	if err != nil {
		fault = "model_unavailable"
	}
	tracing.End(span, fault, tracing.OperationName.String("chat"), tracing.ProviderName.String(name), tracing.RequestModel.String(request.model),
		tracing.InputTokens.Int(answer.usage.Prompt), tracing.OutputTokens.Int(answer.usage.Completion), tracing.CachedTokens.Int(answer.usage.Cached))
	return answer, err
}

// traced describes a request and its answer for a trace. The body is split into the tools and the rules, which many
// requests share, and the rest.
func (l *LLM) traced(request chatRequest, done Exchange) matcher.Exchange {
	sent, list := request.wire, request.wire.parts
	// The rules are in the last part, unless the provider joins them with others.
	if last := len(list) - 1; last >= 0 {
		rules, known := l.rules.Get(request.messages[0].text)
		if !known {
			rules, _ = json.Marshal(request.messages[0].text) // a text always marshals
			l.rules.Add(request.messages[0].text, rules)
		}
		if before, behind, found := bytes.Cut(list[last].Text, rules); found {
			list = append(list[:last], matcher.Piece{Text: before}, matcher.Piece{Text: rules, Shared: true}, matcher.Piece{Text: behind})
		}
	}

	exchange := matcher.Exchange{
		Model: done.Model, Request: list, LeftOut: sent.leftOut, Answer: sent.answer, Took: done.Took,
		PromptTokens: done.Usage.Prompt, CachedTokens: done.Usage.Cached, CompletionTokens: done.Usage.Completion,
	}
	if done.Err != nil {
		exchange.Error = done.Err.Error()
	}
	return exchange
}
