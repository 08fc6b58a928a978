package tracing

import "go.opentelemetry.io/otel/attribute"

// Keys of the conventions for generative AI. They are in development, and Go has no package for them: these are
// from open-telemetry/semantic-conventions-genai at the commit ac48b1f9df15fdf281b96cccf15eb707e1fc1868.
const (
	OperationName = attribute.Key("gen_ai.operation.name")
	ProviderName  = attribute.Key("gen_ai.provider.name")
	RequestModel  = attribute.Key("gen_ai.request.model")
	InputTokens   = attribute.Key("gen_ai.usage.input_tokens")
	OutputTokens  = attribute.Key("gen_ai.usage.output_tokens")
	CachedTokens  = attribute.Key("gen_ai.usage.cache_read.input_tokens")
	ToolName      = attribute.Key("gen_ai.tool.name")
	ToolType      = attribute.Key("gen_ai.tool.type")
	ToolCallID    = attribute.Key("gen_ai.tool.call.id")
	Conversation  = attribute.Key("gen_ai.conversation.id")
)

// Keys of the general conventions (1.43), which are stable or, for messaging, in development.
const (
	ErrorType       = attribute.Key("error.type")
	HTTPMethod      = attribute.Key("http.request.method")
	HTTPRoute       = attribute.Key("http.route")
	HTTPStatus      = attribute.Key("http.response.status_code")
	HTTPResends     = attribute.Key("http.request.resend_count")
	MessagingSystem = attribute.Key("messaging.system")
	MessagingName   = attribute.Key("messaging.destination.name")
	MessagingID     = attribute.Key("messaging.message.id")
	MessagingAction = attribute.Key("messaging.operation.type")
	ServerAddress   = attribute.Key("server.address")
	ServerPort      = attribute.Key("server.port")
	MCPMethod       = attribute.Key("mcp.method.name")
)

// Keys of Earshot. None contains texts, values, credentials or endpoints' answers.
const (
	App      = attribute.Key("earshot.app.id")
	Message  = attribute.Key("earshot.message.id")
	Trigger  = attribute.Key("earshot.trigger.id")
	Source   = attribute.Key("earshot.trigger.source")
	Effect   = attribute.Key("earshot.effect.id")
	Attempt  = attribute.Key("earshot.effect.attempt")
	Outcome  = attribute.Key("earshot.outcome")
	Stage    = attribute.Key("earshot.match.stage")
	Offered  = attribute.Key("earshot.match.candidates")
	Matched  = attribute.Key("earshot.match.tools")
	Rejected = attribute.Key("earshot.match.rejected")
)
